from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from agentmem.repl.views import ago
from tests.loopback import Answer, Gate
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
COMMAND = [sys.executable, "-m", "agentmem"]


@pytest.fixture
def ada(workspace: Path) -> Memory:
    memory = Memory(workspace / "agents" / "Ada")
    memory.append("User", "Which region is *cheapest*?")
    memory.append("Ada", "**eu-west**\n\n| Region | Price |\n|---|--:|\n| eu-west | 41 |")
    return memory


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=2), "2 min ago"),
        (timedelta(hours=5), "5 h ago"),
        (timedelta(days=1), "yesterday"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=15), "2 weeks ago"),
        (timedelta(days=65), "2 months ago"),
        (timedelta(days=800), "2 years ago"),
        (timedelta(hours=-2), "in the future"),
    ],
)
def test_times_are_said_as_people_say_them(past: timedelta, said: str) -> None:
    assert ago(NOW - past, NOW) == said


def test_entries_are_drawn_on_a_terminal(ada: Memory) -> None:
    del ada
    with Terminal([*COMMAND, "show", "Ada"]) as terminal:
        assert terminal.wait_end() == 0
        rows = terminal.transcript()
    assert rows[0] == "User  #1 · just now"
    assert rows[1] == "Which region is cheapest?"
    assert ["eu-west", "41"] in [row.split() for row in rows]


def test_following_draws_entries_as_they_come(ada: Memory) -> None:
    with Terminal([*COMMAND, "show", "Ada", "--follow", "--last", "1"]) as terminal:
        terminal.wait_for("41")
        assert terminal.lines()[0] == "Ada  #2 · just now"
        ada.append("User", "*more*")
        terminal.wait_for("User  #3 · just now")
        terminal.wait_until(lambda: "more" in terminal.lines_unlocked())
        terminal.send("\x03")
        assert terminal.wait_end() in {130, -2}


def test_exact_times_on_request(ada: Memory) -> None:
    stamp = ada.read().entries[0].stamp
    with Terminal([*COMMAND, "show", "Ada", "--exact"]) as terminal:
        assert terminal.wait_end() == 0
        assert f"#1 · {stamp}" in str(terminal)


def test_agents_are_listed_with_a_bar_of_their_context(ada: Memory, workspace: Path) -> None:
    del ada
    (workspace / "agents" / "Ada" / "agent.toml").write_text("context_length = 200\n", encoding="utf-8")
    with Terminal([*COMMAND, "show"]) as terminal:
        assert terminal.wait_end() == 0
        assert "█" in str(terminal)
        assert "just now" in str(terminal)


def test_a_long_output_goes_through_the_pager(ada: Memory) -> None:
    for number in range(40):
        ada.append("User", f"line {number}")
    with Terminal([*COMMAND, "show", "Ada"], environment={"PAGER": "sed s/User/PAGED/"}) as terminal:
        assert terminal.wait_end() == 0
        assert "PAGED  #1" in str(terminal)
    with Terminal([*COMMAND, "show", "Ada"], environment={"PAGER": "cat"}) as terminal:
        assert terminal.wait_end() == 0
        assert "line 39" in str(terminal)


def test_what_will_be_forgotten_is_a_table_with_the_match_marked(ada: Memory) -> None:
    ada.append("User", "and so on, " * 20 + "the cheapest region")
    with Terminal([*COMMAND, "forget", "Ada", "--match", "cheapest"]) as terminal:
        terminal.wait_for("2 entries in 1 file: forget these for good? [y/N]")
        rows = terminal.lines()
        assert rows[0] == "MEMORY.md · 2 of 3 entries"
        assert rows[1] == "  just now  User  Which region is *cheapest*?"
        assert rows[2].startswith("  just now  User  …")
        assert "the cheapest region" in rows[2]
        assert bytes(terminal.raw).count(b";33mcheapest\x1b") == 2
        terminal.send("n\r")
        assert terminal.wait_end() == 0
    assert len(ada.read().entries) == 3


def test_what_goes_as_a_whole_is_named_and_times_are_exact_on_request(ada: Memory) -> None:
    document, cursor = ada.load()
    ada.fold(cursor.snapshot(), "They talked.", ())
    when = f"{document.entries[0].when.astimezone():%Y-%m-%d %H:%M:%S}"
    with Terminal([*COMMAND, "forget", "Ada", "--archive", "all", "--exact", "--dry-run"]) as terminal:
        assert terminal.wait_end() == 0
        rows = terminal.transcript()
    assert rows[0].endswith(".md · the whole file · 2 entries")
    assert rows[1].startswith(f"  {when}  User")
    assert "summaries made from this, among other things" in rows


def test_a_compaction_is_reported_with_the_window_before_and_after(ada: Memory) -> None:
    (ada.folder / "agent.toml").write_text("context_length = 1000\nmodel = 'gpt-4o'\n", encoding="utf-8")
    words = ["compact", "Ada", "--summary", "Short.", "--keep-tokens", "0"]
    ada.append("User", "cheapest of all regions " * 100)
    environment: dict[str, str | None] = {"OPENAI_API_KEY": "x"}
    with Terminal([*COMMAND, *words, "--dry-run"], environment=environment) as terminal:
        assert terminal.wait_end() == 0
        assert "dry run: nothing was written" in terminal.transcript()
        assert not ada.archives()
    with Terminal([*COMMAND, *words], environment=environment) as terminal:
        assert terminal.wait_end() == 0
        rows = terminal.transcript()
    assert rows[0].startswith("before · █")
    assert rows[1].startswith(" after · ")
    assert rows[0].count("█") > rows[1].count("█")
    assert f"archive/{ada.archives()[0].name}" in str(terminal)
    assert "agentmem compact Ada --undo" in str(terminal)


def test_a_summary_that_takes_a_while_says_so_and_can_be_stopped(ada: Memory, provider: Provider) -> None:
    gate = Gate(0)
    provider.answers.append(Answer("A summary.", gate=gate))
    before = ada.path.read_bytes()
    with Terminal([*COMMAND, "compact", "Ada", "-m", "gpt-4o", "--keep-tokens", "0"]) as terminal:
        terminal.wait_for("summarising · 1 s · Ctrl-C stops")
        terminal.send("\x03")
        assert terminal.wait_end() == 130
        assert "agentmem: stopped; the memory is as it was" in terminal.transcript()
    assert ada.path.read_bytes() == before
    assert not ada.archives()


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "Ada"],
        ["archives", "Ada"],
        ["search", "Ada", "region"],
        ["export", "Ada"],
        ["forget", "Ada", "--match", "region", "--dry-run"],
        ["show", "nobody"],
        ["chat", "--help"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_nothing_steers_a_terminal_where_there_is_none(ada: Memory, arguments: list[str]) -> None:
    del ada
    environment = {**os.environ, "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )
    assert done.stdout or done.stderr
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colour_can_be_refused(ada: Memory, variable: str) -> None:
    del ada
    with Terminal(
        [*COMMAND, "show", "Ada"], environment={variable: {"TERM": "dumb"}.get(variable, "1")}
    ) as terminal:
        assert terminal.wait_end() == 0
        assert b"\x1b[3" not in bytes(terminal.raw)
        assert variable == "NO_COLOR" or b"\x1b" not in bytes(terminal.raw)
