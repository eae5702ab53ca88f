"""Telling from its bytes alone that a small memory cannot have what is looked for.

Among thousands of agents most have nothing to say to a query, and reading a small file takes a tenth of what
opening its index does. It is never said of a memory that has a hit; the index decides about the others.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING

from agentmem.durable import read_at
from agentmem.errors import AgentMemError
from agentmem.folders import Folder
from agentmem.search.words import TRIGRAM, WORDS, broken
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from agentmem.search.query import Query, Term

_SMALL = 1 << 16  # bytes
_PUNCTUATION = re.compile(rb"\xe2\x80[\x80-\xbf]")  # dashes, quotation marks: no letters


def has_nothing(path: Path, query: Query) -> bool:
    """Whether an agent's folder surely has no hit for a query."""
    return _seen(path, query)[0] == 0


def promising(folders: Iterable[Path], query: Query, most: int) -> tuple[list[Path], list[Path]]:
    """Return the agents' folders worth asking, and those that are left out though they may have a hit.

    Args:
        folders: of all agents.
        query: what is looked for.
        most: small memories at most: those that may have most of the terms, the newest first among equals.
            The others are all asked.
    """
    seen = {path: _seen(path, query) for path in folders}
    large = [path for path, (terms, _) in seen.items() if terms is None]
    small = [path for path, (terms, _) in seen.items() if terms]
    small.sort(key=seen.__getitem__, reverse=True)
    return large + small[:most], small[most:]


def _seen(path: Path, query: Query) -> tuple[int | None, int]:
    """Return how many terms a folder may have, or None when it is not small, and when it was last changed."""
    try:
        with Folder.open(path) as folder:
            if ARCHIVE_FOLDER in folder.names():
                return None, 0
            with folder.opened(MEMORY_FILE, os.O_RDONLY) as fd:
                changed = os.fstat(fd).st_mtime_ns
                content = read_at(fd, 0, _SMALL + 1)
    except (OSError, AgentMemError):
        return None, 0
    if len(content) > _SMALL:
        return None, changed
    # Other letters than ASCII's may stand for these: é is found by e.
    if not content.isascii() and not (content := _PUNCTUATION.sub(b"-", content)).isascii():
        return len(query.terms), changed
    content = content.lower()
    return sum(may_have(content) for may_have in _conditions(query)), changed


@lru_cache(maxsize=1)
def _conditions(query: Query) -> list[Callable[[bytes], bool]]:
    return [_condition(term) for term in query.terms]


def _condition(term: Term) -> Callable[[bytes], bool]:
    """Return what bytes in lower case must fulfil to have a term."""
    if not term.text.isascii():
        return lambda _content: True
    stems = [certain(token) for token in tokens(term.text)] if term.match else None
    lower = term.text.lower().encode()
    parts = [lower[start : start + TRIGRAM] for start in range(len(lower) - TRIGRAM + 1)]

    def may_have(content: bytes) -> bool:
        if stems is not None and all(stem in content for stem in stems):
            return True
        return bool(parts) and all(part in content for part in parts)

    return may_have


def tokens(text: str) -> list[str]:
    """Return the words of a text as the index keeps them, stemmed."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(text, tokenize="{WORDS}")')
        connection.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')")
        connection.execute("INSERT INTO words VALUES (?)", (broken(text),))
        return [word for (word,) in connection.execute("SELECT term FROM vocabulary")]


def certain(stem: str) -> bytes:
    """Return how every word with this stem begins.

    Porter's rules cut words short and change no more than the last two letters of what remains, or the
    last one where that is short: possibility becomes possible, happy becomes happi.
    """
    return stem[: -2 if len(stem) > 4 else -1].encode()  # noqa: PLR2004 - see above
