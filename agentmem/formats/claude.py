"""Claude's export, `conversations.json`: messages made of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.formats.imported import Left, Taken, Timeline, branch, plain, tool_role
from agentmem.formats.jsonl import dump
from agentmem.roles import USER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.imported import Result
    from agentmem.formats.source import Node, Source

_ROLES = ("human", "user", "assistant", "system")


def recognises(first: Node) -> bool:
    """Return whether this is a conversation of Claude's."""
    return first.has("chat_messages")


def read(nodes: Iterable[Node], agent: str, source: Source) -> Iterator[Result]:
    """Yield the messages of every conversation.

    Raises:
        ImportRefused: a conversation is not what it should be; the message says where.
    """
    for conversation in nodes:
        begun = conversation.member("created_at")
        timeline = Timeline(begun.when() if begun.value is not None else source.modified)
        title = plain(conversation.member("name").text_or(""))
        note = f"imported from Claude: {title}" if title else "imported from Claude"
        messages = conversation.member("chat_messages").items()
        path = _path(conversation, messages)
        for _ in range(len(messages) - len(path)):
            yield Left("messages on branches not shown last")
        for message in path:
            for result in _results(message, agent, timeline):
                if isinstance(result, Taken) and note and not result.note:
                    yield Taken(result.role, result.stamp, result.text, note)
                    note = ""
                else:
                    yield result


def _path(conversation: Node, messages: list[Node]) -> list[Node]:
    """Return the branch last shown; exports without parents hold nothing else."""
    by_id = {message.member("uuid").text_or(""): message for message in messages}
    if len(by_id) != len(messages) or not any(m.has("parent_message_uuid") for m in messages):
        return messages
    leaf = conversation.member("current_leaf_message_uuid")
    if leaf.value is None:
        leaf = messages[-1].member("uuid")
    parents = {key: m.member("parent_message_uuid").text_or("") for key, m in by_id.items()}
    return [by_id[step] for step in branch(parents, leaf)][::-1]


def _results(message: Node, agent: str, timeline: Timeline) -> Iterator[Result]:
    sender = message.member("sender")
    if sender.text() not in _ROLES:
        raise sender.refused(f"unknown sender {sender.value!r}")
    if sender.value == "system":
        yield Left("system messages")
        return
    role = agent if sender.value == "assistant" else USER
    created = message.member("created_at")
    said: list[str] = []
    empty = True
    for block in message.member("content").items():
        kind = block.member("type").text()
        if kind == "text":
            said.append(block.member("text").text_or(""))
            continue
        if any(text.strip() for text in said):
            yield Taken(role, timeline.stamp(created), "\n\n".join(said))
            said, empty = [], False
        yield _block(block, kind, role, timeline.stamp(created))
        empty = False
    if empty and not any(said):
        said = [message.member("text").text_or("")]
    text = "\n\n".join([*said, *_files(message)])
    if text.strip():
        yield Taken(role, timeline.stamp(created), text)
    elif empty:
        yield Left("empty messages")


def _block(block: Node, kind: str, role: str, stamp: str) -> Result:
    if kind in {"thinking", "redacted_thinking"}:
        return Left("reasoning")
    if kind == "tool_use":
        name = block.member("name").text_or("")
        return Taken(role, stamp, dump(block.member("input").value), f"call of {plain(name)}")
    if kind == "tool_result":
        text = _result_text(block.member("content"))
        return (
            Taken(tool_role(block.member("name").text_or("")), stamp, text) if text else Left("empty results")
        )
    return Left(f"blocks of type {plain(kind)}")


def _result_text(content: Node) -> str:
    if isinstance(content.value, str):
        return content.value
    parts = [
        part.member("text").text_or("") if part.has("text") else dump(part.value) for part in content.items()
    ]
    return "\n".join(parts)


def _files(message: Node) -> list[str]:
    """Return what was attached: its text where the export has it, else its name."""
    texts = []
    for attachment in message.member("attachments").items():
        name = plain(attachment.member("file_name").text_or("")) or "attachment"
        texts.append(f"[{name}]\n{attachment.member('extracted_content').text_or('')}".strip())
    files = message.member("files").items()
    return texts + [f"[{plain(file.member('file_name').text_or('')) or 'file'}]" for file in files]
