"""Taking entries in that were said elsewhere or earlier. Under the folder's lock."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from agentmem.entries import closing, header_field, make_header, parse
from agentmem.memory.archives import shelve
from agentmem.stamps import format_stamp
from agentmem.workspace import MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from agentmem.entries import Document
    from agentmem.folders import Folder


def join(
    folder: Folder,
    incoming: Iterable[tuple[datetime, bytes]],
    archives: Iterable[tuple[str, Iterable[bytes]]],
    when: datetime,
) -> None:
    """Write the archives, then put the other entries among those of MEMORY.md by their times.

    Raises:
        OSError: MEMORY.md is as it was.
    """
    document = parse(folder.read(MEMORY_FILE))
    conversation = header_field(document.header, "Conversation")
    for name, entries in archives:
        shelve(folder, name, _headed(make_header(conversation, format_stamp(when)), entries))
    folder.replace(MEMORY_FILE, _headed(document.header, _merged(document, incoming)))


def _headed(header: bytes, entries: Iterable[bytes]) -> Iterator[bytes]:
    yield header
    yield from entries


def _merged(present: Document, incoming: Iterable[tuple[datetime, bytes]]) -> Iterator[bytes]:
    """Yield the entries of both in the order of their times; each keeps its own order, whatever its times say."""
    standing = ((entry.when, False, entry.raw) for entry in present.entries)
    arriving = ((time, True, raw) for time, raw in incoming)
    before = present.header
    for _, new, raw in heapq.merge(standing, arriving, key=lambda each: each[0]):
        if new and before:
            yield closing(before)
        yield raw
        before = b"" if new else raw
