"""Asking the index, and ranking what it finds."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem.durable import Folder, read_at, reading
from agentmem.entries import parse
from agentmem.errors import AgentMemError
from agentmem.search.contents import PLACES, Place, digest
from agentmem.search.index import discard, opened
from agentmem.search.query import parse_query
from agentmem.search.words import trigrams
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.search.query import Query, Term

_MOST_MATCHES = 12_000  # entries weighed in one search, the newest; more would be neither quick nor telling
_MOST_RANKED = 500  # of them, those whose neighbours are looked at too
_COMMON = 0.2  # share of all entries beyond which a word tells nothing beside rarer ones
_PART_WEIGHT = 8.0  # what a part of a word weighs, about twice, when no whole word is found
_FEW = 50  # entries below which no word is too common
_LOOKED_AT = 120  # candidates whose text is read for the last ranking
_NEIGHBOUR = 0.4  # what evidence next door counts
_COVERAGE = 0.6  # share of the score that depends on how many of the terms there are
_PAIR = 0.25  # gain for each two words that stand together as in the query
_LITERAL = 0.15  # gain for each term that is there letter by letter
_SUMMARY = 0.6  # what a summary counts beside the words it was made from
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


@dataclass
class _Evidence:
    """What speaks for the entries, by their number."""

    by_term: dict[Term, dict[int, float]] = field(default_factory=dict)

    def ranked(self) -> list[tuple[int, float]]:
        """Return the entries with their scores, best first, the newer first among equals."""
        required = [set(found) for term, found in self.by_term.items() if term.required]
        alone: dict[int, float] = defaultdict(float)
        for found in self.by_term.values():
            for number, weight in found.items():
                alone[number] += weight
        if required:
            wanted = set.intersection(*required)
            alone = defaultdict(float, {number: alone[number] for number in wanted})
        order = sorted(alone.items(), key=lambda each: (-each[1], -each[0]))
        best = [(number, self._score(number)) for number, _ in order[:_MOST_RANKED]]
        return sorted(best, key=lambda each: (-each[1], -each[0])) + order[_MOST_RANKED:]

    def _score(self, number: int) -> float:
        """Weigh the terms an entry has, and those that only its neighbours have."""
        weights = []
        for found in self.by_term.values():
            near = _NEIGHBOUR * max(found.get(number - 1, 0.0), found.get(number + 1, 0.0))
            weights.append(max(found.get(number, 0.0), near))
        covered = sum(weight > 0 for weight in weights) / len(weights)
        return sum(weights) * (1 - _COVERAGE + _COVERAGE * covered)


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
        try:
            return self._found(asked, limit, wanted, strict=True)
        # Damaged somewhere in the middle, or a file was edited in a way that its end does not show.
        except (sqlite3.DatabaseError, _Moved):
            discard(self.folder)
            return self._found(asked, limit, wanted, strict=False)

    def _found(self, query: Query, limit: int, wanted: Callable[[Entry], bool], *, strict: bool) -> list[Hit]:
        with opened(self.folder, self._progress) as connection, Folder.open(self.folder) as folder:
            ranked = _evidence(connection, query).ranked()
            files = _Files(connection, folder, strict=strict)
            best = list(_unique(_looked_at(files, query, ranked, wanted, limit), limit))
            return [files.with_neighbours(hit, place) for hit, place in best]


def _evidence(connection: sqlite3.Connection, query: Query) -> _Evidence:
    """Ask the index for every term."""
    everything = connection.execute("SELECT count(*) FROM entries").fetchone()[0]
    enough = max(_FEW, int(_COMMON * everything))
    counts = {term: _count(connection, term, enough) for term in query.terms}
    rare = min((count for count in counts.values() if count), default=0)
    asked = [
        (term, count) for term, count in counts.items() if count <= max(rare, enough - 1) or term.required
    ]
    evidence = _Evidence()
    budget = _MOST_MATCHES
    for position, (term, count) in enumerate(sorted(asked, key=lambda each: each[1])):
        share = budget // (len(asked) - position)
        found = _by_words(connection, term, share) if count else {}
        budget -= len(found)
        # Parts of words only where whole words find nothing, or where the punctuation matters.
        if not found or term.symbolic:
            weight = max(found.values(), default=_PART_WEIGHT)
            for number in _by_parts(connection, term):
                found.setdefault(number, weight / 2)
        evidence.by_term[term] = found
    return evidence


def _count(connection: sqlite3.Connection, term: Term, enough: int) -> int:
    """Return how many entries have a term, counting no further than needed."""
    if not term.match:
        return 0
    counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(connection.execute(counted, (term.match, enough)).fetchone()[0])


def _by_words(connection: sqlite3.Connection, term: Term, most: int) -> dict[int, float]:
    oldest = connection.execute(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (term.match, most),
    ).fetchone()
    # bm25 is negative, the better the lower; a word in more than half of the entries weighs next to nothing.
    rows = connection.execute(
        "SELECT rowid, -bm25(words, 1.0, 0.7) FROM words WHERE words MATCH ? AND rowid > ?",
        (term.match, oldest[0] if oldest else 0),
    )
    return {number: max(weight, 0.01) for number, weight in rows}


def _by_parts(connection: sqlite3.Connection, term: Term) -> list[int]:
    """Return entries that have every three neighbouring characters of a term, the newest."""
    match = trigrams(term.text)
    if not match:
        return []
    rows = connection.execute(
        "SELECT rowid FROM parts WHERE parts MATCH ? ORDER BY rowid DESC LIMIT ?", (match, _LOOKED_AT)
    )
    return [number for (number,) in rows]


class _Files:
    """The entries themselves, read from where the index says they are."""

    def __init__(self, connection: sqlite3.Connection, folder: Folder, *, strict: bool) -> None:
        self._connection = connection
        self._folder = folder
        self._strict = strict

    def place(self, number: int) -> Place | None:
        """Return where an entry stands."""
        row = self._connection.execute(f"{PLACES} number = ?", (number,)).fetchone()
        return Place(*row) if row else None

    def read(self, place: Place) -> Entry | None:
        """Return an entry; None when something else stands there by now.

        Raises:
            _Moved: the same, when that must not be.
        """
        shelf, name = (ARCHIVE_FOLDER, place.file) if place.file else ("", MEMORY_FILE)
        with suppress(OSError, AgentMemError), reading(self._folder.path / shelf / name):
            folder = self._folder.child(shelf) if shelf else self._folder
            try:
                with folder.opened(name, os.O_RDONLY) as fd:
                    raw = read_at(fd, place.start, place.length)
            finally:
                if shelf:
                    folder.close()
            if digest(raw) == place.digest:
                return parse(raw, place.start).entries[0]
        if self._strict:
            raise _Moved
        return None

    def with_neighbours(self, hit: Hit, place: Place) -> Hit:
        """Return a hit with the entries above and below it."""
        above = self._next_to(place, "start < ? ORDER BY start DESC")
        below = self._next_to(place, "start > ? ORDER BY start")
        return Hit(hit.entry, hit.source, hit.score, above, below)

    def _next_to(self, place: Place, condition: str) -> Entry | None:
        row = self._connection.execute(
            f"{PLACES} file = ? AND {condition} LIMIT 1", (place.file, place.start)
        ).fetchone()
        return self.read(Place(*row)) if row else None


def _looked_at(
    files: _Files,
    query: Query,
    ranked: list[tuple[int, float]],
    wanted: Callable[[Entry], bool],
    limit: int,
) -> Iterator[tuple[Hit, Place]]:
    """Read the candidates and rank them once more by what only their text shows."""
    waiting: list[tuple[Hit, Place]] = []
    for count, (number, score) in enumerate(ranked):
        place = files.place(number)
        entry = files.read(place) if place else None
        if place is None or entry is None or not wanted(entry):
            continue
        factor = _factor(query, entry)
        if factor:
            waiting.append((Hit(entry, place.file, score * factor), place))
        if count >= _LOOKED_AT and len(waiting) >= limit:
            break
    yield from sorted(
        waiting, key=lambda each: (-round(each[0].score / _CLOSE), -each[1].time, -each[1].number)
    )


def _factor(query: Query, entry: Entry) -> float:
    """Return what the letters themselves say; 0 when an entry was found by mistake."""
    text = f"{entry.role} {entry.note}\n{entry.text}\n{entry.aside}".casefold()
    literal = [term.text.casefold() in text for term in query.terms]
    if not any(literal) and not any(term.match for term in query.terms):
        return 0.0
    factor = 1.0 + _LITERAL * sum(literal) / len(literal)
    factor += _PAIR * sum(pair.casefold() in text for pair in query.pairs)
    # C++ is not C: where a term has punctuation, an entry that lacks it is hardly a hit.
    symbolic = [found for term, found in zip(query.terms, literal, strict=True) if term.symbolic]
    if symbolic and not any(symbolic):
        factor *= 0.2
    return factor * (_SUMMARY if entry.is_summary else 1.0)


def _unique(hits: Iterator[tuple[Hit, Place]], limit: int) -> Iterator[tuple[Hit, Place]]:
    """Leave out versions of an entry that stand in other files, and stop at the limit."""
    seen: dict[tuple[str, str], str] = {}
    count = 0
    for hit, place in hits:
        if count < limit and seen.setdefault((place.role, place.stamp), place.file) == place.file:
            count += 1
            yield hit, place
