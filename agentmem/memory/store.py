"""`Memory`: the one door to an agent's folder."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from agentmem.durable import Folder, close, read_at, reading, sync, write_all, writing
from agentmem.entries import closing, format_stamp, make_entry, make_header, parse, parse_pieces, storable
from agentmem.errors import AgentMemError, MemoryUnreadable
from agentmem.locking import COMPACTION_LOCK, locked
from agentmem.memory import joining, removal, rewriting
from agentmem.memory.archives import Archive, list_archives, pick_archive, sweep
from agentmem.memory.parts import drop_parts, read_parts, write_part
from agentmem.memory.reading import (
    Changes,
    Cursor,
    Glance,
    count_before,
    digest,
    glance,
    pieces_of,
    read_tail,
)
from agentmem.memory.tombstones import forgotten, tombstone
from agentmem.workspace import ARCHIVE_FOLDER, DELETED_PREFIX, MEMORY_FILE, PRIVATE_FOLDER, check_private

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentmem.entries import Document, Entry
    from agentmem.memory.reading import Snapshot

_READ_WAIT = 1.0  # seconds a reader waits for a writer before it reads regardless
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """Return the local time with its UTC offset."""
    return datetime.now().astimezone()


def _unlocked(*_: object, **__: object) -> AbstractContextManager[None]:
    """Stand in for `locked` where there are no locks."""
    return nullcontext()


def _add(fd: int, size: int, block: bytes) -> None:
    """Write durably at the end of a file of that size, or leave it as it is."""
    try:
        write_all(fd, block)
        sync(fd)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


class Memory:
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
        redact: Callable[[str], str] = lambda text: text,
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

    # Writing

    def ensure(self) -> None:
        """Create the folder and a MEMORY.md with a header, where there is none.

        Raises:
            StorageError: it cannot be created.
            FolderLocked: another process keeps the folder.
        """
        if self.exists():
            return
        with self._held(create=True) as folder, writing(self.path), suppress(FileExistsError):
            self._create(folder)

    def append(self, role: str, text: str, note: str = "", cursor: Cursor | None = None) -> Entry:
        """Store an entry; once this returns, it survives a crash and a power loss.

        Args:
            role: who speaks.
            text: any text at all.
            note: for the heading's comment.
            cursor: moved past the entry, if nobody else has written since it was made.

        Returns:
            The entry as stored, with its id.

        Raises:
            StorageError: nothing was stored.
            FolderLocked: another process keeps the folder.
        """
        with self._held(create=True) as folder, writing(self.path):
            try:
                fd = folder.open_file(MEMORY_FILE, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:
                self._create(folder)
                fd = folder.open_file(MEMORY_FILE, os.O_RDWR | os.O_APPEND)
            try:
                return self._append_to(folder, fd, (role, text, note), cursor)
            finally:
                close(fd)

    def _append_to(self, folder: Folder, fd: int, said: tuple[str, str, str], cursor: Cursor | None) -> Entry:
        before = os.fstat(fd)
        tail = read_tail(fd, before.st_size, 1)
        role, text, note = said
        when = self._new_time(folder, tail.entries[-1] if tail.entries else None)
        entry = make_entry(role, format_stamp(when), self._redact(storable(text)), note)
        start = closing(tail.raw)
        block = start + entry.raw
        _add(fd, before.st_size, block)
        if cursor and cursor.is_at(before):
            with suppress(OSError):  # the entry is stored; a cursor that stays behind only reads it again
                cursor.advance(block, os.fstat(fd))
        return replace(entry, start=before.st_size + len(start))

    def stored(self, role: str, stamp: str, text: str, note: str = "") -> Entry:
        """Return an entry as it would be stored under a timestamp it already has; nothing is written.

        Raises:
            ValueError: the role or the note cannot stand in a heading.
        """
        return make_entry(role, stamp, self._redact(storable(text)), note)

    def join(
        self,
        incoming: Iterable[tuple[datetime, bytes]],
        archives: Iterable[tuple[str, Iterable[bytes]]] = (),
    ) -> None:
        """Take in entries that have their timestamps already: all of them, or none.

        Args:
            incoming: time and bytes of each, as `stored` builds them; they are put among the present
                entries by their times, and keep their order.
            archives: the entries of whole archives, by the names these had.

        Raises:
            StorageError: MEMORY.md is untouched; archives that were written already stay.
            FolderLocked: another process keeps the folder.
        """
        with self._held(create=True) as folder, writing(self.path):
            sweep(folder)
            if MEMORY_FILE not in folder.names():
                self._create(folder)
            joining.join(folder, incoming, archives, self._clock())

    def _create(self, folder: Folder) -> None:
        name = f"{self.folder.name}_id_{uuid4()}_conversation"
        folder.publish(MEMORY_FILE, [make_header(name, format_stamp(self._clock()))])

    def fold(self, snapshot: Snapshot, summary: str, kept: Sequence[Entry] = ()) -> rewriting.Fold:
        """Archive MEMORY.md and replace it by a summary and the kept entries.

        Args:
            snapshot: what was summarised; what came after it is carried over.
            summary: the summary's text.
            kept: entries of the snapshot that stay word for word.

        Raises:
            MemoryChanged: someone edited the summarised part; nothing was written.
            StorageError: MEMORY.md is untouched.
            FolderLocked: another process keeps the folder.
        """
        with self._rewriting() as folder:
            entries = parse(folder.read(MEMORY_FILE)).entries
            when = self._new_time(folder, max(entries, key=lambda entry: entry.when, default=None))
            fold = rewriting.fold(folder, snapshot, self._redact(storable(summary)), kept, when)
            with suppress(
                OSError, AgentMemError
            ):  # they no longer match anything; the next forget or fold tries again
                drop_parts(folder)
            return fold

    @contextmanager
    def compacting(self) -> Iterator[None]:
        """Be the only one who compacts this folder for the length of a block; everything else may go on.

        Raises:
            FolderLocked: another process is compacting it, and was not done within the bounded wait.
            StorageError: the folder cannot be used.
        """
        with (
            Folder.open(self.folder, create=True) as folder,
            self._locked(folder, self._lock_timeout, name=COMPACTION_LOCK, busy="is being compacted by"),
        ):
            yield

    def summary_parts(self) -> dict[str, str]:
        """Return results of an earlier compaction that did not get through, by key."""
        with suppress(MemoryUnreadable), Folder.open(self.folder) as folder:
            return read_parts(folder)
        return {}

    def keep_summary_part(self, key: str, text: str, snapshot: Snapshot) -> bool:
        """Keep a compaction's result, redacted, unless the text it was made from no longer stands.

        Raises:
            StorageError: it was not kept.
            FolderLocked: another process keeps the folder.
        """
        with self._held(create=False) as folder, writing(self.folder / PRIVATE_FOLDER):
            if digest(folder.read(MEMORY_FILE)[: snapshot.size]) != snapshot.digest:
                return False
            write_part(folder, key, self._redact(storable(text)))
            return True

    def restore(self, name: str) -> str:
        """Put an archive back as MEMORY.md; return the name under which the present one was archived.

        Raises:
            NotFound: there is no such archive.
            StorageError: MEMORY.md is untouched.
            FolderLocked: another process keeps the folder.
        """
        with self._rewriting() as folder:
            return rewriting.restore(folder, name, self._clock())

    def undo(self) -> str:
        """Take the last compaction back; return the archive's name.

        Raises:
            NotFound: there is none to take back.
            StorageError: MEMORY.md is untouched.
            FolderLocked: another process keeps the folder.
        """
        with self._rewriting() as folder:
            return rewriting.undo(folder, self._clock())

    def forget(
        self,
        chosen: Callable[[str, Entry], bool],
        *,
        dry_run: bool = False,
        whole: Container[str] = (),
        renewed: Callable[[Entry], Entry] = lambda entry: entry,
        typed: Callable[[str], bool] = lambda _line: False,
    ) -> list[removal.Forgotten]:
        """Remove entries from MEMORY.md and every archive, leaving all other bytes as they are.

        Args:
            chosen: told the file's name and an entry, says whether it goes.
            dry_run: only say what would go.
            whole: archives that go altogether, header included, once all their entries are chosen.
            renewed: says what stands in an entry's place that is not chosen.
            typed: says which lines of the input history go, besides those that repeat a removed entry.

        Raises:
            StorageError: a file could not be rewritten; that file is as it was.
            FolderLocked: another process keeps the folder.
        """
        with self._rewriting() as folder:
            return removal.forget(folder, chosen, dry_run=dry_run, whole=whole, renewed=renewed, typed=typed)

    def sweep(self) -> list[str]:
        """Delete temporary files that a crash left; return their names, relative to the folder.

        Raises:
            StorageError: a file could not be deleted.
            FolderLocked: another process keeps the folder.
        """
        with self._held(create=False) as folder, writing(self.folder):
            return sweep(folder)

    def close_tail(self) -> None:
        """Add what the last entry lacks at its end; errors as `append`."""
        with (
            self._held(create=False) as folder,
            writing(self.path),
            folder.opened(MEMORY_FILE, os.O_RDWR | os.O_APPEND) as fd,
        ):
            size = os.fstat(fd).st_size
            _add(fd, size, closing(read_tail(fd, size, 1).raw))

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Append entries again that vanished from MEMORY.md, under the ids they had; errors as `append`."""
        with self._held(create=True) as folder, writing(self.path):
            if MEMORY_FILE not in folder.names():
                self._create(folder)
            known = self._ids(folder)
            block = b"".join(entry.raw for entry in entries if entry.stamp not in known)
            with folder.opened(MEMORY_FILE, os.O_RDWR | os.O_APPEND) as fd:
                size = os.fstat(fd).st_size
                _add(fd, size, closing(read_tail(fd, size, 1).raw) + block if block else b"")

    def missing(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return those of some entries that are in no file any more though nobody has forgotten them.

        Raises:
            MemoryUnreadable: a file cannot be read.
        """
        if not os.path.lexists(self.folder):
            return []  # the whole agent was deleted, which nobody does by mistake
        with self._steady() as folder:
            gone = forgotten(folder)
            known = self._ids(folder)
        return [entry for entry in entries if entry.stamp not in known and tombstone(entry) not in gone]

    def unknown_in(self, content: bytes) -> list[Entry]:
        """Return the entries of some other file that no file of this memory has; errors as `missing`."""
        return self.missing(parse(content).entries)

    def delete(self) -> None:
        """Delete the agent's folder with everything in it; links are deleted, never followed.

        Raises:
            StorageError: something is left, under a name that is no agent's.
            FolderLocked: another process keeps the folder.
        """
        doomed = self.folder.with_name(f"{DELETED_PREFIX}{os.urandom(8).hex()}")
        with self._held(create=False), writing(self.folder):
            self.folder.rename(doomed)
        with writing(doomed):
            shutil.rmtree(doomed)
            with Folder.open(self.folder.parent) as parent:
                parent.sync()

    def drop_archives(self, names: Iterable[str]) -> None:
        """Delete archives, and whatever is derived from them.

        Raises:
            StorageError: one cannot be deleted.
            FolderLocked: another process keeps the folder.
        """
        with self._rewriting() as folder:
            removal.drop_derived(folder)
            with folder.child(ARCHIVE_FOLDER) as shelf:
                for name in names:
                    with suppress(FileNotFoundError):
                        shelf.remove(name)
                shelf.sync()

    @staticmethod
    def sweep_deleted(agents: Path) -> None:
        """Finish deletions of agents that a crash cut short.

        Args:
            agents: the folder with one folder per agent.
        """
        with suppress(OSError):
            for each in agents.iterdir():
                if each.name.startswith(DELETED_PREFIX) and not each.is_symlink():
                    shutil.rmtree(each, ignore_errors=True)

    # Reading

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

    def read_archive(self, name: str) -> tuple[Archive, bytes]:
        """Return an archive and its bytes.

        Args:
            name: its name, an unambiguous prefix of it, or `latest`.

        Raises:
            NotFound: there is no such archive.
            MemoryUnreadable: it cannot be read.
        """
        archive = pick_archive(self.archives(), name)
        with Folder.open(archive.path.parent) as shelf, reading(archive.path):
            return archive, shelf.read(archive.name)

    def walk(self, archive: str = "") -> Iterator[Entry]:
        """Yield the entries of MEMORY.md, or of an archive, as they are now, in little memory.

        Args:
            archive: the archive's whole name; "" is MEMORY.md, and none when there is no such file.

        Raises:
            MemoryUnreadable: it cannot be read.
        """
        if not (archive or self.exists()):
            return
        with ExitStack() as stack:
            with self._steady() as folder:
                shelf = stack.enter_context(folder.child(ARCHIVE_FOLDER)) if archive else folder
                fd = stack.enter_context(shelf.opened(archive or MEMORY_FILE, os.O_RDONLY))
                size = os.fstat(fd).st_size
            with reading(self.folder / ARCHIVE_FOLDER / archive if archive else self.path):
                for document in parse_pieces(pieces_of(fd, size)):
                    yield from document.entries

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

    @contextmanager
    def _held(self, *, create: bool) -> Iterator[Folder]:
        """Open the folder and hold its lock; a folder that was deleted while waiting is opened again."""
        check_private(self.folder)
        while True:
            with Folder.open(self.folder, create=create) as folder, self._locked(folder, self._lock_timeout):
                with writing(self.folder):
                    if not folder.is_current():
                        continue
                yield folder
                return

    @contextmanager
    def _rewriting(self) -> Iterator[Folder]:
        with self._held(create=False) as folder, writing(self.path):
            sweep(folder)
            yield folder

    def _ids(self, folder: Folder) -> set[str]:
        return {entry.stamp for content in self._contents(folder) for entry in parse(content).entries}

    def _contents(self, folder: Folder) -> Iterator[bytes]:
        with suppress(FileNotFoundError):
            yield folder.read(MEMORY_FILE)
        for archive in list_archives(folder):
            with folder.child(ARCHIVE_FOLDER) as shelf:
                yield shelf.read(archive.name)

    def _new_time(self, folder: Folder, newest: Entry | None) -> datetime:
        """Return a time that no entry of the folder has; the clock's own unless it stood still or went back."""
        when = self._clock()
        may_be_taken = when <= newest.when if newest else bool(list_archives(folder))
        if may_be_taken:
            taken = {entry.when for content in self._contents(folder) for entry in parse(content).entries}
            while when in taken:
                when += _MICROSECOND
        return when
