"""What still says the same after a forget."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.entries import Entry
    from agentmem.forgetting.planning import Plan
    from agentmem.memory import Memory

_QUOTE = 12
"""Characters from which a text is looked for in what is left; a shorter one says nothing."""
_QUOTES = 50
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Remains:
    """What still says the same after a forget.

    Attributes:
        entries: entries that quote a forgotten one, by file.
        files: other files of the agent's folder with such a text in them, relative to it.
    """

    entries: tuple[tuple[str, Entry], ...]
    files: tuple[str, ...]


def remains(memory: Memory, decided: Plan) -> Remains:
    """Look for what was forgotten in what is left of the agent's folder.

    Raises:
        MemoryUnreadable: a file cannot be read.
    """
    telling = sorted((text for text in decided.said if len(text) >= _QUOTE), key=len, reverse=True)[:_QUOTES]
    if decided.selection.match:
        telling.append(decided.selection.match)
    sought = [text.encode("utf-8", "surrogateescape") for text in telling]
    quoting = [
        (file, entry) for file in memory.files() for entry in memory.walk(file) if _has_any(entry.raw, sought)
    ]
    files = [name for name, path in _others(memory) if _has_any(_read(path), sought)]
    return Remains(tuple(quoting), tuple(files))


def _has_any(content: bytes, sought: Iterable[bytes]) -> bool:
    return any(text in content for text in sought)


def _others(memory: Memory) -> Iterator[tuple[str, str]]:
    """Yield the files of the agent's folder that `forget` leaves alone; links are not followed."""
    known = {MEMORY_FILE, *(os.path.join(ARCHIVE_FOLDER, each.name) for each in memory.archives())}
    for folder, _, names in os.walk(memory.folder):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, memory.folder)
            if relative not in known and os.path.isfile(path) and not os.path.islink(path):
                yield relative, path


def _read(path: str) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(_LARGEST)
    return b""
