"""Rewrites of MEMORY.md and archives: fold into a summary, restore, undo.

Every function runs under the folder's lock. What is archived is archived before MEMORY.md is
replaced: a crash between the two leaves the old entries twice, never nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.entries import (
    Entry,
    closing,
    header_field,
    make_entry,
    make_header,
    parse,
)
from agentmem.errors import MemoryChanged, NotFound
from agentmem.memory.archives import add_archive, list_archives, pick_archive
from agentmem.memory.reading import digest
from agentmem.roles import SYSTEM, marked
from agentmem.stamps import format_stamp
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from agentmem.folders import Folder
    from agentmem.memory.reading import Snapshot

SUMMARY_NOTE = "summary of "


@dataclass(frozen=True)
class Fold:
    """What a compaction wrote.

    Attributes:
        archive: name of the archive that holds MEMORY.md as it was.
        summary: the summary's entry.
        kept: the entries that stayed word for word, and those that arrived meanwhile.
        content: the new MEMORY.md.
    """

    archive: str
    summary: Entry
    kept: tuple[Entry, ...]
    content: bytes


def fold(folder: Folder, snapshot: Snapshot, summary: str, kept: Iterable[Entry], when: datetime) -> Fold:
    """Archive MEMORY.md as it is and replace it by a summary, the kept entries, and what came since.

    Raises:
        MemoryChanged: the snapshot's bytes no longer stand; nothing was written.
        OSError: nothing was replaced.
    """
    content = folder.read(MEMORY_FILE)
    if digest(content[: snapshot.size]) != snapshot.digest:
        raise MemoryChanged(
            f"{folder.path / MEMORY_FILE} was edited while it was being summarised; left as it is"
        )
    archive = add_archive(folder, content, when)
    old = parse(content)
    header = make_header(
        header_field(old.header, "Conversation"), format_stamp(when), f"{ARCHIVE_FOLDER}/{archive}"
    )
    entry = make_entry(SYSTEM, format_stamp(when), marked(summary), f"{SUMMARY_NOTE}{archive}")
    pieces = [header, entry.raw, *_closed([each.raw for each in kept]), content[snapshot.size :]]
    folder.replace(MEMORY_FILE, pieces)
    new = b"".join(pieces)
    return Fold(archive, entry, parse(new).entries[1:], new)


def _closed(blocks: list[bytes]) -> list[bytes]:
    """Close every block but the last, which the file's next bytes follow as they did before."""
    return [block + closing(block) for block in blocks[:-1]] + blocks[-1:]


def restore(folder: Folder, name: str, when: datetime) -> str:
    """Put an archive's bytes back as MEMORY.md, archiving what is there; return the new archive's name.

    Raises:
        NotFound: there is no such archive.
        OSError: MEMORY.md is as it was.
    """
    content = _archived(folder, name)
    try:
        kept = add_archive(folder, folder.read(MEMORY_FILE), when)
    except FileNotFoundError:
        kept = ""
    folder.replace(MEMORY_FILE, [content])
    return kept


def undo(folder: Folder, when: datetime) -> str:
    """Put back what the last compaction archived, followed by what came after; return the archive's name.

    The state before the undo is archived too, since its summary stands nowhere else.

    Raises:
        NotFound: MEMORY.md does not continue an archive.
        OSError: MEMORY.md is as it was.
    """
    current = folder.read(MEMORY_FILE)
    document = parse(current)
    name = header_field(document.header, "Continues").removeprefix(f"{ARCHIVE_FOLDER}/")
    if not name:
        raise NotFound("nothing to undo: there is no compaction to take back")
    content = _archived(folder, name)
    known = {entry.stamp for entry in parse(content).entries}
    later = [
        entry.raw
        for entry in document.entries
        if entry.stamp not in known and entry.note != f"{SUMMARY_NOTE}{name}"
    ]
    add_archive(folder, current, when)
    folder.replace(MEMORY_FILE, [content, closing(content) if later else b"", *_closed(later)])
    return name


def _archived(folder: Folder, name: str) -> bytes:
    archive = pick_archive(list_archives(folder), name)
    with folder.child(ARCHIVE_FOLDER) as shelf:
        return shelf.read(archive.name)
