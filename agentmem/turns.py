"""One message of a conversation, said in this session or taken over from MEMORY.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem import roles
from agentmem.entries import storable

if TYPE_CHECKING:
    from agentmem.entries import Entry
    from agentmem.models.base import ToolCall

INTERRUPTED = "interrupted"
"""Note of a reply that broke off."""

IMPORTED = "imported from"
"""How the note of an entry begins that came from another program."""


@dataclass(frozen=True)
class Turn:
    """One message of this session, or one taken over from MEMORY.md.

    Attributes:
        role: as in MEMORY.md: `User`, the agent's name, `Tool (name)`, `System`.
        content: the text, before redaction.
        timestamp: the entry's id where it was stored.
        entry: what was stored, or None when nothing was.
        note: the entry's note.
        tool_calls: what an agent's message asks for.
        tool_call_id: the call a tool's result answers.
    """

    role: str
    content: str
    timestamp: str
    entry: Entry | None = None
    note: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Turn:
        """Return a stored entry as a turn, with what somebody typed after it."""
        return cls(entry.role, storable(entry.content), entry.stamp, entry, entry.note)

    @property
    def is_result(self) -> bool:
        """Whether it is what a tool returned."""
        return bool(self.tool_call_id) or roles.is_tool(self.role)

    @property
    def is_summary(self) -> bool:
        """Whether a compaction, or a person in its place, wrote it."""
        return roles.is_summary(self.role, self.content)
