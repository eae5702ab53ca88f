"""Asking the index, and ranking what it finds."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.durable import read_at
from agentmem.entries import parse
from agentmem.errors import AgentMemError
from agentmem.folders import Folder
from agentmem.search.contents import PLACES, Place, digest
from agentmem.search.evidence import gather
from agentmem.search.index import discard, opened
from agentmem.search.query import parse_query
from agentmem.search.skimming import has_nothing
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.search.evidence import Evidence
    from agentmem.search.query import Query

_NEAR = 1 << 14  # bytes read for a neighbour; most fit
_LOOKED_AT = 80  # candidates whose text is read for the last ranking
_CLOSE = 1e-6  # scores that differ by less are alike, and the newer entry wins


class _Moved(Exception):
    """An entry is not where the index says."""


@dataclass(frozen=True)
class Hit:
    """One entry that was found.

    Attributes:
        entry: the entry.
        source: the archive it is in, or "" for MEMORY.md.
        score: how well it fits; comparable within one search only.
        before: the entry above it in the same file.
        after: the entry below it.
    """

    entry: Entry
    source: str
    score: float
    before: Entry | None = None
    after: Entry | None = None


class Search:
    """Everything one agent's folder holds, ready to be asked.

    Attributes:
        folder: the agent's folder.
    """

    def __init__(self, folder: Path, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Describe a folder; nothing is read yet.

        Args:
            folder: the agent's folder.
            progress: told how many bytes of how many are in the index, while one is made.
        """
        self.folder = folder
        self._progress = progress

    def find(
        self,
        query: str | Sequence[str],
        *,
        limit: int = 10,
        wanted: Callable[[Entry], bool] = lambda _entry: True,
    ) -> list[Hit]:
        """Return what fits a query best, best first.

        Args:
            query: words, "phrases" and prefixes*, in one line or as a shell's arguments.
            limit: hits at most.
            wanted: what else must hold for an entry.

        Raises:
            StorageError: the memory cannot be read.
        """
        asked = parse_query(query)
        if not asked.terms or limit < 1 or not self.folder.exists():
            return []
        if has_nothing(self.folder, asked):
            return []
        try:
            return self._found(asked, limit, wanted, strict=True)
        # Damaged somewhere in the middle, or a file was edited in a way that its end does not show.
        except (sqlite3.DatabaseError, _Moved):
            discard(self.folder)
            return self._found(asked, limit, wanted, strict=False)

    def _found(self, query: Query, limit: int, wanted: Callable[[Entry], bool], *, strict: bool) -> list[Hit]:
        with opened(self.folder, self._progress) as connection, Folder.open(self.folder) as folder:
            evidence = gather(connection, query)
            with closing(_Files(connection, folder, strict=strict)) as files:
                best = list(_unique(_looked_at(files, query, evidence, wanted, limit), limit))
                return [files.with_neighbours(hit, place) for hit, place in best]


class _Files:
    """The entries themselves, read from where the index says they are."""

    def __init__(self, connection: sqlite3.Connection, folder: Folder, *, strict: bool) -> None:
        self._connection = connection
        self._folder = folder
        self._strict = strict
        self._open: dict[str, int] = {}

    def place(self, number: int) -> Place | None:
        """Return where an entry stands."""
        row = self._connection.execute(f"{PLACES} number = ?", (number,)).fetchone()
        return Place(*row) if row else None

    def read(self, place: Place) -> Entry | None:
        """Return an entry; None when something else stands there by now.

        Raises:
            _Moved: the same, when that must not be.
        """
        with suppress(OSError, AgentMemError):
            raw = read_at(self._opened(place.file), place.start, place.length)
            if digest(raw) == place.digest:
                return parse(raw, place.start).entries[0]
        if self._strict:
            raise _Moved
        return None

    def _opened(self, file: str) -> int:
        """Return a file's descriptor; it stays open until the search ends."""
        if file not in self._open:
            with ExitStack() as stack:
                folder = stack.enter_context(self._folder.child(ARCHIVE_FOLDER)) if file else self._folder
                self._open[file] = folder.open_file(file or MEMORY_FILE, os.O_RDONLY)
        return self._open[file]

    def close(self) -> None:
        """Let go of the files."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def with_neighbours(self, hit: Hit, place: Place) -> Hit:
        """Return a hit with the entries above and below it in its file, wherever else those stand."""
        with suppress(OSError, AgentMemError):
            fd = self._opened(place.file)
            above, below = _above(fd, place.start), _below(fd, place.start + place.length)
            return Hit(hit.entry, hit.source, hit.score, above, below)
        return hit


def _above(fd: int, end: int) -> Entry | None:
    """Return the entry that ends at an offset."""
    length = _NEAR
    while True:
        start = max(0, end - length)
        content = read_at(fd, start, end - start)
        if start:  # what begins in the middle of a line may only look like a heading
            skipped = content.find(b"\n") + 1 or len(content)
            content, start = content[skipped:], start + skipped
        entries = parse(content, start).entries
        if entries or length >= end:
            return entries[-1] if entries else None
        length *= 4


def _below(fd: int, start: int) -> Entry | None:
    """Return the entry that begins at an offset."""
    length = _NEAR
    while True:
        content = read_at(fd, start, length)
        entries = parse(content, start).entries
        if len(entries) > 1 or len(content) < length:
            return entries[0] if entries else None
        length *= 4


def _looked_at(
    files: _Files,
    query: Query,
    evidence: Evidence,
    wanted: Callable[[Entry], bool],
    limit: int,
) -> Iterator[tuple[Hit, Place]]:
    """Read the candidates and rank them once more by what only their text shows."""
    waiting: list[tuple[Hit, Place]] = []
    for count, (number, score) in enumerate(evidence.ranked()):
        place = files.place(number)
        entry = files.read(place) if place else None
        if place is None or entry is None or not wanted(entry):
            continue
        factor = evidence.factor(query, entry)
        if factor:
            waiting.append((Hit(entry, place.file, score * factor), place))
        if count >= _LOOKED_AT and len(waiting) >= limit:
            break
    yield from sorted(
        waiting, key=lambda each: (-round(each[0].score / _CLOSE), -each[1].time, -each[1].number)
    )


def _unique(hits: Iterator[tuple[Hit, Place]], limit: int) -> Iterator[tuple[Hit, Place]]:
    """Leave out versions of an entry that stand in other files, and stop at the limit."""
    seen: dict[tuple[str, str], str] = {}
    count = 0
    for hit, place in hits:
        if count < limit and seen.setdefault((place.role, place.stamp), place.file) == place.file:
            count += 1
            yield hit, place
