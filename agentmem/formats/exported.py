"""What an export is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.roles import SYSTEM, is_user, tool_of

if TYPE_CHECKING:
    from agentmem.entries import Entry


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
        return tool_of(self.role)

    @property
    def kind(self) -> str:
        """Who speaks: `user`, `assistant`, `tool` or `system`."""
        if self.tool is not None:
            return "tool"
        return "user" if is_user(self.role) else "system" if self.role == SYSTEM else "assistant"


def exported(entry: Entry, source: str = "") -> Exported:
    """Take an entry of a file out of it.

    Args:
        entry: as `entries.parse` gives it.
        source: the archive's name, or "" for MEMORY.md.
    """
    return Exported(entry.role, entry.stamp, entry.text, entry.note, source)
