"""The messages of an OpenAI chat completion: out, and back in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.formats.imported import Left, Taken, Timeline, plain, tool_role
from agentmem.formats.jsonl import dump
from agentmem.roles import USER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported
    from agentmem.formats.imported import Result
    from agentmem.formats.source import Node, Source

_TEXT_PARTS = ("text", "input_text", "output_text")
_NO_ARGUMENTS = ("", "{}", "null")


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


def recognises(first: Node) -> bool:
    """Return whether this is a chat message, or an object with messages."""
    return first.has("messages") or first.has("role", "content")


def read(nodes: Iterable[Node], agent: str, source: Source) -> Iterator[Result]:
    """Yield the messages, stamped with the time at which the file was last written.

    Raises:
        ImportRefused: a message is not what it should be; the message says where.
    """
    timeline = Timeline(source.modified)
    called: dict[str, str] = {}
    for node in nodes:
        for message in node.member("messages").items() if node.has("messages") else [node]:
            yield from _read_message(message, agent, timeline, called)


def _read_message(message: Node, agent: str, timeline: Timeline, called: dict[str, str]) -> Iterator[Result]:
    role = message.member("role")
    if role.text() not in {"system", "developer", "user", "assistant", "tool", "function"}:
        raise role.refused(f"unknown role {role.value!r}")
    text = _content(message.member("content"))
    if role.value in {"system", "developer"}:
        yield Left("system messages")
    elif role.value in {"tool", "function"}:
        name = called.get(message.member("tool_call_id").text_or(""), "")
        yield Taken(tool_role(message.member("name").text_or(name)), timeline.stamp(), text)
    elif text.strip():
        yield Taken(USER if role.value == "user" else agent, timeline.stamp(), text)
    elif not message.member("tool_calls").items():
        yield Left("empty messages")
    for call in message.member("tool_calls").items():
        function = call.member("function")
        name = function.member("name").text()
        called[call.member("id").text_or("")] = name
        arguments = function.member("arguments").text_or("")
        if arguments.strip() not in _NO_ARGUMENTS:
            yield Taken(agent, timeline.stamp(), arguments, f"call of {plain(name)}")


def _content(content: Node) -> str:
    if content.value is None or isinstance(content.value, str):
        return content.text_or("")
    return "\n".join(_part(part) for part in content.items())


def _part(part: Node) -> str:
    kind = part.member("type").text()
    if kind in _TEXT_PARTS:
        return part.member("text").text()
    return part.member("refusal").text_or("") or f"[{plain(kind)}]"
