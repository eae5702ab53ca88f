"""What the archives hold, what each compaction gained, and whether they are whole."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.durable import ARCHIVE_MODE
from agentmem.entries import header_field, parse
from agentmem.memory.archives import is_archive
from agentmem.memory.rewriting import SUMMARY_NOTE
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.entries import Document, Entry
    from agentmem.memory.archives import Archive
    from agentmem.memory.store import Memory


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


def chapters(memory: Memory) -> list[Chapter]:
    """Return an agent's archives with what they hold, oldest first.

    Raises:
        MemoryUnreadable: a file cannot be read.
    """
    archives = memory.archives()
    found: list[Chapter] = []
    later = memory.read().entries if memory.exists() else ()
    summaries = {entry.note: later for entry in later if entry.note}
    # Backwards, so that what followed an archive has been read when its turn comes.
    for archive in reversed(archives):
        entries = parse(memory.read_archive(archive.name)[1]).entries
        note = f"{SUMMARY_NOTE}{archive.name}"
        after = None
        if note in summaries:
            known = {(entry.role, entry.stamp) for entry in entries}
            left = [e for e in summaries[note] if e.note == note or (e.role, e.stamp) in known]
            after = sum(len(entry.raw) for entry in left)
        summaries.update({entry.note: entries for entry in entries if entry.note})
        before = sum(len(entry.raw) for entry in entries)
        first, last = (entries[0], entries[-1]) if entries else (None, None)
        found.append(Chapter(archive, len(entries), first, last, before, after))
    return found[::-1]


def verify(memory: Memory) -> dict[str, list[str]]:
    """Return what is wrong with each archive, and with MEMORY.md where it refers to them; [] is nothing.

    Raises:
        MemoryUnreadable: the archive folder cannot be listed.
    """
    names = {archive.name for archive in memory.archives()}
    found: dict[str, list[str]] = {}
    texts: dict[tuple[str, str], tuple[str, str]] = {}
    for archive in memory.archives():
        status = archive.path.lstat()
        if not stat.S_ISREG(status.st_mode):
            found[archive.name] = ["it is not a regular file"]
            continue
        document = parse(memory.read_archive(archive.name)[1])
        found[archive.name] = [
            *_mode(status.st_mode),
            *_content(document),
            *_references(document, names),
            *_repeated(document, archive.name, texts),
        ]
    if memory.exists():
        document = memory.read()
        found[MEMORY_FILE] = [*_references(document, names), *_repeated(document, MEMORY_FILE, texts)]
    return found


def _mode(mode: int) -> Iterator[str]:
    actual = stat.S_IMODE(mode)
    if actual & ~ARCHIVE_MODE:
        yield f"its mode is {actual:04o}, not {ARCHIVE_MODE:04o}"


def _content(document: Document) -> Iterator[str]:
    if not document.entries:
        yield "it has no entries"
    open_ended = [number for number, entry in enumerate(document.entries, 1) if not entry.terminated]
    # The last one may have been cut off by the crash that the compaction came after; it is kept as it was.
    if any(number < len(document.entries) for number in open_ended):
        yield f"entry #{open_ended[0]} is not closed, or was edited"
    elif open_ended:
        yield f"its last entry, #{open_ended[0]}, is not closed"
    raw = document.raw
    if b"\x00" in raw:
        yield "it has NUL bytes"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"it is not UTF-8 at byte {error.start}"


def _references(document: Document, names: set[str]) -> Iterator[str]:
    continues = header_field(document.header, "Continues").removeprefix(f"{ARCHIVE_FOLDER}/")
    summarised = [
        entry.note.removeprefix(SUMMARY_NOTE)
        for entry in document.entries
        if entry.note.startswith(SUMMARY_NOTE)
    ]
    for name in dict.fromkeys([continues, *summarised]):
        if name and is_archive(name) and name not in names:
            yield f"it continues {name}, which is not there"


def _repeated(document: Document, file: str, texts: dict[tuple[str, str], tuple[str, str]]) -> Iterator[str]:
    """Find entries that another file has with another text: one of the two was edited."""
    own: set[tuple[str, str]] = set()
    for entry in document.entries:
        key = (entry.role, entry.stamp)
        text, where = texts.setdefault(key, (entry.text, file))
        if text != entry.text and where != file and key not in own:
            yield f"entry {entry.stamp} differs from the one in {where}"
        own.add(key)
