"""What `llm logs --json` prints: one object a prompt and its response."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from agentmem.formats.imported import Left, Taken, Timeline, plain, tool_role
from agentmem.formats.jsonl import dump
from agentmem.roles import USER

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
        prompt = "\n".join([response.member("prompt").text_or(""), *_attached(response)]).strip("\n")
        if prompt.strip():
            yield Taken(USER, asked.stamp(), prompt, note)
        asked.wait(_took(response))
        yield from _reply(response, agent, asked)


def _reply(response: Node, agent: str, timeline: Timeline) -> Iterator[Result]:
    text = response.member("response").text_or("")
    calls = response.member("tool_calls").items()
    if text.strip():
        yield Taken(agent, timeline.stamp(), text)
    elif not calls:
        yield Left("empty replies")
    for call in calls:
        arguments = dump(call.member("arguments").value)
        yield Taken(agent, timeline.stamp(), arguments, f"call of {plain(call.member('name').text_or(''))}")


def _attached(response: Node) -> list[str]:
    """Name what was attached: its path or address, else its type."""
    keys = ("path", "url", "type")
    return [
        f"[{plain(next(filter(None, (each.member(key).text_or('') for key in keys)), 'attachment'))}]"
        for each in response.member("attachments").items()
    ]


def _took(response: Node) -> timedelta:
    took = response.member("duration_ms").value
    return timedelta(milliseconds=took if isinstance(took, int) and took > 0 else 0)
