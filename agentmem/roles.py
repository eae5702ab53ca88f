"""Who speaks in an entry, as its role says, and what marks a summary. Pure."""

from __future__ import annotations

USER = "User"
SYSTEM = "System"
SUMMARY_MARK = "[Compressed Memory Summary]"

_HUMAN = "Human"  # what swarms calls the user
_TOOL = "Tool ("

RESERVED = frozenset({"user", "human", "system", "tool"})
"""What no agent may be named, in lower case: its replies would pass for somebody else's."""


def is_user(role: str) -> bool:
    """Whether the user speaks; swarms calls them `Human`."""
    return role in {USER, _HUMAN}


def tool_role(name: str) -> str:
    """Return the role of a tool's results."""
    return f"{_TOOL}{name})"


def tool_of(role: str) -> str | None:
    """Return the name of the tool whose result it is, or None when it is no result."""
    return role[len(_TOOL) : -1] if role.startswith(_TOOL) and role.endswith(")") else None


def is_tool(role: str) -> bool:
    """Whether what is said is a tool's result."""
    return tool_of(role) is not None


def is_summary(role: str, text: str) -> bool:
    """Whether a compaction, or a person in its place, wrote this."""
    return role == SYSTEM and text.startswith(SUMMARY_MARK)


def marked(summary: str) -> str:
    """Return a summary as it is stored."""
    return f"{SUMMARY_MARK}\n\n{summary}"


def unmarked(text: str) -> str:
    """Return a stored summary without its mark."""
    return text.removeprefix(SUMMARY_MARK).strip()
