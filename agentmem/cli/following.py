"""`show --follow`: print what is added to a memory as it comes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.entries import Entry
    from agentmem.memory import Memory
    from agentmem.selection import Selection

_INTERVAL = 0.25  # seconds between two looks at the file


def arriving(memory: Memory, selection: Selection) -> Iterator[tuple[int, Entry]]:
    """Yield the chosen entries with their numbers, then those that are added, until interrupted.

    A file that is rewritten (by a compaction, a forget, an editor) is read again; what was printed before is
    not printed again.

    Raises:
        StorageError: the memory cannot be read.
    """
    document, cursor = memory.load()
    yield from selection.choose(document.entries)
    count = len(document.entries)
    seen = {(entry.role, entry.stamp) for entry in document.entries}
    while True:
        sys.stdout.flush()
        time.sleep(_INTERVAL)
        changes = memory.changes(cursor)
        cursor = changes.cursor
        if changes.kind == "none":
            continue
        first = 1 if changes.kind == "edited" else count + 1
        for number, entry in enumerate(changes.document.entries, first):
            if (entry.role, entry.stamp) not in seen and selection.accepts(entry):
                yield number, entry
        seen |= {(entry.role, entry.stamp) for entry in changes.document.entries}
        count = first - 1 + len(changes.document.entries)
