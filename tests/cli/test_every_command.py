"""Every command where the terminal is narrow, has no colours, no cursor or only ASCII, and where there is none."""

from __future__ import annotations

import re
import shlex
import subprocess
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from agentmem.cli.loading import COMMANDS
from agentmem.memory import Memory
from agentmem.repl.rows import cells
from tests.program import COMMAND, agree, environment
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

NARROW = 20
SAID = "naïve “teal” 東京 🙂"
"""What people say stays as it is, whatever the terminal can show."""

# What is typed, how it ends, and what must not be lost.
LINES: list[tuple[str, int, str]] = [
    ("show", 0, "Grace Hopper"),
    ("show --exact", 0, "archives 1"),
    ("show Ada", 0, "the lowest latency of all of them"),
    ("show Ada --exact --last 1", 0, "Ada"),
    ("show Ada --tokens", 0, "total"),
    ("show Ada --role Usr", 0, "did you mean 'User'?"),
    ("archives Ada", 0, "entries 3"),
    ("archives Ada latest", 0, "Which region is cheapest"),
    ("archives Ada --verify", 0, "MEMORY.md: ok"),
    ("search Ada region", 0, "region"),
    ("search --all teal", 0, "Grace Hopper"),
    ("forget Ada --match region --dry-run", 0, "nothing was removed"),
    ("forget Ada --regex 'latenc(y|ies)' --dry-run --exact", 0, "this would forget 1 entry in 1 file"),
    ("forget Ada --archive all --dry-run", 0, "the whole file"),
    ("forget Ada --all --dry-run", 0, "with its memory and 1 archive"),
    ("compact Ada --summary short --keep-tokens 0 --dry-run", 0, "nothing was written"),
    ("compact Ada --summary short --keep-tokens 0", 0, "raw log"),
    ("compact Ada --undo", 0, "followed by what came after"),
    ("doctor", 0, "looked at 2 agents: no problems"),
    ("doctor Ada", 0, "gpt-4o"),
    ("import Bob talk.json --dry-run", 0, "would take 1 entry from OpenAI messages"),
    ("export Ada -o out.md", 0, "wrote out.md"),
    ("show nobody", 66, "`agentmem show` lists those there are"),
    ("show Adda", 66, "did you mean 'Ada'?"),
    ("shwo", 2, "did you mean 'show'?"),
    ("show Ada --lsat 3", 2, "did you mean '--last'?"),
    ("show --last x", 2, "a whole number is wanted"),
    ("chat", 2, "there are: Ada, Grace Hopper"),
    ("chat Ada hello --api-base http://127.0.0.1:9/v1", 69, "127.0.0.1:9"),
    ("--help", 0, "in files you own."),
    *((f"{name} --help", 0, "Show this message and exit.") for name in COMMANDS),
]


@pytest.fixture
def place(workspace: Path, tmp_path: Path) -> Path:
    """A folder to work in, and a workspace with all there is: entries, a summary, an archive, two agents."""
    agree(workspace)
    now = [datetime.now().astimezone() - timedelta(days=3)]
    ada = Memory(workspace / "agents" / "Ada", clock=lambda: now[0])
    ada.append("User", "Which region is *cheapest* for https://example.org/a/rather/long/address?")
    ada.append("Tool (price)", '{"eu-west": 41}')
    ada.append("Ada", f"**eu-west**\n\n| Region | Price |\n|---|--:|\n| eu-west | 41 |\n\n- {SAID}")
    document, cursor = ada.load()
    ada.fold(cursor.snapshot(), "They compared regions.", document.entries[-1:])
    now[0] += timedelta(days=2)
    ada.append("User", "And the region with the lowest latency of all of them, please?")
    ada.append("Ada", "eu-north.")
    Memory(workspace / "agents" / "Grace Hopper", clock=lambda: now[0]).append("User", "I like teal.")
    settings = workspace / "agents" / "Ada" / "agent.toml"
    settings.write_text("context_length = 2000\nmodel = 'gpt-4o'\n", encoding="utf-8")
    settings.chmod(0o600)
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "hi"}]', encoding="utf-8")
    return tmp_path


def on_terminal(line: str, folder: Path, columns: int, **more: str) -> tuple[int, str]:
    """Return how a command ends on a terminal, and all that it wrote there."""
    surroundings = environment(PAGER="cat", OPENAI_API_KEY="x", **more)
    with Terminal(
        [*COMMAND, *shlex.split(line)], columns=columns, environment=surroundings, folder=folder
    ) as it:
        return it.wait_end(), bytes(it.raw).decode()


def torn_or_wide(text: str) -> list[str]:
    """Return the rows that do not fit, but for words that no row could hold."""
    return [row for row in text.split("\r\n") if cells(row.rstrip()) > NARROW and len(row.split()) > 1]


def unstyled(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("line", "code", "kept"), LINES, ids=[line for line, *_ in LINES])
def test_a_command_fits_its_terminal(place: Path, line: str, code: int, kept: str) -> None:
    undo = "--undo" in line
    if undo:
        on_terminal("compact Ada --summary short --keep-tokens 0", place, 80)
    ended, drawn = on_terminal(line, place, NARROW)
    text = unstyled(drawn)
    assert "\x1b" not in text
    assert (ended, torn_or_wide(text)) == (code, [])
    assert kept in words(text)
    if undo or "-o" in line or line.endswith("--keep-tokens 0"):
        return  # what was done cannot be done again
    ended, plain = on_terminal(line, place, 90, COLUMNS=str(NARROW), NO_COLOR="1", LANG="C", LC_ALL="C")
    assert (ended, torn_or_wide(plain)) == (code, [])
    assert "\x1b" not in plain
    for said in SAID.split():
        plain = plain.replace(said, "")
    assert plain.isascii(), re.findall(r"[^\x00-\x7f]", plain)


@pytest.mark.parametrize(("line", "code"), [(line, code) for line, code, _ in LINES])
def test_a_command_sends_no_escapes_where_nothing_obeys_them(place: Path, line: str, code: int) -> None:
    if "--undo" in line:
        on_terminal("compact Ada --summary short --keep-tokens 0", place, 80)
    surroundings = environment(OPENAI_API_KEY="x", TERM="xterm-256color", FORCE_COLOR="1", CLICOLOR_FORCE="1")
    piped = subprocess.run(
        [*COMMAND, *shlex.split(line)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=surroundings,
        cwd=place,
        check=False,
    )
    assert piped.returncode == code or line == "chat"
    assert b"\x1b" not in piped.stdout + piped.stderr
    if "-o" not in line and "--keep-tokens 0" not in line and "--undo" not in line:
        _, dumb = on_terminal(line, place, 80, TERM="dumb")
        assert "\x1b" not in dumb
        assert dumb.strip()
