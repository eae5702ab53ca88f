"""What is shown of a hit: to a person with the matches marked, to a model as a labelled record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from agentmem.search.words import BREAK, WORDS, broken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem.entries import Entry
    from agentmem.search.finding import Hit
    from agentmem.search.query import Query

_OPEN, _CLOSE = "\ufdd1", "\ufdd2"  # noncharacters: no text has them by right
_ELLIPSIS = " … "
_LEAST_EXCERPT = 80


def marks(query: Query, text: str) -> list[tuple[int, int]]:
    """Return where the query's terms are in a text, as `(start, end)`, in order and apart from each other.

    Words are matched as the index matches them: `compacting` marks `compaction`.
    """
    clean = text.replace(_OPEN, " ").replace(_CLOSE, " ").replace(BREAK, " ")
    found = _literal_marks(query, clean)
    match = " OR ".join(term.match for term in query.terms if term.match)
    if match:
        found += _word_marks(match, clean)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _literal_marks(query: Query, text: str) -> list[tuple[int, int]]:
    # lower, unlike casefold, mostly keeps the number of characters; where it does not, marks are left out.
    low = text.lower()
    if len(low) != len(text):
        return []
    found = []
    for term in query.terms:
        needle = term.text.lower()
        # Within plain words only whole words count, which the index finds; this is for the rest.
        if not needle or (term.match and not term.symbolic):
            continue
        start = low.find(needle)
        while start >= 0:
            found.append((start, start + len(needle)))
            start = low.find(needle, start + len(needle))
    return found


def _word_marks(match: str, text: str) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(text, tokenize="{WORDS}")')
        connection.execute("INSERT INTO words VALUES (?)", (broken(text),))
        row = connection.execute(
            "SELECT highlight(words, 0, ?, ?) FROM words WHERE words MATCH ?", (_OPEN, _CLOSE, match)
        ).fetchone()
    found: list[tuple[int, int]] = []
    position = opened = 0
    for character in row[0] if row else "":
        if character == _OPEN:
            opened = position
        elif character == _CLOSE:
            found.append((opened, position))
        elif character != BREAK:
            position += 1
    return found


def excerpt(query: Query, text: str, length: int) -> str:
    """Return a text, or of a long one the part where most of the query's terms are, cut at words.

    Args:
        query: what was looked for.
        text: the text.
        length: characters, at most (with the dots that say where something is left out).
    """
    if len(text) <= length:
        return text
    places = [start for start, _ in marks(query, text)]
    room = max(length - 2 * len(_ELLIPSIS), 1)
    best = max(places, key=lambda place: sum(place <= other < place + room for other in places), default=0)
    start = max(0, min(best - room // 4, len(text) - room))
    cut = text[start : start + room]
    if start:
        cut = _ELLIPSIS + cut[cut.find(" ") + 1 if 0 <= cut.find(" ") < room // 8 else 0 :]
    if start + room < len(text):
        end = cut.rfind(" ")
        cut = cut[: end if end > len(cut) - room // 8 else len(cut)] + _ELLIPSIS
    return cut.strip()


def record(
    query: Query, hits: Sequence[Hit], room: int, measure: Callable[[str], int] = lambda text: len(text) // 4
) -> str:
    """Return hits as a model is given them: whole where there is room, with who said it, when, and where it is.

    Args:
        query: what was looked for.
        hits: best first.
        room: tokens, at most.
        measure: counts the tokens of a text.
    """
    blocks: list[str] = []
    left = room
    shown: set[tuple[str, str]] = set()
    for position, hit in enumerate(hits):
        # The first hits get the most: half of what is left, each.
        share = max(left // (2 if position < len(hits) - 1 else 1), 1)
        block = _block(query, hit, share, measure, shown)
        size = measure(block) + 1
        if not block or size > left:
            continue
        blocks.append(block)
        left -= size
    return "\n\n".join(blocks)


def _block(
    query: Query, hit: Hit, room: int, measure: Callable[[str], int], shown: set[tuple[str, str]]
) -> str:
    if (hit.entry.role, hit.entry.stamp) in shown:
        return ""
    main = _line(query, hit.entry, hit.source, room, measure)
    lines = [main]
    for neighbour, place in ((hit.before, 0), (hit.after, len(lines))):
        if neighbour is None or (neighbour.role, neighbour.stamp) in shown:
            continue
        rest = room - sum(measure(line) + 1 for line in lines)
        line = _line(query, neighbour, hit.source, min(rest, room // 3), measure) if rest > 0 else ""
        if line:
            lines.insert(place if place == 0 else len(lines), line)
            shown.add((neighbour.role, neighbour.stamp))
    if main:
        shown.add((hit.entry.role, hit.entry.stamp))
    return "\n".join(line for line in lines if line) if main else ""


def _line(query: Query, entry: Entry, source: str, room: int, measure: Callable[[str], int]) -> str:
    """Return one entry within a number of tokens, or "" when not even a little of it fits."""
    heading = f"[{entry.stamp}] {entry.role}{f' (archive/{source})' if source else ''}: "
    text = entry.text.strip()
    length = len(text)
    while measure(heading + text) > room:
        length = min(length, len(text)) * 3 // 4
        if length < _LEAST_EXCERPT:
            return ""
        text = excerpt(query, entry.text.strip(), length)
    return heading + text
