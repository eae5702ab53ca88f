"""What an import is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem import roles
from agentmem.stamps import TICK, format_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, timedelta

    from agentmem.formats.source import Node

_NOTE_LENGTH = 120


@dataclass(frozen=True)
class Taken:
    """One entry on its way in.

    Attributes:
        role: `User`, the agent's name, `Tool (name)` or `System`.
        stamp: its timestamp.
        text: the text.
        note: for the heading's comment, or "".
        archive: name of the archive it belongs to, or "" for MEMORY.md.
    """

    role: str
    stamp: str
    text: str
    note: str = ""
    archive: str = ""


@dataclass(frozen=True)
class Left:
    """Something in the file that does not become an entry.

    Attributes:
        what: its kind, in the plural, for the count.
    """

    what: str


Result = Taken | Left


class Timeline:
    """Timestamps for one conversation: never going back, so that sorting keeps its order."""

    def __init__(self, start: datetime) -> None:
        self._next = start

    def wait(self, span: timedelta) -> None:
        """Let time pass."""
        self._next += span

    def stamp(self, node: Node | None = None) -> str:
        """Return the moment a node says, or the next one when it says none or an earlier one."""
        when = node.when() if node is not None and node.value is not None else self._next
        when = max(when, self._next)
        self._next = when + TICK
        return format_stamp(when)


def tool_role(name: str) -> str:
    """Return the role of a tool's results."""
    return roles.tool_role(plain(name) or "unknown")


def plain(text: str) -> str:
    """Return a text as it can stand in a heading: one line, printable, neither opening nor closing a comment."""
    line = "".join(character for character in text if character.isprintable() or character.isspace())
    return " ".join(re.sub("[<>]", " ", line).split())[:_NOTE_LENGTH].strip()


def branch(parents: Mapping[str, object], leaf: Node) -> Iterator[str]:
    """Yield the messages from a leaf up to its root, newest first.

    Args:
        parents: the message above each message; one that is no message marks the root.
        leaf: where to begin, for messages too.

    Raises:
        ImportRefused: the leaf is no message, or the messages go in a circle.
    """
    if leaf.text() not in parents:
        raise leaf.refused(f"there is no message {leaf.value!r}")
    seen: set[str] = set()
    here: object = leaf.text()
    while isinstance(here, str) and here in parents:
        if here in seen:
            raise leaf.refused(f"the messages above it go in a circle at {here!r}")
        seen.add(here)
        yield here
        here = parents[here]
