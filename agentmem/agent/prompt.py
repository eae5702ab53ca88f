"""A conversation as a model gets it: a preamble that rarely changes, then the turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.entries import storable
from agentmem.roles import is_tool, is_user
from agentmem.turns import IMPORTED, INTERRUPTED
from agentmem.wire import Line, bounded, chat_messages, fenced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.conversation import Conversation
    from agentmem.entries import Entry
    from agentmem.models.base import Message
    from agentmem.turns import Turn


class Prompt:
    """One conversation, put to a model.

    Args:
        conversation: what is put.
        result_bytes: bytes of one tool's result that go into a request; MEMORY.md has the whole.
    """

    def __init__(self, conversation: Conversation, result_bytes: int) -> None:
        self._conversation = conversation
        self._result_bytes = result_bytes
        self._preamble = ""
        self._preamble_of: tuple[object, ...] = ()

    def messages(
        self, nudge: str = "", *, recalled: str = "", before: Turn | None = None
    ) -> tuple[Message, ...]:
        """Return chat messages: one leading system message, then alternating turns.

        Args:
            nudge: said by the user at the very end, in this request only.
            recalled: put before one turn, in this request only.
            before: that turn.
        """
        agent = self._conversation.agent_name
        turns = list(self.spoken)
        while turns and turns[-1].role == agent and turns[-1].note == INTERRUPTED:
            turns.pop()  # a broken-off reply to the message that is being sent again
        lines = [*map(self.line, turns), Line("user", nudge)]
        if recalled and before in turns:
            lines.insert(turns.index(before), Line("user", recalled))
        return chat_messages(self.preamble, lines)

    @property
    def static(self) -> str:
        """System prompt and rules, which no compaction makes shorter."""
        conversation = self._conversation
        return _joined(conversation.system_prompt, conversation.rules, conversation.custom_rules_prompt)

    @property
    def preamble(self) -> str:
        """The leading system message: system prompt, rules, and the fenced memory or summary."""
        summaries = [turn.content for turn in self._conversation.turns if turn.is_summary]
        made_of = (self.static, self._conversation.preload, *summaries)
        # Made once: a turn must not cost the length of the memory.
        if made_of != self._preamble_of:
            fences = [fenced(text) for text in (self.remembered, *summaries) if text]
            self._preamble_of, self._preamble = made_of, _joined(self.static, *fences)
        return self._preamble

    @property
    def remembered(self) -> str:
        """The preload as the model gets it: as in the file, but for long results of tools."""
        preload = self._conversation.preload
        if not any(map(self._is_long, preload.entries)):
            return self._conversation.preload_text
        parts = [preload.header.decode("utf-8", "surrogateescape")]
        for entry in preload.entries:
            text = entry.raw.decode("utf-8", "surrogateescape")
            parts.append(self._bounded(text) if self._is_long(entry) else text)
        return storable("".join(parts))

    @property
    def spoken(self) -> Iterator[Turn]:
        """The turns that go to the model one by one: all but the summaries, which stand in the preamble."""
        return (turn for turn in self._conversation.turns if not turn.is_summary)

    def line(self, turn: Turn) -> Line:
        """Return how a turn is put to the model."""
        if turn.role == self._conversation.agent_name:
            return Line("assistant", turn.content, tool_calls=turn.tool_calls)
        content = self._bounded(turn.content) if turn.is_result else turn.content
        if turn.tool_call_id:
            return Line("tool", content, tool_call_id=turn.tool_call_id)
        speaker = "" if is_user(turn.role) else f"{turn.role}: "
        if turn.note.startswith(IMPORTED):
            speaker = f"({turn.note}) {speaker}"
        return Line("user", f"[{turn.timestamp}] {speaker}{content}")

    def _is_long(self, entry: Entry) -> bool:
        return len(entry.raw) > self._result_bytes and is_tool(entry.role)

    def _bounded(self, result: str) -> str:
        return bounded(result, self._result_bytes)


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
