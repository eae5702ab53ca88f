"""Markdown: the layout of MEMORY.md itself, so that the export can be read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.entries import make_entry
from agentmem.formats.exported import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported


def write(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield a Markdown document, piece by piece."""
    yield f"# {agent}\n\n---\n\n"
    for entry in entries:
        # A heading somebody typed may hold what `make_entry` refuses in one of its own.
        role = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in entry.role.strip())
        note = entry.note.replace("-->", "").strip()
        yield make_entry(role, encodable(entry.stamp), entry.text, note).raw.decode("utf-8", "replace")
