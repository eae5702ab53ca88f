"""JSON lines and JSON: one object an entry, and back with the same ids and texts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported

_SURROGATE = re.compile("[\ud800-\udfff]")


def dump(value: object) -> str:
    """Return a value as one line of JSON: readable in any script, and always UTF-8."""
    line = json.dumps(value, ensure_ascii=False)
    # JSON can carry what UTF-8 cannot, as an escape.
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def as_object(entry: Exported, agent: str) -> dict[str, str]:
    """Return the documented shape of an entry; `note` and `archive` are left out when empty."""
    shape = {"id": entry.stamp, "agent": agent, "role": entry.role, "text": entry.text}
    if entry.note:
        shape["note"] = entry.note
    if entry.source:
        shape["archive"] = entry.source
    return shape


def write(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield one line an entry."""
    for entry in entries:
        yield dump(as_object(entry, agent)) + "\n"


def write_array(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield one JSON array with an entry a line."""
    yield "["
    between = "\n"
    for entry in entries:
        yield between + dump(as_object(entry, agent))
        between = ",\n"
    yield "\n]\n"
