"""`keep_archives`: nothing goes before it was announced, and then only what is too old."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from agentmem import retention
from agentmem.folders import Folder
from agentmem.locking import locked
from agentmem.memory import Archive, Memory
from agentmem.search import Search
from tests.privacy.canaries import CANARY, traces
from tests.program import agree, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.loopback import Provider

NOW = datetime.now().astimezone()


@pytest.fixture
def memory(workspace: Path) -> Memory:
    """An agent with archives that are 200, 100 and 10 days old."""
    agree(workspace)
    moment = NOW
    made = Memory(workspace / "agents" / "Ada", clock=lambda: moment)
    for age in (200, 100, 10):
        moment = NOW - timedelta(days=age)
        made.append("User", f"{CANARY if age == 200 else 'plain'} {age} days ago")
        document, cursor = made.load()
        made.fold(cursor.snapshot(), f"summary {age}")
        assert document.entries
    Search(made.folder).find(["plain"])
    return made


@pytest.fixture
def turn(provider: Provider) -> Callable[..., str]:
    """Have a turn and give what was said on stderr."""

    def have(*options: str, keep: str = "90d") -> str:
        provider.answers.append("hi")
        ran = run("chat", "Ada", "hello", "-m", "gpt-4o", *options, AGENTMEM_KEEP_ARCHIVES=keep)
        assert (ran.code, ran.out) == (0, "hi\n"), ran.err
        return ran.err

    return have


def ages(memory: Memory) -> list[int]:
    return [(NOW - each.made).days for each in memory.archives() if each.made]


def test_nothing_goes_without_the_setting(memory: Memory, turn: Callable[..., str]) -> None:
    assert turn(keep="") == ""
    assert turn(keep="") == ""
    assert ages(memory) == [200, 100, 10]


def test_the_first_purge_is_announced_with_what_will_go(memory: Memory, turn: Callable[..., str]) -> None:
    names = [each.name for each in memory.archives()]
    said = turn()
    assert "the next chat with Ada deletes 2 archives older than 90d" in said
    assert "AGENTMEM_KEEP_ARCHIVES" in said
    assert names[0] in said
    assert names[1] in said
    assert names[2] not in said
    assert ages(memory) == [200, 100, 10]
    said = turn()
    assert f"deleted 2 archives older than 90d: {names[0]}, {names[1]}" in said
    assert ages(memory) == [10]
    assert turn() == ""


def test_what_was_only_in_it_is_in_no_byte_afterwards(memory: Memory, turn: Callable[..., str]) -> None:
    assert traces(memory.folder, CANARY)
    turn()
    turn()
    assert traces(memory.folder, CANARY) == []


def test_a_quiet_session_announces_nothing_and_so_deletes_nothing(
    memory: Memory, turn: Callable[..., str]
) -> None:
    assert turn("-q") == ""
    assert turn("-q") == ""
    assert ages(memory) == [200, 100, 10]
    turn()
    assert turn("-q") == ""
    assert ages(memory) == [10]


def test_a_shorter_span_is_announced_anew(memory: Memory, turn: Callable[..., str]) -> None:
    turn(keep="150d")
    turn(keep="150d")
    assert ages(memory) == [100, 10]
    assert "the next chat with Ada deletes 1 archive older than 35d" in turn(keep="35d")
    assert ages(memory) == [100, 10]
    assert "deleted 1 archive" in turn(keep="50d")


def test_what_is_due_goes_where_there_are_no_locks(
    memory: Memory, turn: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTMEM_LOCK", "none")
    with Folder.open(memory.folder) as folder, locked(folder, 0):
        turn()
        turn()
    assert ages(memory) == [10]


def test_no_memory_purges_nothing(memory: Memory, turn: Callable[..., str]) -> None:
    assert turn("--no-memory") == ""
    assert ages(memory) == [200, 100, 10]


def test_the_list_of_archives_is_a_preview(memory: Memory) -> None:
    assert "deletes 2 archives" in run("archives", "Ada", AGENTMEM_KEEP_ARCHIVES="90d").err
    assert "deletes 3 archives older than 36h" in run("archives", "Ada", AGENTMEM_KEEP_ARCHIVES="36h").err
    assert run("archives", "Ada", AGENTMEM_KEEP_ARCHIVES="0d").err == ""  # as in a chat: nothing goes
    assert run("archives", "Ada").err == ""
    assert ages(memory) == [200, 100, 10]


def test_archives_are_listed_whatever_the_settings_file_says(memory: Memory) -> None:
    (memory.folder / "agent.toml").write_text("thresold = 1\n")
    ran = run("archives", "Ada")
    assert ran.code == 0
    assert memory.archives()[0].name in ran.out
    assert ran.err.count("did you mean 'threshold'?") == 1


@pytest.mark.parametrize("content", [b"", b"soon", b"-1", b"9" * 40])
def test_a_damaged_record_means_it_was_not_announced(
    memory: Memory, turn: Callable[..., str], content: bytes
) -> None:
    (memory.folder / ".agentmem" / "retention").write_bytes(content)
    assert "the next chat" in turn()
    assert ages(memory) == [200, 100, 10]


def test_age_is_what_the_name_says(tmp_path: Path) -> None:
    names = [
        "history_2026-01-01_00-00-00.md",
        "history_2026-03-01_00-00-00_2.md",
        "history_2026-13-41_00-00-00.md",
        "notes.md",
    ]
    archives = [Archive(name, tmp_path / name, 1) for name in names]
    now = datetime(2026, 3, 2).astimezone()
    due = retention.due(archives, timedelta(days=30), now)
    assert [each.name for each in due] == names[:1]
