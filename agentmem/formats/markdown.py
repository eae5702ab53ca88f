"""Markdown: the layout of MEMORY.md itself, so that the export can be read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentmem.entries import header_field, make_entry, parse_pieces, storable
from agentmem.formats.imported import Left, Taken, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        note = plain(entry.note)
        yield make_entry(role, storable(entry.stamp), entry.text, note).raw.decode("utf-8", "replace")


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
    with source.opened() as file:
        for document in parse_pieces(iter(lambda: file.read(_CHUNK), b"")):
            if document.header:
                former = _SUFFIX.sub("", header_field(document.header, "Conversation"))
            for entry in document.entries:
                found = True
                if entry.aside.strip():
                    yield Left("remarks between entries")
                role = agent if entry.role == former else entry.role
                yield Taken(role, entry.stamp, entry.text, entry.note)
    if not found:
        raise source.refused(
            "no entry begins anywhere (### Role — timestamp); `agentmem import -h` names what can be read"
        )
