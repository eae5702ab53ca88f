"""`Memory`: the one door to an agent's folder."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from agentmem.durable import close, sync, write_all, writing
from agentmem.entries import make_entry, make_header, parse, storable
from agentmem.errors import AgentMemError, MemoryUnreadable
from agentmem.folders import Folder
from agentmem.locking import COMPACTION_LOCK
from agentmem.memory import joining, removal, rewriting
from agentmem.memory.archives import list_archives, sweep
from agentmem.memory.parts import drop_parts, read_parts, write_part
from agentmem.memory.reader import MemoryReader
from agentmem.memory.reading import Cursor, digest, identity, read_tail
from agentmem.memory.tombstones import forgotten, tombstone
from agentmem.stamps import TICK, format_stamp
from agentmem.workspace import ARCHIVE_FOLDER, DELETED_PREFIX, MEMORY_FILE, PRIVATE_FOLDER, check_private

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.memory.reading import Snapshot


def _add(fd: int, size: int, block: bytes) -> None:
    """Write durably at the end of a file of that size, or leave it as it is."""
    try:
        write_all(fd, block)
        sync(fd)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


class Memory(MemoryReader):
    """One agent's folder, read and written."""

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
        closing, newest = b"", self._left.get(identity(before))
        if not newest:
            tail = read_tail(fd, before.st_size, 1)
            closing, newest = tail.closing, tail.entries[-1].when if tail.entries else None
        role, text, note = said
        when = self._new_time(folder, newest)
        start = before.st_size + len(closing)
        entry = make_entry(role, format_stamp(when), self._redact(storable(text)), note, start)
        block = closing + entry.raw
        _add(fd, before.st_size, block)
        with suppress(OSError):  # the entry is stored; without this the file's end is only read again
            after = os.fstat(fd)
            self._left = {identity(after): when}
            if cursor and cursor.is_at(before):
                cursor.advance(block, after)
        return entry

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
            when = self._new_time(folder, max((entry.when for entry in entries), default=None))
            fold = rewriting.fold(folder, snapshot, self._redact(storable(summary)), kept, when)
            # They no longer match anything; the next forget or fold tries again.
            with suppress(OSError, AgentMemError):
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
        whole: Container[str] = (),
        renewed: Callable[[Entry], Entry] = lambda entry: entry,
        typed: Callable[[str], bool] = lambda _line: False,
    ) -> list[removal.Forgotten]:
        """Remove entries from MEMORY.md and every archive, leaving all other bytes as they are.

        Args:
            chosen: told the file's name and an entry, says whether it goes.
            whole: archives that go altogether, header included, once all their entries are chosen.
            renewed: says what stands in an entry's place that is not chosen.
            typed: says which lines of the input history go, besides those that repeat a removed entry.

        Raises:
            StorageError: a file could not be rewritten; that file is as it was.
            FolderLocked: another process keeps the folder.
        """
        with self._rewriting() as folder:
            return removal.forget(folder, chosen, whole=whole, renewed=renewed, typed=typed)

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
            _add(fd, size, read_tail(fd, size, 1).closing)

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Append entries again that vanished from MEMORY.md, under the ids they had; errors as `append`."""
        with self._held(create=True) as folder, writing(self.path):
            if MEMORY_FILE not in folder.names():
                self._create(folder)
            known = self._ids(folder)
            gone = forgotten(folder)  # meanwhile, perhaps
            block = b"".join(
                entry.raw for entry in entries if entry.stamp not in known and tombstone(entry) not in gone
            )
            with folder.opened(MEMORY_FILE, os.O_RDWR | os.O_APPEND) as fd:
                size = os.fstat(fd).st_size
                _add(fd, size, read_tail(fd, size, 1).closing + block if block else b"")

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

    @contextmanager
    def _held(self, *, create: bool) -> Iterator[Folder]:
        """Open the folder and hold its lock; a folder that was deleted while waiting is opened again."""
        if not self._private:  # once is enough: it says who owns the place, not what is in it
            check_private(self.folder)
            self._private = True
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

    def _new_time(self, folder: Folder, newest: datetime | None) -> datetime:
        """Return a time that no entry of the folder has; the clock's own unless it stood still or went back."""
        when = self._clock()
        may_be_taken = when <= newest if newest else bool(list_archives(folder))
        if may_be_taken:
            taken = {entry.when for entry in self._every(folder)}
            while when in taken:
                when += TICK
        return when
