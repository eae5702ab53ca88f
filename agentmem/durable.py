"""What durable files are made of: modes, whole writes, syncs, and errors that name the path."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.errors import MemoryUnreadable, MemoryUnwritable

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from agentmem.errors import StorageError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
ARCHIVE_MODE = 0o400

_CHUNK = 1 << 20


class reading:  # noqa: N801 - used like `suppress`
    """Turn a system error into `MemoryUnreadable` naming the path."""

    # Classes: a generator each would be a good part of what an append costs beside its sync.
    _doing = "read"
    _kind: type[StorageError] = MemoryUnreadable

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise self._kind(f"cannot {self._doing} {self._path}: {_reason(error)}") from error


class writing(reading):  # noqa: N801 - as above
    """Turn a system error into `MemoryUnwritable` naming the path."""

    _doing = "write"
    _kind = MemoryUnwritable


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a symbolic link, which is not followed here"
    return error.strerror or str(error)


def close(fd: int) -> None:
    """Close a descriptor. What counts was synced before, so that an error here changes nothing."""
    try:  # noqa: SIM105 - four times in each append
        os.close(fd)
    except OSError:
        pass


def sync(fd: int) -> None:
    """Put a file's bytes on the medium; on macOS that takes F_FULLFSYNC, not fsync alone."""
    if sys.platform == "darwin":
        import fcntl

        # Network file systems refuse F_FULLFSYNC; there fsync is the best there is.
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def write_all(fd: int, content: bytes) -> None:
    """Write every byte, continuing after short writes."""
    view = memoryview(content)
    while view:
        written = os.write(fd, view)
        if not written:
            raise OSError(errno.EIO, "nothing was written")
        view = view[written:]


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Read up to `size` bytes from `offset`, fewer only at the end of the file."""
    pieces: list[bytes] = []
    os.lseek(fd, offset, os.SEEK_SET)
    while size > 0 and (piece := os.read(fd, min(size, _CHUNK))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
