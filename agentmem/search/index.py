"""The index in `.agentmem/index.db`: derived from the files, made anew whenever it does not fit them.

Nothing is ever deleted from it: SQLite would keep the words in its file. When text has vanished from the
files, a new index takes the old one's place. Writers exclude each other with a lock of their own, so that
nobody who appends to the memory ever waits for them.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import quote

from agentmem.durable import Folder, read_at
from agentmem.entries import parse
from agentmem.errors import AgentMemError
from agentmem.locking import locked
from agentmem.search.words import TRIGRAMS, WORDS, broken, carried
from agentmem.workspace import ARCHIVE_FOLDER, INDEX_FILE, MEMORY_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentmem.entries import Entry

LOCK_FILE = "index.lock"
_VERSION = 1
_SCHEMA = f"""
CREATE TABLE files (name TEXT PRIMARY KEY, inode INTEGER, size INTEGER, changed INTEGER);
CREATE TABLE entries (number INTEGER PRIMARY KEY, digest BLOB UNIQUE, file TEXT, start INTEGER, length INTEGER,
                      stamp TEXT, role TEXT, time REAL);
CREATE INDEX places ON entries (file, start);
CREATE VIRTUAL TABLE words USING fts5(text, heading, content='', tokenize="{WORDS}");
CREATE VIRTUAL TABLE parts USING fts5(text, content='', detail=none, tokenize="{TRIGRAMS}");
PRAGMA user_version = {_VERSION};
"""
_WAIT = 10.0  # seconds for another process that builds the index; after that it is done without one
_SMALL = 4 << 20  # bytes of MEMORY.md that are compared whole with what was indexed
_STEP = 500  # entries between two reports of progress
_TRIES = 5


class _Unusable(Exception):
    """There is no index that fits the files; only a new one does."""


@dataclass(frozen=True)
class Place:
    """Where an entry stands.

    Attributes:
        number: its number in the index; neighbours in a file mostly have neighbouring numbers.
        file: the archive's name, or "" for MEMORY.md.
        start: offset in the file, in bytes.
        length: in bytes.
        digest: of its bytes.
        stamp: its id.
        role: who speaks.
        time: seconds since 1970.
    """

    number: int
    file: str
    start: int
    length: int
    digest: bytes
    stamp: str
    role: str
    time: float


PLACES = "SELECT number, file, start, length, digest, stamp, role, time FROM entries WHERE"

Survey = dict[str, tuple[int, int, int]]
"""The files there are, archives first: inode, size, and nanoseconds of the last change."""


def digest(raw: bytes) -> bytes:
    """Return what an entry is recognised by."""
    return blake2b(raw, digest_size=16).digest()


@contextmanager
def opened(path: Path, progress: Callable[[int, int], None]) -> Iterator[sqlite3.Connection]:
    """Open the index of an agent's folder, brought up to date, for the length of a block.

    When it cannot be used or written, an index in memory takes its place.

    Raises:
        StorageError: the memory itself cannot be read.
    """
    with Folder.open(path) as folder:
        try:
            connection = _up_to_date(folder, progress)
        except (AgentMemError, OSError, sqlite3.Error):
            connection = _connected(":memory:")
            _fill(connection, folder, progress)
        with closing(connection):
            yield connection


def discard(path: Path) -> None:
    """Delete the index of an agent's folder, so that the next use makes a new one."""
    with (
        suppress(AgentMemError, OSError),
        Folder.open(path) as folder,
        folder.child(PRIVATE_FOLDER) as private,
    ):
        for name in private.names():
            if name.startswith(INDEX_FILE):
                private.remove(name)


def _up_to_date(folder: Folder, progress: Callable[[int, int], None]) -> sqlite3.Connection:
    with suppress(sqlite3.Error, OSError, _Unusable), _kept(_existing(folder)) as connection:
        if _known(connection) == survey(folder):
            return connection
        raise _Unusable
    with locked(folder, _WAIT, name=LOCK_FILE):
        # A forget may come between reading the files and writing the index: then it is looked at again.
        for _ in range(_TRIES):
            with suppress(_Unusable), _kept(_synchronised(folder, progress)) as connection:
                if _only_grown(_known(connection), survey(folder)):
                    return connection
                raise _Unusable
    raise OSError("the files keep changing")


def _only_grown(known: Survey, present: Survey) -> bool:
    """Whether nothing but appends to MEMORY.md came after the files were read."""
    memory, now = known.pop("", None), present.pop("", None)
    return known == present and (
        memory == now or bool(memory and now and memory[0] == now[0] and memory < now)
    )


def _synchronised(folder: Folder, progress: Callable[[int, int], None]) -> sqlite3.Connection:
    with suppress(sqlite3.Error, OSError, _Unusable), _kept(_existing(folder)) as connection:
        _synchronise(connection, folder)
        return connection
    _build(folder, progress)
    return _existing(folder)


@contextmanager
def _kept(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Close a connection if the block fails."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _existing(folder: Folder) -> sqlite3.Connection:
    """Open the index.

    Raises:
        _Unusable: there is none of this version.
    """
    path = folder.path / PRIVATE_FOLDER / INDEX_FILE
    if not path.is_file() or path.is_symlink() or path.parent.is_symlink():
        raise _Unusable
    with _kept(_connected(f"file:{quote(str(path))}?mode=rw")) as connection:
        if connection.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            raise _Unusable
        return connection


def _connected(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=_WAIT, isolation_level=None, uri=True)
    connection.execute("PRAGMA cache_size = -32768")
    return connection


def _build(folder: Folder, progress: Callable[[int, int], None]) -> None:
    """Put a new index in the place of the old one."""
    with folder.child(PRIVATE_FOLDER, create=True) as private:
        # The name begins like the index's: forgetting deletes an unfinished one as well.
        for name in private.names():
            if name.startswith(f"{INDEX_FILE}-"):
                private.remove(name)
        temporary = f"{INDEX_FILE}-{secrets.token_hex(8)}"
        private.create(temporary, [])
        try:
            path = str(folder.path / PRIVATE_FOLDER / temporary)
            with closing(_connected(f"file:{quote(path)}?mode=rw")) as connection:
                # Nobody else knows this file, and a crash leaves nothing but a file to delete.
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute("PRAGMA synchronous = OFF")
                _fill(connection, folder, progress)
            private.rename(temporary, INDEX_FILE)
        except BaseException:
            with suppress(OSError):
                private.remove(temporary)
            raise


def _fill(connection: sqlite3.Connection, folder: Folder, progress: Callable[[int, int], None]) -> None:
    connection.executescript(_SCHEMA)
    _synchronise(connection, folder, progress)


def survey(folder: Folder) -> Survey:
    """Look at the files there are, archives first, without reading them."""
    found: Survey = {}
    for shelf, name in _files(folder):
        status = shelf.stat(name)
        key = "" if name == MEMORY_FILE else name
        found[key] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def _files(folder: Folder) -> Iterator[tuple[Folder, str]]:
    names = folder.names()
    if ARCHIVE_FOLDER in names:
        with folder.child(ARCHIVE_FOLDER) as shelf:
            for name in shelf.names():
                if name.startswith("history_") and name.endswith(".md"):
                    yield shelf, name
    if MEMORY_FILE in names:
        yield folder, MEMORY_FILE


def _known(connection: sqlite3.Connection) -> Survey:
    rows = connection.execute("SELECT name, inode, size, changed FROM files")
    return {name: (inode, size, changed) for name, inode, size, changed in rows}


def _synchronise(
    connection: sqlite3.Connection,
    folder: Folder,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> None:
    """Take in what is new in the files.

    Raises:
        _Unusable: something is gone; only a new index is free of it.
    """
    known, present = _known(connection), survey(folder)
    changed = [name for name in present if known.get(name) != present[name]]
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not (changed == [""] and _take_appended(connection, folder, known.get(""), present[""])):
            _take_changed(connection, folder, [*changed, *(known.keys() - present.keys())], progress)
        connection.execute("DELETE FROM files")
        rows = [(name, *seen) for name, seen in present.items()]
        connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _take_appended(
    connection: sqlite3.Connection,
    folder: Folder,
    known: tuple[int, int, int] | None,
    present: tuple[int, int, int],
) -> bool:
    """Take in the end of a long MEMORY.md that has only grown; return whether that is all that happened."""
    row = connection.execute(
        "SELECT start, length, digest FROM entries WHERE file = '' ORDER BY start DESC LIMIT 1"
    ).fetchone()
    if row is None or known is None or known[0] != present[0] or not _SMALL < known[1] < present[1]:
        return False
    start, length, expected = row
    with folder.opened(MEMORY_FILE, os.O_RDONLY) as fd:
        tail = read_at(fd, start, present[1] - start)
    entries = parse(tail, start).entries
    if start + length != known[1] or not entries or entries[0].start != start:
        return False
    if digest(entries[0].raw) != expected:
        return False
    for entry in entries[1:]:
        _insert(connection, "", entry, digest(entry.raw))
    return True


def _take_changed(
    connection: sqlite3.Connection, folder: Folder, changed: list[str], progress: Callable[[int, int], None]
) -> None:
    """Compare the changed files with what was indexed of them."""
    gone = {
        row[0]
        for name in changed
        for row in connection.execute("SELECT digest FROM entries WHERE file = ?", (name,))
    }
    done, count = 0, 0
    contents = [
        ("" if name == MEMORY_FILE else name, shelf.read(name))
        for shelf, name in _files(folder)
        if ("" if name == MEMORY_FILE else name) in changed
    ]
    everything = sum(len(content) for _, content in contents)
    # MEMORY.md comes last: what stands there and in an archive is found in MEMORY.md.
    for name, content in contents:
        for entry in parse(content).entries:
            key = digest(entry.raw)
            gone.discard(key)
            moved = connection.execute(
                "UPDATE entries SET file = ?, start = ? WHERE digest = ?", (name, entry.start, key)
            )
            if not moved.rowcount:
                _insert(connection, name, entry, key)
            done, count = done + len(entry.raw), count + 1
            if count % _STEP == 0:
                progress(done, everything)
    progress(everything, everything)
    if gone:
        raise _Unusable


def _insert(connection: sqlite3.Connection, name: str, entry: Entry, key: bytes) -> None:
    said = (key, name, entry.start, len(entry.raw), entry.stamp, entry.role, entry.when.timestamp())
    inserted = connection.execute(
        "INSERT OR IGNORE INTO entries (digest, file, start, length, stamp, role, time)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in said],
    )
    if not inserted.rowcount:
        return
    text = f"{entry.text}\n{entry.aside}" if entry.aside else entry.text
    number = inserted.lastrowid
    heading = broken(f"{entry.role} {entry.note}")
    connection.execute(
        "INSERT INTO words (rowid, text, heading) VALUES (?, ?, ?)", (number, broken(text), heading)
    )
    connection.execute("INSERT INTO parts (rowid, text) VALUES (?, ?)", (number, carried(text)))
