"""Reading MEMORY.md: whole, its tail, and what changed since."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentmem.durable import read_at
from agentmem.entries import Document, count_headings, find_last, parse

if TYPE_CHECKING:
    from agentmem.entries import Entry

_TAIL = 1 << 14  # bytes; most last entries fit, the rest take another round
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Snapshot:
    """The first `size` bytes of MEMORY.md at one moment.

    Attributes:
        size: in bytes.
        digest: BLAKE2b of those bytes.
    """

    size: int
    digest: bytes


class Cursor:
    """How far a process has read MEMORY.md, and how it recognises that this part still stands."""

    def __init__(self, content: bytes, status: os.stat_result | None) -> None:
        import hashlib

        self.size = len(content)
        self._hash = hashlib.blake2b(content)
        self._identity = identity(status) if status else ()

    def is_at(self, status: os.stat_result) -> bool:
        """Whether the file is exactly as it was left."""
        return self._identity == identity(status)

    def matches(self, content: bytes) -> bool:
        """Whether content begins with all that was read."""
        return self.size <= len(content) and digest(content[: self.size]) == self._hash.digest()

    def snapshot(self) -> Snapshot:
        """Return what was read, for `Memory.fold`."""
        return Snapshot(self.size, self._hash.digest())

    def advance(self, content: bytes, status: os.stat_result) -> None:
        """Move past bytes this process has just appended."""
        self.size += len(content)
        self._hash.update(content)
        self._identity = identity(status)


@dataclass(frozen=True)
class Glance:
    """What can be said of a memory without reading it whole.

    Attributes:
        entries: how many MEMORY.md has.
        last: the newest of them.
        size: bytes of MEMORY.md.
        archives: how many there are.
    """

    entries: int
    last: Entry | None
    size: int
    archives: int


@dataclass(frozen=True)
class Changes:
    """What happened to MEMORY.md since a cursor.

    Attributes:
        kind: `appended`: `document` holds the new entries only; `edited`: it holds the whole file.
        document: what there is to read.
        cursor: where reading now stands.
    """

    kind: Literal["none", "appended", "edited"]
    document: Document
    cursor: Cursor


def identity(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes whenever a file is written or replaced."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def digest(content: bytes) -> bytes:
    """Return the BLAKE2b digest of bytes."""
    import hashlib

    return hashlib.blake2b(content).digest()


def read_tail(fd: int, size: int, count: int) -> Document:
    """Return at least the last `count` entries of a file, fewer only when it has no more.

    The header is read only where there are fewer entries.

    Args:
        fd: the open file.
        size: its size in bytes.
        count: entries wanted, at least 1.
    """
    length = _TAIL
    while True:
        start = max(0, size - length)
        content = read_at(fd, start, size - start)
        if start:
            # A chunk may begin in the middle of a line that only looks like a heading without its start.
            skipped = content.find(b"\n") + 1 or len(content)
            content, start = content[skipped:], start + skipped
        first = find_last(content, count)
        if first is not None:
            return parse(content[first:], start + first)
        if length >= size:
            document = parse(content)
            return Document(document.header, document.entries[-count:])
        length *= 4


def glance(fd: int, archives: int) -> Glance:
    """Look at an open MEMORY.md."""
    size = os.fstat(fd).st_size
    if size <= _TAIL:
        entries = parse(read_at(fd, 0, size)).entries
        return Glance(len(entries), entries[-1] if entries else None, size, archives)
    (last,) = read_tail(fd, size, 1).entries or (None,)
    return Glance(count_before(fd, last.start if last else size) + bool(last), last, size, archives)


def count_before(fd: int, end: int) -> int:
    """Return how many entries begin before an offset, reading in constant memory."""
    buffer = bytearray(min(_CHUNK, end + 1))
    count = kept = 0  # bytes of an unfinished line at the start of the buffer
    with open(fd, "rb", buffering=0, closefd=False) as file:
        file.seek(0)
        while got := file.readinto(memoryview(buffer)[kept : kept + end]):
            filled, end = kept + got, end - got
            cut = buffer.rfind(b"\n", 0, filled) + 1
            count += count_headings(buffer, cut)
            kept = filled - cut
            buffer[:kept] = buffer[cut:filled]
            if kept == len(buffer):
                buffer += bytes(len(buffer))
    return count + count_headings(buffer, kept)
