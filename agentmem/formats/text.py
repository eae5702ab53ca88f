"""Plain text: `[timestamp] Role: text`, the form `return_history_as_string` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.entries import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported


def write(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield one paragraph an entry, with a blank line between two."""
    del agent
    between = ""
    for entry in entries:
        yield storable(f"{between}[{entry.stamp}] {entry.role}: {entry.text}\n")
        between = "\n"
