"""JSON lines and JSON: one object an entry, and back with the same ids and texts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from agentmem.entries import make_entry, parse
from agentmem.formats.imported import Taken
from agentmem.workspace import is_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported
    from agentmem.formats.imported import Result
    from agentmem.formats.source import Node, Source

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


def recognises(first: Node) -> bool:
    """Return whether this is an entry as `write` and `write_array` give it."""
    return first.has("id", "role", "text")


def read(nodes: Iterable[Node], agent: str, source: Source) -> Iterator[Result]:
    """Yield the entries with their own ids; what another agent said becomes this one's.

    Raises:
        ImportRefused: an entry cannot be stored; the message says where.
    """
    del source
    for node in nodes:
        role = node.member("role").text()
        if role == node.member("agent").text_or(""):
            role = agent
        taken = Taken(
            role,
            node.member("id").text(),
            node.member("text").text(),
            node.member("note").text_or(""),
            node.member("archive").text_or(""),
        )
        _check(taken, node)
        yield taken


def _check(taken: Taken, node: Node) -> None:
    """Refuse what would not read back as it went in."""
    try:
        entry = make_entry(taken.role, taken.stamp, "", taken.note)
    except ValueError as error:
        raise node.refused(str(error)) from None
    if taken.archive and not is_archive(taken.archive):
        raise node.member("archive").refused(f"not an archive's name: {taken.archive!r}")
    read_back = parse(entry.raw).entries
    if [(each.role, each.stamp, each.note) for each in read_back] != [(taken.role, taken.stamp, taken.note)]:
        raise node.member("id").refused(f"not the id of an entry: {taken.stamp!r}")
