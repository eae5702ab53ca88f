"""ChatGPT's `conversations.json`: trees of messages, of which the branch last shown is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.formats.imported import Left, Taken, Timeline, branch, plain, tool_role
from agentmem.formats.source import Node
from agentmem.roles import USER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.imported import Result
    from agentmem.formats.source import Source

_REASONING = frozenset({"thoughts", "reasoning_recap"})
_PROFILE = frozenset({"user_editable_context", "model_editable_context"})


def recognises(first: Node) -> bool:
    """Return whether this is a conversation of ChatGPT's."""
    return first.has("mapping")


def read(nodes: Iterable[Node], agent: str, source: Source) -> Iterator[Result]:
    """Yield the messages of every conversation.

    Raises:
        ImportRefused: a conversation is not what it should be; the message says where.
    """
    for conversation in nodes:
        mapping = conversation.member("mapping").members()
        begun = conversation.member("create_time")
        timeline = Timeline(begun.when() if begun.value is not None else source.modified)
        title = plain(conversation.member("title").text_or(""))
        note = f"imported from ChatGPT: {title}" if title else "imported from ChatGPT"
        path = _path(conversation, mapping)
        for _ in range(sum(1 for node in mapping.values() if _message(node)) - len(path)):
            yield Left("messages on branches not shown last")
        for message in path:
            result = _result(message, agent, timeline, note)
            note = "" if isinstance(result, Taken) else note
            yield result


def _message(node: Node) -> Node | None:
    message = node.member("message")
    return None if message.value is None else message


def _path(conversation: Node, mapping: dict[str, Node]) -> list[Node]:
    """Return the messages of the branch last shown, oldest first."""
    if not mapping:
        return []
    leaf = conversation.member("current_node")
    if leaf.value is None:
        leaf = _newest_leaf(mapping)
    parents = {key: node.member("parent").value for key, node in mapping.items()}
    steps = [*branch(parents, leaf)]
    return [message for step in reversed(steps) if (message := _message(mapping[step]))]


def _newest_leaf(mapping: dict[str, Node]) -> Node:
    def age(key: str) -> float:
        message = _message(mapping[key])
        time = message.member("create_time") if message else None
        return time.when().timestamp() if time and time.value is not None else 0.0

    leaves = [key for key, node in mapping.items() if not node.member("children").items()]
    newest = max(leaves or mapping, key=age)
    return Node(newest, mapping[newest].place)


def _result(message: Node, agent: str, timeline: Timeline, note: str) -> Result:
    author = message.member("author")
    speaker = author.member("role").text()
    metadata = message.member("metadata")
    if speaker == "system":
        return Left("system messages")
    if metadata.value is not None and metadata.member("is_visually_hidden_from_conversation").value is True:
        return Left("hidden messages")
    text = _text(message.member("content"))
    if isinstance(text, Left):
        return text
    roles = {"user": USER, "assistant": agent, "tool": tool_role(author.member("name").text_or(""))}
    if speaker not in roles:
        raise author.member("role").refused(f"unknown role {speaker!r}")
    recipient = message.member("recipient").text_or("all")
    if speaker == "assistant" and recipient != "all":
        note = f"call of {plain(recipient)}"
    return Taken(roles[speaker], timeline.stamp(message.member("create_time")), text, note)


def _text(content: Node) -> str | Left:
    if content.value is None:
        return Left("empty messages")
    kind = content.member("content_type").text_or("text")
    if kind in _REASONING:
        return Left("reasoning")
    if kind in _PROFILE:
        return Left("profile and custom instructions")
    parts = [_part(part) for part in content.member("parts").items()]
    parts += [content.member(key).text_or("") for key in ("title", "url", "text", "result")]
    text = "\n".join(part for part in parts if part)
    return text if text.strip() else Left("empty messages")


def _part(part: Node) -> str:
    if isinstance(part.value, str):
        return part.value
    if part.has("text"):  # what was said aloud
        return part.member("text").text_or("")
    return f"[{plain(part.member('content_type').text_or('attachment'))}]"
