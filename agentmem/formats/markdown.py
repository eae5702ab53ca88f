"""Markdown: the layout of MEMORY.md itself, so that the export can be read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentmem.entries import header_field, make_entry, parse
from agentmem.formats.exported import encodable
from agentmem.formats.imported import Left, Taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.entries import Entry
    from agentmem.formats.exported import Exported
    from agentmem.formats.imported import Result
    from agentmem.formats.source import Source

_CHUNK = 1 << 20
_SUFFIX = re.compile(r"_id_[0-9a-fA-F-]+_conversation\Z")


def write(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield a Markdown document, piece by piece."""
    yield f"# {agent}\n\n---\n\n"
    for entry in entries:
        # A heading somebody typed may hold what `make_entry` refuses in one of its own.
        role = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in entry.role.strip())
        note = entry.note.replace("-->", "").strip()
        yield make_entry(role, encodable(entry.stamp), entry.text, note).raw.decode("utf-8", "replace")


def recognises(beginning: bytes) -> bool:
    """Return whether a file that begins like this cannot be JSON."""
    return beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in {b"[", b"{"}


def read(source: Source, agent: str) -> Iterator[Result]:
    """Yield the entries of a MEMORY.md, an archive or a Markdown export, ids included.

    Raises:
        ImportRefused: the file has no entry.
    """
    former = ""
    found = False
    for entry in _entries(source):
        if isinstance(entry, bytes):
            former = _SUFFIX.sub("", header_field(entry, "Conversation"))
            continue
        found = True
        if entry.aside.strip():
            yield Left("remarks between entries")
        yield Taken(agent if entry.role == former else entry.role, entry.stamp, entry.text, entry.note)
    if not found:
        raise source.refused("no entry begins anywhere (### Role — timestamp)")


def _entries(source: Source) -> Iterator[bytes | Entry]:
    """Yield the header, then every entry, holding no more than a few entries at a time."""
    with source.opened() as file:
        rest, headed = b"", False
        while piece := file.read(max(_CHUNK, len(rest))):
            document = parse(rest + piece)
            if not document.entries:
                rest = document.header
                continue
            if not headed:
                yield document.header
                headed = True
            # The last one may go on in the next piece.
            yield from document.entries[:-1]
            rest = document.entries[-1].raw
        yield from parse(rest).entries
