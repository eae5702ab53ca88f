from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.program import COMMAND, environment, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def memory(workspace: Path) -> Memory:
    kept = Memory(workspace / "agents" / "Ada")
    for number in range(6):
        kept.append("User" if number % 2 == 0 else "Ada", f"Nr {number} " + "and more " * 50)
    return kept


def compacted(memory: Memory, keep: int = 2) -> str:
    document, cursor = memory.load()
    return memory.fold(cursor.snapshot(), "They counted.", document.entries[-keep:]).archive


def listed() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(run("archives", "Ada", "--json").out)["archives"]
    return rows


def test_archives_are_listed_with_entries_span_and_gain(memory: Memory) -> None:
    first, last = memory.read().entries[0], memory.read().entries[-1]
    one = compacted(memory)
    memory.append("User", "and on")
    two = compacted(memory, keep=1)
    rows = listed()
    assert [row["archive"] for row in rows] == [one, two]
    assert (rows[0]["entries"], rows[0]["first"], rows[0]["last"]) == (6, first.stamp, last.stamp)
    for row in rows:
        before, after = row["bytes_before"], row["bytes_after"]
        assert isinstance(before, int)
        assert isinstance(after, int)
        assert 0 < after < before
    table = run("archives", "Ada").out
    assert "tokens" in table
    assert first.stamp[:16].replace("T", " ") in table


def test_an_archive_that_is_none_or_several_is_answered_with_those_there_are(memory: Memory) -> None:
    names = []
    for number in range(5):
        names.append(compacted(memory, keep=1))
        memory.append("User", f"and on, {number}")
    newest = ", ".join(reversed(names[-3:]))
    assert (
        run("archives", "Ada", "bad").err == f"agentmem: no archive 'bad'; there are: {newest} and 2 more\n"
    )
    assert "did you mean 'latest'?" in run("archives", "Ada", "lates").err
    assert f"did you mean {names[0]!r}?" in run("archives", "Ada", names[0].replace("history", "hsitory")).err
    several = run("archives", "Ada", "history_20")
    assert (several.code, f"5 archives begin with 'history_20': {names[0]}" in several.err) == (66, True)


def test_an_archive_of_an_undone_compaction_says_no_gain(memory: Memory) -> None:
    compacted(memory)
    memory.undo()
    assert next(row["bytes_after"] for row in listed()) is not None  # the undone state was archived, with it
    memory.forget(lambda _file, entry: entry.is_summary)
    assert listed()[0]["bytes_after"] is None


def test_verify_finds_whole_archives_in_order(memory: Memory) -> None:
    name = compacted(memory)
    ran = run("archives", "Ada", "--verify")
    assert (ran.code, ran.out) == (0, f"{name}: ok\nMEMORY.md: ok\n")


def test_verify_names_what_is_wrong(memory: Memory) -> None:
    one = compacted(memory)
    two = compacted(memory, keep=1)
    shelf = memory.folder / "archive"
    os.chmod(shelf / one, 0o644)
    content = (shelf / one).read_bytes()
    (shelf / one).write_bytes(
        content.replace(b"Nr 5", b"No 5") + b"### User \xe2\x80\x94 2026-04-20T18:33:15\n\nhal\xff"
    )
    ran = run("archives", "Ada", "--verify", "--json")
    assert ran.code == 1
    files = json.loads(ran.out)["files"]
    assert "its mode is 0644, not 0400" in files[one]
    assert "entry #7 has no rule at its end" in files[one]
    assert any("not UTF-8" in problem for problem in files[one])
    assert any("differs from the one in" in problem for problem in files[two])
    (shelf / two).unlink()
    assert (
        f"it continues {two}, which is not there"
        in json.loads(run("archives", "Ada", "--verify", "--json").out)["files"]["MEMORY.md"]
    )


def test_show_tokens_counts_by_role(memory: Memory) -> None:
    assert memory.exists()
    ran = run("show", "Ada", "--tokens", AGENTMEM_MODEL="gpt-4o")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].split() == ["ROLE", "ENTRIES", "TOKENS"]
    assert lines[3].split()[:2] == ["total", "6"]
    assert "gpt-4o: ~" in lines[4]
    assert "$" in lines[4]
    shape = json.loads(run("show", "Ada", "--tokens", "--json", "--last", "2", AGENTMEM_MODEL="gpt-4o").out)
    assert len(shape["entries"]) == 2
    assert shape["tokens"] == sum(entry["tokens"] for entry in shape["entries"])
    assert shape["cost"] > shape["cached_cost"] > 0


def test_show_tokens_says_when_price_and_window_are_unknown(memory: Memory) -> None:
    assert memory.exists()
    ran = run("show", "Ada", "--tokens", AGENTMEM_MODEL="openai/nobody-knows-it")
    assert "window unknown · cost unknown" in ran.out


def test_follow_prints_what_comes_once(memory: Memory) -> None:
    process = subprocess.Popen(
        [*COMMAND, "show", "Ada", "--follow", "--last", "1", "--json"],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None

    def line() -> dict[str, object]:
        assert process.stdout is not None
        found: dict[str, object] = json.loads(process.stdout.readline())
        return found

    try:
        assert line()["number"] == 6
        memory.append("User", "something new")
        assert line()["text"] == "something new"
        compacted(memory)
        summary = line()
        assert (summary["role"], summary["number"]) == ("System", 1)
        memory.append("Ada", "after the compaction")
        assert line()["text"] == "after the compaction"
    finally:
        process.terminate()
        process.communicate(timeout=60)
