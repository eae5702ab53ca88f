"""What the archives hold, and what each compaction gained."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem.memory.rewriting import SUMMARY_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem.entries import Entry
    from agentmem.memory.archives import Archive
    from agentmem.memory.reader import MemoryReader


@dataclass(frozen=True)
class Chapter:
    """One archive and the compaction that made it.

    Attributes:
        archive: the archive.
        entries: how many it has.
        first: its first entry, or None when it has none.
        last: its last entry.
        before: bytes of its entries.
        after: bytes of what the compaction left of them in MEMORY.md, the summary included; None when
            the archive was made otherwise, or its summary is gone.
    """

    archive: Archive
    entries: int
    first: Entry | None
    last: Entry | None
    before: int
    after: int | None


def chapters(memory: MemoryReader) -> list[Chapter]:
    """Return an agent's archives with what they hold, oldest first.

    Raises:
        MemoryUnreadable: a file cannot be read.
    """
    archives = memory.archives()
    outlines = [_outline(memory.walk(archive.name)) for archive in archives]
    later = [*outlines[1:], _outline(memory.walk() if archives else ())]
    return [
        Chapter(
            archive,
            len(outline.sizes),
            outline.first,
            outline.last,
            sum(outline.sizes),
            _left(outline, f"{SUMMARY_NOTE}{archive.name}", later[number:]),
        )
        for number, (archive, outline) in enumerate(zip(archives, outlines, strict=True))
    ]


@dataclass
class _Outline:
    """What of a file is kept while the others are read: 16 bytes for an entry."""

    keys: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    notes: dict[str, list[int]] = field(default_factory=dict)
    first: Entry | None = None
    last: Entry | None = None


def _outline(entries: Iterable[Entry]) -> _Outline:
    found = _Outline()
    for entry in entries:
        if entry.note:
            found.notes.setdefault(entry.note, []).append(len(found.keys))
        found.keys.append(hash((entry.role, entry.stamp)))
        found.sizes.append(len(entry.raw))
        found.first = found.first or entry
        found.last = entry
    return found


def _left(archived: _Outline, note: str, later: Iterable[_Outline]) -> int | None:
    """Return the bytes of a summary and of the archived entries that stand beside it, if there is one."""
    beside = next((each for each in later if note in each.notes), None)
    if beside is None:
        return None
    summaries, known = set(beside.notes[note]), set(archived.keys)
    return sum(
        size
        for number, (key, size) in enumerate(zip(beside.keys, beside.sizes, strict=True))
        if number in summaries or key in known
    )
