"""The branch for systems that cannot work relative to an open directory (Windows): the same promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem import folders
from agentmem.errors import MemoryUnreadable, StorageError
from agentmem.memory import Memory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def by_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_BY_DESCRIPTOR", False)
    monkeypatch.setattr(folders, "_NOFOLLOW", 0)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    kept = Memory(tmp_path / "agents" / "Ada")
    for text in ("one", "two", "three"):
        kept.append("User", text)
    return kept


def said(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.read().entries]


def test_everything_a_memory_does(memory: Memory) -> None:
    before = memory.path.read_bytes()
    fold = memory.fold(memory.load()[1].snapshot(), "summary")
    assert memory.read_archive("latest")[1] == before
    memory.append("Ada", "four")
    assert memory.undo() == fold.archive
    assert said(memory) == ["one", "two", "three", "four"]
    memory.forget(lambda _file, entry: entry.text == "two")
    assert said(memory) == ["one", "three", "four"]
    memory.restore(fold.archive)
    assert said(memory) == ["one", "three"]
    memory.delete()
    assert not memory.folder.exists()


def test_links_are_not_followed(memory: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"not ours")
    (memory.folder / "archive").symlink_to(outside)
    with pytest.raises(StorageError, match="symbolic link"):
        memory.fold(memory.load()[1].snapshot(), "summary")
    memory.path.unlink()
    memory.path.symlink_to(outside / "file")
    with pytest.raises(StorageError, match="symbolic link"):
        memory.append("User", "four")
    with pytest.raises(MemoryUnreadable, match="symbolic link"):
        memory.read()
    assert [path.read_bytes() for path in outside.iterdir()] == [b"not ours"]


def test_a_file_system_without_hard_links(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    before = memory.path.read_bytes()
    memory.fold(memory.load()[1].snapshot(), "summary")
    assert [archive.path.read_bytes() for archive in memory.archives()] == [before]
    memory.undo()
    assert memory.path.read_bytes() == before
