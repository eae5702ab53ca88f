"""The messages of an OpenAI chat completion: out, and back in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.formats.jsonl import dump

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported


def write(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield `{"messages": [...]}` that the endpoint takes as it is, a message a line."""
    del agent
    yield '{"messages": ['
    between = "\n"
    for number, entry in enumerate(entries, 1):
        for message in _messages(entry, number):
            yield between + dump(message)
            between = ",\n"
    yield "\n]}\n"


def _messages(entry: Exported, number: int) -> list[dict[str, object]]:
    if entry.kind != "tool":
        return [{"role": entry.kind, "content": entry.text}]
    # The endpoint refuses a result without the call it answers; its arguments are not stored.
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": entry.tool, "arguments": "{}"},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": entry.text},
    ]
