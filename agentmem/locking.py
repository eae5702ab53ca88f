"""One advisory lock for an agent's folder, on `.agentmem/lock`, which is never renamed."""

from __future__ import annotations

import errno
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.durable import close, read_at
from agentmem.errors import FolderLocked, MemoryUnreadable, MemoryUnwritable
from agentmem.mounts import Mount, mount_of
from agentmem.workspace import PRIVATE_FOLDER

if TYPE_CHECKING:
    from agentmem.folders import Folder

LOCK_FILE = "lock"
COMPACTION_LOCK = "compacting.lock"
"""Held through a whole compaction, so that there is one at a time; appends do not wait for it."""

_IN_USE = "is in use by"
_POLL = 0.005  # seconds between two tries; a holder usually leaves after one fsync
_PATIENCE = 1.0  # seconds a lock call may take at least, however short the wait for a holder is
_PID_WIDTH = 20
_ADVICE = (
    '; move the workspace (--workspace), or, if no other process uses it, set lock = "none" '
    "in its agent.toml (AGENTMEM_LOCK=none)"
)
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})


class locked:  # noqa: N801 - used like `suppress`
    """Hold the folder's lock for the length of a block."""

    def __init__(
        self,
        folder: Folder,
        timeout: float,
        *,
        create: bool = True,
        name: str = LOCK_FILE,
        busy: str = _IN_USE,
    ) -> None:
        """Say which lock; it is taken at the start of the block.

        Args:
            folder: the agent's folder.
            timeout: seconds to wait for another holder.
            create: make the lock file when it is missing; without it, a missing file is an error.
            name: the lock's file in `.agentmem/`.
            busy: what the folder is while somebody else holds the lock, for the message.
        """
        self._folder, self._timeout, self._busy = folder, timeout, busy
        self._name, self._create = name, create
        self._fd = -1

    def __enter__(self) -> None:
        """Take the lock.

        Raises:
            FolderLocked: another process keeps it; its pid is named.
            MemoryUnwritable: the lock file cannot be made or opened, or the file system has no locks.
        """
        self._fd = _open(self._folder, self._name, create=self._create)
        try:
            _acquire(self._fd, self._folder, self._timeout, self._busy)
        except BaseException:
            close(self._fd)
            raise

    def __exit__(self, *_: object) -> None:
        from filelock import unlock_descriptor

        with suppress(OSError):
            unlock_descriptor(self._fd)
        close(self._fd)


def _open(folder: Folder, name: str, *, create: bool) -> int:
    try:
        with _private(folder, create=create) as private:
            try:
                return private.open_file(name, os.O_RDWR)
            except FileNotFoundError:
                if not create:
                    raise
            try:
                return private.open_file(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            except FileExistsError:  # another process was as fast
                return private.open_file(name, os.O_RDWR)
    except OSError as error:
        path = folder.path / PRIVATE_FOLDER / name
        raise MemoryUnwritable(f"cannot lock {path}: {error.strerror}") from error


def _private(folder: Folder, *, create: bool) -> Folder:
    try:
        return folder.child(PRIVATE_FOLDER)
    except MemoryUnreadable as error:
        if not create or not isinstance(error.__cause__, FileNotFoundError):
            raise
        return folder.child(PRIVATE_FOLDER, create=True)


def _acquire(fd: int, folder: Folder, timeout: float, busy: str) -> None:
    mount = mount_of(folder.place)
    deadline = time.monotonic() + timeout
    try:
        while not _try(fd, mount, timeout):
            if time.monotonic() >= deadline:
                holder = read_at(fd, 0, _PID_WIDTH).decode("ascii", "replace").strip() or "unknown"
                raise FolderLocked(f"{folder.path} {busy} process {holder}; try again when that has ended")
            time.sleep(_POLL)
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in _UNSUPPORTED:
            why = f"the file system ({mount}) has no file locks"
        raise MemoryUnwritable(f"cannot lock {folder.path}: {why}{_ADVICE}") from error
    # The pid is a courtesy to whoever waits; a full disk must not stop the work itself. It has a fixed
    # width and is left alone where it stands already: a file that grows would double the cost of a sync.
    mine = f"{os.getpid():<{_PID_WIDTH}}".encode()
    with suppress(OSError):
        if read_at(fd, 0, _PID_WIDTH) != mine:
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, mine)


def _try(fd: int, mount: Mount, timeout: float) -> bool:
    """Try to lock, without waiting for another holder.

    A call that "does not block" does block while a file server is away, so that it gets a thread of its
    own where the file system is not known to be local.

    Raises:
        OSError: the system refuses, or does not answer.
    """
    from filelock import lock_descriptor

    if mount.local or os.name == "nt":
        return lock_descriptor(fd, blocking=False)
    answers: list[bool | OSError] = []

    def ask() -> None:
        try:
            answers.append(lock_descriptor(fd, blocking=False))
        except OSError as error:
            answers.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(max(timeout, _PATIENCE))
    if not answers:
        raise OSError(errno.ETIMEDOUT, f"the file system ({mount}) does not answer the lock call")
    if isinstance(answers[0], OSError):
        raise answers[0]
    return answers[0]
