"""Reading one agent's folder: nothing here changes it."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from agentmem.durable import read_at, reading
from agentmem.entries import parse, parse_pieces
from agentmem.errors import AgentMemError, MemoryUnreadable
from agentmem.folders import Folder
from agentmem.locking import locked
from agentmem.memory.archives import Archive, list_archives, pick_archive
from agentmem.memory.reading import Changes, Cursor, Glance, count_before, glance, read_tail
from agentmem.memory.tombstones import forgotten, tombstone
from agentmem.stamps import now
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from typing_extensions import Self

    from agentmem.entries import Document, Entry
    from agentmem.settings import Settings

_READ_WAIT = 1.0  # seconds a reader waits for a writer before it reads regardless


def _unlocked(*_: object, **__: object) -> AbstractContextManager[None]:
    """Stand in for `locked` where there are no locks."""
    return nullcontext()


def _redacted(text: str) -> str:
    """Redact; what only reads a memory need not load the patterns."""
    from agentmem.redaction import redact

    return redact(text)


class MemoryReader:
    """One agent's folder; every method opens it afresh, so that renames by others are seen.

    Attributes:
        folder: the agent's folder.
        path: its MEMORY.md.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], datetime] = now,
        lock_timeout: float = 10.0,
        lock: str = "file",
        redact: Callable[[str], str] = str,
    ) -> None:
        """Describe a folder; nothing is read or created yet.

        Args:
            folder: the agent's folder.
            clock: gives the current time, aware.
            lock_timeout: seconds to wait for another process to leave the folder.
            lock: `file`, or `none` where the file system has no locks and no other process comes.
            redact: what every text goes through before it is stored.
        """
        self.folder = folder
        self.path = folder / MEMORY_FILE
        self._clock = clock
        self._lock_timeout = lock_timeout
        self._locked: Callable[..., AbstractContextManager[None]] = _unlocked if lock == "none" else locked
        self._redact = redact
        self._private = False
        self._left: dict[tuple[int, ...], datetime] = {}  # how the last append left MEMORY.md, and its time

    @classmethod
    def configured(cls, folder: Path, settings: Settings, clock: Callable[[], datetime] = now) -> Self:
        """Describe a folder, to be used as the settings say."""
        return cls(
            folder,
            clock=clock,
            lock_timeout=settings.lock_timeout,
            lock=settings.lock,
            redact=_redacted if settings.redact else str,
        )

    def exists(self) -> bool:
        """Whether there is a MEMORY.md, of whatever kind; errors as `read`."""
        with reading(self.path):
            try:
                self.path.lstat()
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def read(self) -> Document:
        """Return the whole of MEMORY.md; without one, an empty document.

        Raises:
            MemoryUnreadable: it is there and cannot be read.
        """
        return parse(self._load()[0])

    def load(self) -> tuple[Document, Cursor]:
        """Return the whole of MEMORY.md and a cursor to follow it with; errors as `read`."""
        content, status = self._load()
        return parse(content), Cursor(content, status)

    def changes(self, cursor: Cursor) -> Changes:
        """Return what others did to MEMORY.md since the cursor was there; errors as `read`."""
        with suppress(OSError):
            if cursor.is_at(self.path.lstat()):
                return Changes("none", parse(b""), cursor)
        content, status = self._load()
        fresh = Cursor(content, status)
        if not cursor.matches(content):
            return Changes("edited", parse(content), fresh)
        if fresh.size == cursor.size:
            return Changes("none", parse(b""), fresh)
        return Changes("appended", parse(content[cursor.size :], cursor.size), fresh)

    def tail(self, count: int) -> tuple[list[Entry], int]:
        """Return the last entries and the number of entries before them, in constant memory; errors as `read`."""
        if not self.exists():
            return [], 0
        with self._steady() as folder, folder.opened(MEMORY_FILE, os.O_RDONLY) as fd:
            size = os.fstat(fd).st_size
            entries = list(read_tail(fd, size, max(count, 1)).entries)[-count:] if count else []
            return entries, count_before(fd, entries[0].start if entries else size)

    def glance(self) -> Glance:
        """Return what a list of agents says of this one, without waiting for writers; errors as `read`."""
        with Folder.open(self.folder) as folder, reading(self.path):
            names = folder.names()
            archives = len(list_archives(folder)) if ARCHIVE_FOLDER in names else 0
            if MEMORY_FILE not in names:
                return Glance(0, None, 0, archives)
            with folder.opened(MEMORY_FILE, os.O_RDONLY) as fd:
                return glance(fd, archives)

    def archives(self) -> list[Archive]:
        """List the archives, oldest first; errors as `read`."""
        try:
            with Folder.open(self.folder) as folder, reading(self.folder / ARCHIVE_FOLDER):
                return list_archives(folder)
        except MemoryUnreadable as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return []
            raise

    def files(self) -> list[str]:
        """Name the archives, oldest first, then `MEMORY.md`, if there is one or not; errors as `read`."""
        return [*(archive.name for archive in self.archives()), MEMORY_FILE]

    def find_archive(self, name: str) -> Archive:
        """Return the archive with a name, an unambiguous prefix of it, or `latest`.

        Raises:
            NotFound: there is no such archive.
        """
        return pick_archive(self.archives(), name)

    def read_archive(self, name: str) -> tuple[Archive, bytes]:
        """Return an archive and its bytes.

        Raises:
            NotFound: there is no such archive.
            MemoryUnreadable: it cannot be read.
        """
        archive = self.find_archive(name)
        with Folder.open(archive.path.parent) as shelf, reading(archive.path):
            return archive, shelf.read(archive.name)

    def walk(self, file: str = MEMORY_FILE) -> Iterator[Entry]:
        """Yield the entries of MEMORY.md, or of an archive, as they are now, in little memory.

        Args:
            file: `MEMORY.md`, of which there is nothing when it is missing, or an archive's whole name.

        Raises:
            MemoryUnreadable: it cannot be read.
        """
        for document in self.documents(file):
            yield from document.entries

    def documents(self, file: str = MEMORY_FILE) -> Iterator[Document]:
        """Yield the same as documents that, joined, are the file; only the first has a header."""
        archived = file != MEMORY_FILE
        if not (archived or self.exists()):
            return
        with ExitStack() as stack:
            with self._steady() as folder:
                shelf = stack.enter_context(folder.child(ARCHIVE_FOLDER)) if archived else folder
                found = parse_pieces(shelf.pieces(file))
                first = next(found)  # opens the file, at a moment when nobody writes to it
            with reading(self.folder / ARCHIVE_FOLDER / file if archived else self.path):
                yield first
                yield from found

    def missing(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return those of some entries that are in no file any more though nobody has forgotten them.

        Raises:
            MemoryUnreadable: a file cannot be read.
        """
        if not os.path.lexists(self.folder):
            return []  # the whole agent was deleted, which nobody does by mistake
        with self._steady() as folder:
            # In this order: where there is no lock, an entry may be forgotten in between.
            known = self._ids(folder)
            gone = forgotten(folder)
        return [entry for entry in entries if entry.stamp not in known and tombstone(entry) not in gone]

    def unknown_in(self, content: bytes) -> list[Entry]:
        """Return the entries of some other file that no file of this memory has; errors as `missing`."""
        return self.missing(parse(content).entries)

    # Inside

    def _load(self) -> tuple[bytes, os.stat_result | None]:
        try:
            with self._steady() as folder, folder.opened(MEMORY_FILE, os.O_RDONLY) as fd:
                status = os.fstat(fd)
                return read_at(fd, 0, status.st_size), status
        except AgentMemError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return b"", None
            raise

    @contextmanager
    def _steady(self) -> Iterator[Folder]:
        """Open the folder for reading, keeping writers out for that while where it is possible."""
        with ExitStack() as stack:
            folder = stack.enter_context(Folder.open(self.folder))
            with suppress(AgentMemError):  # a read-only folder, or a holder that hangs: read all the same
                stack.enter_context(self._locked(folder, min(_READ_WAIT, self._lock_timeout), create=False))
            with reading(self.path):
                yield folder

    def _ids(self, folder: Folder) -> set[str]:
        return {entry.stamp for entry in self._every(folder)}

    def _every(self, folder: Folder) -> Iterator[Entry]:
        with suppress(FileNotFoundError):
            for document in parse_pieces(folder.pieces(MEMORY_FILE)):
                yield from document.entries
        for archive in list_archives(folder):
            with folder.child(ARCHIVE_FOLDER) as shelf:
                for document in parse_pieces(shelf.pieces(archive.name)):
                    yield from document.entries
