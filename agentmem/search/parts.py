"""Parts of words, and words with punctuation: every distinct one is indexed once, not wherever it stands.

A part of a word leads to the whole words that have it, these to the entries. Words of letters alone are found
again as words; `C++`, paths and versions would be confused with their letters there, so that each of them has a
number of its own in the entries' index.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from agentmem.search.words import TRIGRAM, bare, broken, phrase, trigrams

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_PLAIN = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_LONGEST = 200  # characters of a word that are looked at
_MOST_WORDS = 64  # words with a part in them that are looked for


class Parts:
    """Takes texts apart into their words; one for each time the index is brought in line with the files."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._numbers: dict[str, str] = {}
        self._fresh: dict[str, None] = {}

    def take(self, text: str) -> str:
        """Take in a text; return the numbers of its words with punctuation."""
        tokens = set(broken(text).lower().split())
        fresh = tokens - self._seen
        self._seen |= fresh
        for token in fresh:
            word = bare(token)[:_LONGEST]
            if len(word) > 1:
                self._fresh[word] = None
                if not _PLAIN.fullmatch(word):
                    self._numbers[token] = _number(word)
        return " ".join({self._numbers[token] for token in tokens & self._numbers.keys()})

    def write(self, connection: sqlite3.Connection) -> None:
        """Put the words taken in since the last time into the index."""
        last = connection.execute("SELECT coalesce(max(number), 0) FROM tokens").fetchone()[0]
        rows = ((word,) for word in self._fresh)
        connection.executemany("INSERT OR IGNORE INTO tokens (text) VALUES (?)", rows)
        connection.execute(
            "INSERT INTO parts (rowid, text) SELECT number, text FROM tokens WHERE number > ?", (last,)
        )
        self._fresh.clear()


def _number(word: str) -> str:
    """Return a number that stands for a word; digits are what no stemming changes."""
    return str(int.from_bytes(blake2b(word.encode(), digest_size=7).digest(), "big"))


def with_part(connection: sqlite3.Connection, part: str, most: int) -> list[int]:
    """Return the newest entries that have a word with this part in it."""
    words = list(_words(connection, part.lower()))[:_MOST_WORDS]
    if not words:
        return []
    match = " OR ".join(
        phrase(word) if _PLAIN.fullmatch(word) else f'numbers : "{_number(word)}"' for word in words
    )
    newest = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?"
    return [number for (number,) in connection.execute(newest, (match, most))]


def _words(connection: sqlite3.Connection, part: str) -> Iterator[str]:
    """Yield the distinct words that have a part; one of two characters has to be the whole word."""
    if len(part) < TRIGRAM:
        yield from (text for (text,) in connection.execute("SELECT text FROM tokens WHERE text = ?", (part,)))
        return
    rows = connection.execute(
        "SELECT text FROM tokens WHERE number IN (SELECT rowid FROM parts WHERE parts MATCH ?)",
        (trigrams(part),),
    )
    # The whole word first.
    yield from sorted((text for (text,) in rows if part in text), key=len)
