"""What the index says for and against each entry."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from agentmem.search.parts import with_part

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from agentmem.entries import Entry
    from agentmem.search.query import Query, Term

_MOST_MATCHES = 12_000  # entries weighed in one search, the newest; more would be neither quick nor telling
_MOST_EXACT = 2500  # matches of one term that are weighed one by one; of more, each weighs the same
_MOST_RANKED = 400  # of them, those whose neighbours are looked at too
_COMMON = 0.2  # share of all entries beyond which a word tells nothing beside rarer ones
_PART_WEIGHT = 8.0  # what a part of a word weighs, about twice, when no whole word is found
_FEW = 50  # entries below which no word is too common
_NEIGHBOUR = 0.4  # what evidence next door counts
_COVERAGE = 0.6  # share of the score that depends on how much of the query there is
_PAIR = 0.25  # gain for each two words that stand together as in the query
_LITERAL = 0.15  # gain for each term that is there letter by letter
_SUMMARY = 0.6  # what a summary counts beside the words it was made from
_NOT_LITERAL = 0.2  # what is left of the score where an identifier is not there as it was typed
_LEAST_WEIGHT = 0.01
_MOST_PARTS = 120  # entries looked at for a part of a word


@dataclass
class Evidence:
    """What speaks for the entries, by their number."""

    by_term: dict[Term, dict[int, float]] = field(default_factory=dict)

    def ranked(self) -> Iterator[tuple[int, float]]:
        """Yield the entries with their scores, best first, the newer first among equals."""
        required = [set(found) for term, found in self.by_term.items() if term.required]
        alone: dict[int, float] = defaultdict(float)
        for found in self.by_term.values():
            for number, weight in found.items():
                alone[number] += weight
        if required:
            wanted = set.intersection(*required)
            alone = defaultdict(float, {number: alone[number] for number in wanted})
        likely = heapq.nlargest(_MOST_RANKED, ((weight, number) for number, weight in alone.items()))
        best = sorted(((self._score(number), number) for _, number in likely), reverse=True)
        yield from ((number, score) for score, number in best)
        # Only a search with further conditions gets here.
        for _, number in likely:
            del alone[number]
        yield from sorted(alone.items(), key=lambda each: (-each[1], -each[0]))

    def _score(self, number: int) -> float:
        """Weigh the terms an entry has, and those that only its neighbours have."""
        weights = []
        for found in self.by_term.values():
            near = _NEIGHBOUR * max(found.get(number - 1, 0.0), found.get(number + 1, 0.0))
            weights.append(max(found.get(number, 0.0), near))
        # Rare terms weigh most, so that "which" and "about" are no loss.
        covered = sum(most for most, weight in zip(self._most, weights, strict=True) if weight)
        return sum(weights) * (1 - _COVERAGE + _COVERAGE * covered / self._whole)

    @cached_property
    def _most(self) -> list[float]:
        return [max(found.values(), default=0.0) for found in self.by_term.values()]

    @cached_property
    def _whole(self) -> float:
        return sum(self._most) or 1.0

    def factor(self, query: Query, entry: Entry) -> float:
        """Return what the letters themselves say; 0 when an entry was found by mistake."""
        text = f"{entry.role} {entry.note}\n{entry.content}".casefold()
        literal = {term: term.text.casefold() in text for term in query.terms}
        if not any(literal.values()) and not any(term.match for term in query.terms):
            return 0.0
        top = max(self._most, default=0.0) or 1.0
        weight = dict(zip(self.by_term, (most / top for most in self._most), strict=True))
        known = self._whole / top
        factor = (
            1.0 + _LITERAL * sum(weight.get(term, 0.0) for term, found in literal.items() if found) / known
        )
        for one, two in pairwise(query.terms):
            # Two words that tell little tell as little together.
            if one in weight and two in weight and f"{one.text} {two.text}".casefold() in text:
                factor += _PAIR * min(weight[one], weight[two])
        # C++ is not C: where a term has punctuation, an entry that lacks it is hardly a hit.
        symbolic = [found for term, found in literal.items() if term.symbolic]
        if symbolic and not any(symbolic):
            factor *= _NOT_LITERAL
        return factor * (_SUMMARY if entry.is_summary else 1.0)


def gather(connection: sqlite3.Connection, query: Query) -> Evidence:
    """Ask the index for every term."""
    everything = connection.execute("SELECT coalesce(max(number), 0) FROM entries").fetchone()[0]
    enough = max(_FEW, int(_COMMON * everything))
    counts = {term: _count(connection, term, enough) for term in query.terms}
    rare = min((count for count in counts.values() if count), default=0)
    asked = [
        (term, count) for term, count in counts.items() if count <= max(rare, enough - 1) or term.required
    ]
    evidence = Evidence()
    budget = _MOST_MATCHES
    for position, (term, count) in enumerate(sorted(asked, key=lambda each: each[1])):
        share = budget // (len(asked) - position)
        found = _by_words(connection, term, count, share) if count else {}
        if count > _MOST_EXACT:
            found = dict.fromkeys(found, math.log1p(everything / count))
        budget -= len(found)
        # Parts of words only where whole words find nothing, or where the punctuation matters.
        if not found or term.symbolic:
            weight = max(found.values(), default=_PART_WEIGHT)
            for number in with_part(connection, term.text, _MOST_PARTS):
                found.setdefault(number, weight / 2)
        evidence.by_term[term] = found
    return evidence


def _count(connection: sqlite3.Connection, term: Term, enough: int) -> int:
    """Return how many entries have a term, counting no further than needed."""
    if not term.match:
        return 0
    counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(connection.execute(counted, (term.match, enough)).fetchone()[0])


def _by_words(connection: sqlite3.Connection, term: Term, count: int, most: int) -> dict[int, float]:
    """Return what a term weighs in each entry, the newest `most`; with many, only which entries have it."""
    if count > _MOST_EXACT:
        newest = "SELECT rowid, 0.0 FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?"
        return dict(connection.execute(newest, (term.match, most)))
    # bm25 is negative, the better the lower; a word in more than half of the entries weighs next to nothing.
    rows = connection.execute(
        "SELECT rowid, -bm25(words, 1.0, 0.7, 0.0) FROM words WHERE words MATCH ?", (term.match,)
    )
    return {number: max(weight, _LEAST_WEIGHT) for number, weight in rows}
