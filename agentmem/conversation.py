"""`Conversation`: the history of one agent, in memory and written through to its MEMORY.md."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Literal, TypedDict

from agentmem.entries import Document, format_stamp, free_text, parse, storable
from agentmem.errors import UsageError
from agentmem.memory.reader import now
from agentmem.memory.reading import Cursor
from agentmem.roles import SYSTEM, USER, is_tool, is_user, marked
from agentmem.turns import IMPORTED, INTERRUPTED, Turn
from agentmem.wire import Line, bounded, chat_messages, fenced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.memory import Changes, Memory, Snapshot
    from agentmem.models.base import Message, ToolCall

__all__ = ["INTERRUPTED", "PRELOAD_MARK", "Conversation", "HistoryItem", "Turn"]

PRELOAD_MARK = "[Persistent Memory — MEMORY.md]"


class HistoryItem(TypedDict):
    """One message of `Conversation.conversation_history`."""

    role: str
    content: str
    timestamp: str


class Conversation:
    """History of one agent.

    Construction preloads MEMORY.md as one System message, which is not written back. Every `add` is
    durable before it returns.

    Attributes:
        agent_name: the agent, and the role of its replies.
        system_prompt: who the agent is; never written to MEMORY.md.
        rules: rules, never written either.
        custom_rules_prompt: more of them.
        generation: changes whenever history is replaced rather than added to.
        result_bytes: bytes of one tool's result that go into a request; MEMORY.md has the whole.
    """

    def __init__(
        self,
        agent_name: str,
        memory: Memory | None = None,
        *,
        system_prompt: str = "",
        rules: str = "",
        custom_rules_prompt: str = "",
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Open a conversation, creating MEMORY.md when it is missing.

        Args:
            agent_name: the agent.
            memory: its folder; None keeps everything in memory.
            system_prompt: who the agent is.
            rules: sent after the system prompt.
            custom_rules_prompt: sent after the rules.
            clock: gives the current time, aware.

        Raises:
            StorageError: the folder cannot be used.
        """
        self.agent_name = agent_name
        self.system_prompt = storable(system_prompt)
        self.rules = storable(rules)
        self.custom_rules_prompt = storable(custom_rules_prompt)
        self._clock = clock
        self._memory = memory
        self._began = format_stamp(clock())
        self._preload = Document(b"", ())
        self._cursor: Cursor | None = None
        self._turns: list[Turn] = []
        self._written: list[Entry] = []
        self._missing: tuple[Entry, ...] = ()
        self._lock = threading.RLock()
        self.generation = 0
        self.result_bytes: int | None = None
        self._preamble = ""
        self._preamble_of: tuple[object, ...] = ()
        if memory:
            memory.ensure()
            self._preload, self._cursor = memory.load()

    # What was said

    @property
    def memory(self) -> Memory | None:
        """The agent's folder, or None when nothing goes to disk."""
        return self._memory

    @property
    def memory_md_path(self) -> Path | None:
        """Path of MEMORY.md; set it to None, and from then on nothing goes to disk."""
        return self._memory.path if self._memory else None

    @memory_md_path.setter
    def memory_md_path(self, path: Path | None) -> None:
        if path is not None and path != self.memory_md_path:
            raise UsageError("memory_md_path can only be set to None; workspace_dir chooses the folder")
        if path is None:
            self._memory = self._cursor = None

    @property
    def snapshot(self) -> Snapshot | None:
        """The part of MEMORY.md this conversation has read, or None when nothing is on disk."""
        return self._cursor.snapshot() if self._memory and self._cursor else None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What this session added, and what a compaction left."""
        return tuple(self._turns)

    @property
    def record(self) -> list[Turn]:
        """Everything said that is in the context, oldest first: the preloaded entries, then the turns."""
        notes = free_text(self._preload.header)
        typed = [Turn("Note", notes, self._began)] if notes else []
        return [*typed, *(Turn.of(entry) for entry in self._preload.entries), *self._turns]

    @property
    def preloaded(self) -> tuple[Entry, ...]:
        """The entries that were in MEMORY.md when it was last read whole."""
        return self._preload.entries

    @property
    def conversation_history(self) -> list[HistoryItem]:
        """The history as dicts with `role`, `content` and `timestamp`, in the documented order."""
        static = [(SYSTEM, self.system_prompt), (USER, self.rules), (USER, self.custom_rules_prompt)]
        if self._has_preload:
            static.append((SYSTEM, f"{PRELOAD_MARK}\n\n{self._preload_text}"))
        return [
            *(HistoryItem(role=role, content=text, timestamp=self._began) for role, text in static if text),
            *(
                HistoryItem(role=turn.role, content=turn.content, timestamp=turn.timestamp)
                for turn in self._turns
            ),
        ]

    def return_history_as_string(self) -> str:
        """Return the history as `[<timestamp>] Role: content`, one message after the other."""
        return "\n\n".join(
            f"[{item['timestamp']}] {item['role']}: {item['content']}" for item in self.conversation_history
        )

    @property
    def _has_preload(self) -> bool:
        return bool(self._preload.entries or free_text(self._preload.header))

    @property
    def _preload_text(self) -> str:
        return storable(self._preload.raw.decode("utf-8", "surrogateescape"))

    # Adding

    def add(
        self,
        role: str,
        content: object,
        *,
        note: str = "",
        tool_calls: tuple[ToolCall, ...] = (),
        tool_call_id: str = "",
    ) -> Turn:
        """Add a message and store it; it is durable once this returns.

        Args:
            role: `User`, the agent's name, `Tool (name)` or `System`.
            content: text, or a value that is stored as JSON.
            note: for the entry's heading, such as `interrupted`.
            tool_calls: what an agent's message asks for; they are not stored.
            tool_call_id: the call a tool's result answers.

        Raises:
            StorageError: nothing was stored, and nothing was added.
            FolderLocked: another process keeps the folder.
        """
        text = storable(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
        with self._lock:
            entry = None
            if self._memory and (text or not tool_calls):
                entry = self._memory.append(role, text, note, self._cursor)
            stamp = entry.stamp if entry else format_stamp(self._clock())
            turn = Turn(role, text, stamp, entry, note, tool_calls, tool_call_id)
            self._turns.append(turn)
            self._written += [entry] if entry else []
            return turn

    def refresh(self) -> Literal["none", "appended", "edited"]:
        """Take in what others did to MEMORY.md since it was last read.

        Entries they appended join the turns; a file changed in any other way is loaded afresh, whole.

        Raises:
            MemoryUnreadable: the file cannot be read.
        """
        if not self._memory or not self._cursor:
            return "none"
        with self._lock:
            changes = self._memory.changes(self._cursor)
            if changes.kind == "edited" or (changes.kind == "appended" and self._missing):
                self._missing = tuple(self._memory.missing(self._written))
            return self._take_in(changes)

    @property
    def missing(self) -> tuple[Entry, ...]:
        """Entries this process wrote that are gone, though nobody forgot them: an older copy was saved over them.

        Empty until `refresh` has seen it. `put_back` or `let_go` settles it.
        """
        return self._missing

    def put_back(self) -> None:
        """Append the missing entries again, under the ids they had; errors as `add`."""
        with self._lock:
            if self._memory and self._missing:
                self._memory.put_back(self._missing)
                self._missing = ()
                self.refresh()

    def let_go(self) -> None:
        """Take it that the missing entries were removed on purpose."""
        with self._lock:
            self._written = [entry for entry in self._written if entry not in self._missing]
            self._missing = ()

    def _watch_only(self, document: Document) -> None:
        """Stop watching over entries that were moved to an archive; retention may delete those."""
        here = {entry.stamp for entry in (*document.entries, *self._missing)}
        self._written = [entry for entry in self._written if entry.stamp in here]

    def _take_in(self, changes: Changes) -> Literal["none", "appended", "edited"]:
        self._cursor = changes.cursor
        if changes.kind == "edited":
            self._preload, self._turns = changes.document, []
            self._watch_only(changes.document)
            self.generation += 1
            return "edited"
        known = {turn.timestamp for turn in self._turns if turn.entry}
        arrived = [Turn.of(entry) for entry in changes.document.entries if entry.stamp not in known]
        self._turns += arrived
        return "appended" if arrived else "none"

    def reopen(self) -> Turn | None:
        """Return the last message of the user that has no whole reply, as a turn of this session."""
        record = self.record
        replied = True  # a reply that tool results follow only asked for them
        for index in range(len(record) - 1, -1, -1):
            turn = record[index]
            replied = replied and not turn.is_result
            if turn.role == self.agent_name and turn.note != INTERRUPTED and replied and not turn.tool_calls:
                return None
            if is_user(turn.role):
                break
        else:
            return None
        preloaded = len(record) - len(self._turns)
        if index < preloaded:
            taken = preloaded - index
            self._turns = [*record[index:preloaded], *self._turns]
            self._preload = Document(self._preload.header, self._preload.entries[:-taken])
            self.generation += 1
        return turn

    # On the wire

    @property
    def preamble(self) -> str:
        """The leading system message: system prompt, rules, and the fenced memory or summary."""
        made_of = (
            self.system_prompt,
            self.rules,
            self.custom_rules_prompt,
            self._preload,
            self.result_bytes,
            *(turn.content for turn in self._summaries),
        )
        # Made once: a turn must not cost the length of the memory.
        if made_of != self._preamble_of:
            self._preamble_of, self._preamble = made_of, self._made_preamble()
        return self._preamble

    def _made_preamble(self) -> str:
        parts = [self.system_prompt, self.rules, self.custom_rules_prompt]
        if self._has_preload:
            parts.append(fenced(self.remembered))
        parts += [fenced(turn.content) for turn in self._summaries]
        return "\n\n".join(part for part in parts if part)

    @property
    def _summaries(self) -> list[Turn]:
        return [turn for turn in self._turns if turn.is_summary]

    def messages(
        self, prompt: str = "", *, recalled: str = "", before: Turn | None = None
    ) -> tuple[Message, ...]:
        """Return the history as chat messages: one leading system message, then alternating turns.

        Args:
            prompt: said by the user at the very end, in this request only.
            recalled: put before one turn, in this request only.
            before: that turn.
        """
        turns = list(self.spoken)
        while turns and turns[-1].role == self.agent_name and turns[-1].note == INTERRUPTED:
            turns.pop()  # a broken-off reply to the message that is being sent again
        lines = [*map(self.line, turns), Line("user", prompt)]
        if recalled and before in turns:
            lines.insert(turns.index(before), Line("user", recalled))
        return chat_messages(self.preamble, lines)

    @property
    def spoken(self) -> Iterator[Turn]:
        """The turns that go to the model one by one: all but the summaries, which stand in the preamble."""
        summaries = self._summaries
        return (turn for turn in self._turns if turn not in summaries)

    def line(self, turn: Turn) -> Line:
        """Return how a turn is put to the model."""
        if turn.role == self.agent_name:
            return Line("assistant", turn.content, tool_calls=turn.tool_calls)
        if turn.tool_call_id:
            return Line("tool", self._bounded(turn.content), tool_call_id=turn.tool_call_id)
        content = self._bounded(turn.content) if turn.is_result else turn.content
        speaker = "" if is_user(turn.role) else f"{turn.role}: "
        if turn.note.startswith(IMPORTED):
            speaker = f"({turn.note}) {speaker}"
        return Line("user", f"[{turn.timestamp}] {speaker}{content}")

    def _bounded(self, result: str) -> str:
        return result if self.result_bytes is None else bounded(result, self.result_bytes)

    @property
    def remembered(self) -> str:
        """The preload as the model gets it: as in the file, but for long results of tools."""
        limit = self.result_bytes
        if limit is None or not any(_is_long(entry, limit) for entry in self._preload.entries):
            return self._preload_text
        parts = [
            bounded(entry.raw.decode("utf-8", "surrogateescape"), limit)
            if _is_long(entry, limit)
            else entry.raw.decode("utf-8", "surrogateescape")
            for entry in self._preload.entries
        ]
        header = self._preload.header.decode("utf-8", "surrogateescape")
        return storable("".join([header, *parts]))

    # Compaction

    def compact(self, summary: str, kept: Sequence[Turn] = ()) -> str:
        """Replace the history by a summary; the raw log goes to the archive first.

        Args:
            summary: its text.
            kept: turns of `record` that stay word for word after it.

        Returns:
            The archive's name, or "" when nothing is on disk.

        Raises:
            MemoryChanged: someone edited MEMORY.md since `refresh`; nothing was changed.
            StorageError: nothing was changed.
        """
        with self._lock:
            self.generation += 1
            return self._compact(summary, kept)

    def _compact(self, summary: str, kept: Sequence[Turn]) -> str:
        if not self._memory or not self._cursor:
            self._preload = Document(b"", ())
            self._turns = [Turn(SYSTEM, marked(storable(summary)), format_stamp(self._clock())), *kept]
            return ""
        fold = self._memory.fold(
            self._cursor.snapshot(), summary, [turn.entry for turn in kept if turn.entry]
        )
        # What was written is known: reading it again could only fail.
        document, self._cursor = parse(fold.content), Cursor(fold.content, None)
        self._preload = Document(document.header, ())
        self._turns = [Turn.of(fold.summary), *kept]
        stored = {turn.timestamp for turn in self._turns if turn.entry}
        self._turns += [Turn.of(entry) for entry in document.entries if entry.stamp not in stored]
        self._watch_only(document)
        return fold.archive


def _is_long(entry: Entry, limit: int) -> bool:
    return len(entry.raw) > limit and is_tool(entry.role)
