"""What a power cut may take: everything that was not synced. Nothing that was promised is among it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from agentmem.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


class Cache:
    """Follows which files and directories have changes that are not on the medium."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: set[int] = set()
        self.folders: set[int] = set()
        self.swaps: list[str] = []
        self.derived: set[int] = set()
        self._real: dict[str, Callable[..., Any]] = {}
        for name in ("open", "write", "ftruncate", "fsync", "replace", "link", "unlink", "mkdir"):
            self._real[name] = getattr(os, name)
            monkeypatch.setattr(os, name, getattr(self, name))

    def open(self, path: Any, flags: int, *rest: Any, dir_fd: int | None = None) -> int:
        fd: int = self._real["open"](path, flags, *rest, dir_fd=dir_fd)
        if flags & os.O_CREAT:
            self.folders.add(self._folder(path, dir_fd))
        return fd

    def write(self, fd: int, content: bytes) -> int:
        self.files.add(os.fstat(fd).st_ino)
        return int(self._real["write"](fd, content))

    def ftruncate(self, fd: int, size: int) -> None:
        self.files.add(os.fstat(fd).st_ino)
        self._real["ftruncate"](fd, size)

    def fsync(self, fd: int) -> None:
        status = os.fstat(fd)
        (self.folders if stat.S_ISDIR(status.st_mode) else self.files).discard(status.st_ino)
        self._real["fsync"](fd)

    def replace(self, source: Any, target: Any, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        assert os.stat(source, dir_fd=src_dir_fd).st_ino not in self.files, "renamed before it was synced"
        assert not self.folders - self.derived - {self._folder(target, dst_dir_fd)}, "an archive may be lost"
        self._real["replace"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self.folders.add(self._folder(target, dst_dir_fd))
        self.swaps.append(target)

    def link(
        self, source: Any, target: Any, *, src_dir_fd: int, dst_dir_fd: int, follow_symlinks: bool
    ) -> None:
        assert os.stat(source, dir_fd=src_dir_fd).st_ino not in self.files, "published before it was synced"
        self._real["link"](
            source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks
        )
        self.folders.add(self._folder(target, dst_dir_fd))

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._real["unlink"](path, dir_fd=dir_fd)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._real["mkdir"](path, mode, dir_fd=dir_fd)
        self.folders.add(self._folder(path, dir_fd))

    @staticmethod
    def _folder(path: Any, dir_fd: int | None) -> int:
        return (os.fstat(dir_fd) if dir_fd is not None else os.stat(os.path.dirname(path) or ".")).st_ino


def test_whatever_returned_is_on_the_medium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(tmp_path / "workspace" / "agents" / "Ada")
    cache = Cache(monkeypatch)

    def settled() -> None:
        private = memory.folder / ".agentmem"  # derived: safe to lose
        cache.derived = {each.stat().st_ino for each in (private, *private.iterdir())}
        assert (cache.files | cache.folders) - cache.derived == set()

    memory.append("User", "one")
    settled()
    memory.append("Ada", "two")
    settled()
    memory.fold(memory.load()[1].snapshot(), "summary")
    settled()
    memory.append("User", "three")
    settled()
    memory.undo()
    settled()
    memory.restore("latest")
    settled()
    memory.forget(lambda _file, entry: entry.text == "one")
    settled()
    # fold, undo, restore and forget each put another MEMORY.md in place, whole and synced.
    assert cache.swaps.count("MEMORY.md") >= 3
