"""What `llm logs --json` prints: one object a prompt and its response."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from agentmem.entries import USER
from agentmem.formats.imported import Left, Taken, Timeline, plain, tool_role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.imported import Result
    from agentmem.formats.source import Node, Source


def recognises(first: Node) -> bool:
    """Return whether this is a response logged by `llm`."""
    return first.has("prompt", "response")


def read(nodes: Iterable[Node], agent: str, source: Source) -> Iterator[Result]:
    """Yield prompts, tool results and responses.

    Raises:
        ImportRefused: a response is not what it should be; the message says where.
    """
    del source
    conversations: set[object] = set()
    for response in nodes:
        note = ""
        conversation = response.member("conversation_id").text_or("")
        if conversation not in conversations:
            conversations.add(conversation)
            title = plain(response.member("conversation_name").text_or(""))
            note = f"imported from llm: {title}" if title else "imported from llm"
        if response.member("system").text_or(""):
            yield Left("system prompts")
        asked = Timeline(response.member("datetime_utc").when())
        for result in response.member("tool_results").items():
            role = tool_role(result.member("name").text_or(""))
            yield Taken(role, asked.stamp(), result.member("output").text_or(""))
        prompt = response.member("prompt").text_or("")
        if prompt.strip():
            yield Taken(USER, asked.stamp(), prompt, note)
        reply = response.member("response").text_or("")
        if reply.strip():
            yield Taken(agent, _answered(response, asked), reply)
        else:
            yield Left("empty replies")


def _answered(response: Node, asked: Timeline) -> str:
    """Return when the reply was complete."""
    took = response.member("duration_ms")
    if not isinstance(took.value, int) or took.value < 0:
        return asked.stamp()
    when = response.member("datetime_utc").when() + timedelta(milliseconds=took.value)
    return Timeline(max(when, response.member("datetime_utc").when())).stamp()
