from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem.agent.tally import TALLY_FILE, Tally
from agentmem.memory import Memory
from agentmem.tokens import Estimator
from tests.cli.test_imports import loaded
from tests.program import agree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

LONG = "All work and no play makes Jack a dull boy. " * 3000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    memory = Memory(tmp_path / "Ada")
    memory.append("User", "hello")
    return memory.folder


def counted(folder: Path, text: str) -> Tally:
    estimator = Estimator("gpt-4o")
    estimator.load()
    tally = Tally(folder, estimator)
    tally.known(text)
    tally.keep(text)
    return tally


def known(folder: Path, text: str) -> tuple[int, int]:
    return Tally(folder, Estimator("gpt-4o")).known(text)


def test_what_was_counted_once_is_known_at_the_next_start(folder: Path) -> None:
    counted(folder, LONG)
    assert known(folder, LONG + "and more") == (len(LONG), Estimator("gpt-4o").count(LONG))


def test_a_memory_that_was_edited_is_counted_anew(folder: Path) -> None:
    counted(folder, LONG)
    assert known(folder, LONG.replace("Jack", "Jill", 1)) == (0, 0)
    assert known(folder, LONG[:-1]) == (0, 0)
    assert Tally(folder, Estimator("gpt-4")).known(LONG) == (0, 0)


def test_only_what_is_new_is_counted_when_it_has_grown(folder: Path) -> None:
    counted(folder, LONG)
    counted(folder, LONG + LONG)
    size, tokens = known(folder, LONG + LONG)
    assert size == 2 * len(LONG)
    assert tokens == pytest.approx(2 * Estimator("gpt-4o").count(LONG), rel=0.001)


@pytest.mark.parametrize(
    "damage", [b"", b"{}", b"[]", b"nonsense", b'{"characters": "x", "tokens": []}', b"\xff"]
)
def test_a_damaged_count_is_no_count(folder: Path, damage: bytes) -> None:
    (folder / ".agentmem" / TALLY_FILE).write_bytes(damage)
    assert known(folder, LONG) == (0, 0)
    counted(folder, LONG)
    assert known(folder, LONG)[0] == len(LONG)


def test_short_memories_and_unsaved_ones_keep_nothing(folder: Path) -> None:
    counted(folder, "short")
    assert not (folder / ".agentmem" / TALLY_FILE).exists()
    assert Tally(None, Estimator("gpt-4o")).known(LONG) == (0, 0)


def test_the_second_chat_with_a_long_memory_needs_no_tokenizer(workspace: Path, provider: Provider) -> None:
    Memory(workspace / "agents" / "Ada").append("User", LONG)
    agree(workspace)
    words = ["chat", "Ada", "hello", "-m", "gpt-4o"]
    provider.answers += ["one", "two"]
    assert "tiktoken" in loaded(*words)
    assert "tiktoken" not in loaded(*words)
    assert "makes Jack a dull boy" in provider.asked[1].text
