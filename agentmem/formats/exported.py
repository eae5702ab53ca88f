"""What an export is made of, and how texts are made fit for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.entries import SYSTEM, USER

if TYPE_CHECKING:
    from agentmem.entries import Entry

_SURROGATE = re.compile("[\ud800-\udfff]")
_TOOL = re.compile(r"Tool \((?P<name>.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Exported:
    """One entry on its way out.

    Attributes:
        role: `User`, the agent's name, `Tool (name)` or `System`.
        stamp: the timestamp exactly as written; the entry's id.
        text: the text; bytes that were not UTF-8 come as lone surrogates.
        note: what the heading's comment says, or "".
        source: the archive it comes from, or "" for MEMORY.md.
    """

    role: str
    stamp: str
    text: str
    note: str = ""
    source: str = ""

    @property
    def tool(self) -> str | None:
        """The tool's name when this is a tool's result."""
        found = _TOOL.fullmatch(self.role)
        return found["name"] if found else None

    @property
    def kind(self) -> str:
        """Who speaks: `user`, `assistant`, `tool` or `system`."""
        if self.tool is not None:
            return "tool"
        return {USER: "user", SYSTEM: "system"}.get(self.role, "assistant")


def exported(entry: Entry, source: str = "") -> Exported:
    """Take an entry of a file out of it.

    Args:
        entry: as `entries.parse` gives it.
        source: the archive's name, or "" for MEMORY.md.
    """
    return Exported(entry.role, entry.stamp, entry.text, entry.note, source)


def encodable(text: str) -> str:
    """Return text that UTF-8 can carry: each lone surrogate as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)
