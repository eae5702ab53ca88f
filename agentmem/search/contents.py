"""What is in the index, and how it is brought in line with the files."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from agentmem.durable import read_at
from agentmem.entries import parse, parse_pieces
from agentmem.search.parts import Parts
from agentmem.search.words import TRIGRAMS, WORDS, broken, carried
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE, is_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentmem.entries import Entry
    from agentmem.folders import Folder

VERSION = 2
SCHEMA = f"""
CREATE TABLE files (name TEXT PRIMARY KEY, inode INTEGER, size INTEGER, changed INTEGER);
CREATE TABLE entries (number INTEGER PRIMARY KEY, digest BLOB UNIQUE, file TEXT, start INTEGER, length INTEGER,
                      stamp TEXT, role TEXT, time REAL);
CREATE INDEX places ON entries (file, start);
CREATE VIRTUAL TABLE words USING fts5(text, heading, numbers, content='', tokenize="{WORDS}");
CREATE TABLE tokens (number INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE VIRTUAL TABLE parts USING fts5(text, content='', detail=none, tokenize="{TRIGRAMS}");
PRAGMA user_version = {VERSION};
"""
_SMALL = 4 << 20  # bytes of MEMORY.md that are compared whole with what was indexed
_BATCH = 500  # entries taken in at a time


class Unusable(Exception):
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

Seen = tuple[int, int, int]
"""How a file was: inode, size, and nanoseconds of the last change."""

Survey = dict[str, Seen]
"""The files there are, archives first; MEMORY.md is ""."""


def digest(raw: bytes) -> bytes:
    """Return what an entry is recognised by."""
    return blake2b(raw, digest_size=16).digest()


def survey(folder: Folder) -> Survey:
    """Look at the files there are, archives first, without reading them."""
    found: Survey = {}
    for shelf, name in _files(folder):
        status = shelf.stat(name)
        found[_key(name)] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def known(connection: sqlite3.Connection) -> Survey:
    """Return how the files were when the index was brought in line with them."""
    rows = connection.execute("SELECT name, inode, size, changed FROM files")
    return {name: (inode, size, changed) for name, inode, size, changed in rows}


def only_grown(before: Survey, after: Survey) -> bool:
    """Whether nothing but appends to MEMORY.md came in between."""
    memory, now = before.get(""), after.get("")
    appended = bool(memory and now and memory[0] == now[0] and memory[1] < now[1])
    return {**before, "": now} == {**after, "": now} and (memory == now or appended)


def _key(name: str) -> str:
    return "" if name == MEMORY_FILE else name


def _files(folder: Folder) -> Iterator[tuple[Folder, str]]:
    names = folder.names()
    if ARCHIVE_FOLDER in names:
        with folder.child(ARCHIVE_FOLDER) as shelf:
            for name in shelf.names():
                if is_archive(name):
                    yield shelf, name
    if MEMORY_FILE in names:
        yield folder, MEMORY_FILE


def synchronise(
    connection: sqlite3.Connection,
    folder: Folder,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> None:
    """Take in what is new in the files.

    Raises:
        Unusable: something is gone; only a new index is free of it.
    """
    before, present = known(connection), survey(folder)
    changed = {name for name in present.keys() | before.keys() if before.get(name) != present.get(name)}
    connection.execute("BEGIN IMMEDIATE")
    try:
        appended = changed == {""} and _appended(connection, folder, before.get(""), present.get(""))
        if appended:
            _insert(connection, Parts(), "", appended)
        else:
            _compare(connection, folder, changed, progress)
        connection.execute("DELETE FROM files")
        rows = [(name, *seen) for name, seen in present.items()]
        connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _appended(
    connection: sqlite3.Connection, folder: Folder, before: Seen | None, present: Seen | None
) -> list[tuple[bytes, Entry]]:
    """Return what a long MEMORY.md has grown by, or nothing when that is not all that happened."""
    row = connection.execute(
        "SELECT start, length, digest FROM entries WHERE file = '' ORDER BY start DESC LIMIT 1"
    ).fetchone()
    if row is None or before is None or present is None:
        return []
    start, length, expected = row
    if before[0] != present[0] or not _SMALL < before[1] < present[1] or start + length != before[1]:
        return []
    with folder.opened(MEMORY_FILE, os.O_RDONLY) as fd:
        entries = parse(read_at(fd, start, present[1] - start), start).entries
    if not entries or entries[0].start != start or digest(entries[0].raw) != expected:
        return []
    return [(digest(entry.raw), entry) for entry in entries[1:]]


def _compare(
    connection: sqlite3.Connection, folder: Folder, changed: set[str], progress: Callable[[int, int], None]
) -> None:
    """Compare the changed files with what was indexed of them."""
    places = dict(connection.execute("SELECT digest, file FROM entries"))
    gone = {key for key, file in places.items() if file in changed}
    total = sum(seen[1] for name, seen in survey(folder).items() if name in changed)
    done = 0
    parts = Parts()
    # MEMORY.md comes last: what stands there and in an archive is found in MEMORY.md.
    for shelf, name in _files(folder):
        file = _key(name)
        for entries in _batches(shelf, name) if file in changed else ():
            batch = {digest(entry.raw): entry for entry in entries}
            moved = [(file, entry.start, key) for key, entry in batch.items() if key in places]
            connection.executemany("UPDATE entries SET file = ?, start = ? WHERE digest = ?", moved)
            _insert(
                connection, parts, file, [(key, entry) for key, entry in batch.items() if key not in places]
            )
            places |= dict.fromkeys(batch, file)
            gone.difference_update(batch)
            done += sum(len(entry.raw) for entry in batch.values())
            progress(done, max(done, total))
    if gone:
        raise Unusable


def _batches(shelf: Folder, name: str) -> Iterator[list[Entry]]:
    entries = (entry for document in parse_pieces(shelf.pieces(name)) for entry in document.entries)
    while batch := list(islice(entries, _BATCH)):
        yield batch


def _insert(
    connection: sqlite3.Connection, parts: Parts, file: str, entries: Iterable[tuple[bytes, Entry]]
) -> None:
    """Put entries that are not there yet into every table."""
    last = connection.execute("SELECT coalesce(max(number), 0) FROM entries").fetchone()[0]
    rows, words = [], []
    for number, (key, entry) in enumerate(entries, last + 1):
        text = entry.content
        said = (carried(entry.stamp), carried(entry.role), entry.when.timestamp())
        rows.append((number, key, file, entry.start, len(entry.raw), *said))
        words.append((number, broken(text), broken(f"{entry.role} {entry.note}"), parts.take(text)))
    connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO words (rowid, text, heading, numbers) VALUES (?, ?, ?, ?)", words)
    parts.write(connection)
