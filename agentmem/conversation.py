"""`Conversation`: the history of one agent, in memory and written through to its MEMORY.md."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Literal, TypedDict

from agentmem.entries import Document, free_text, parse, storable
from agentmem.errors import UsageError
from agentmem.memory.reading import Cursor
from agentmem.roles import SYSTEM, USER, is_user, marked
from agentmem.stamps import format_stamp, now
from agentmem.turns import INTERRUPTED, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.memory import Changes, Memory, Snapshot
    from agentmem.models.base import ToolCall

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
    def preload(self) -> Document:
        """MEMORY.md as it was when it was last read whole; what was said since is in `turns`."""
        return self._preload

    @property
    def preload_text(self) -> str:
        """The preload as text, or "" when it holds nothing that anybody said."""
        if not self._preload.entries and not free_text(self._preload.header):
            return ""
        return storable(self._preload.raw.decode("utf-8", "surrogateescape"))

    @property
    def conversation_history(self) -> list[HistoryItem]:
        """The history as dicts with `role`, `content` and `timestamp`, in the documented order."""
        static = [(SYSTEM, self.system_prompt), (USER, self.rules), (USER, self.custom_rules_prompt)]
        if text := self.preload_text:
            static.append((SYSTEM, f"{PRELOAD_MARK}\n\n{text}"))
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

    def set_aside(self, entries: Collection[Entry]) -> None:
        """Leave entries out of the context although MEMORY.md has them, until `reload`."""
        stamps = {entry.stamp for entry in entries}
        with self._lock:
            kept = tuple(entry for entry in self._preload.entries if entry.stamp not in stamps)
            self._preload = Document(self._preload.header, kept)
            self._turns = [turn for turn in self._turns if turn.entry is None or turn.timestamp not in stamps]
            self.generation += 1

    def reload(self) -> None:
        """Read MEMORY.md afresh, whole; errors as `refresh`."""
        with self._lock:
            if self._memory:
                self._preload, self._cursor = self._memory.load()
                self._turns = []
                self.generation += 1

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

    def can_resend(self, message: str) -> bool:
        """Whether a message of the user, "" for the last one, is stored and has no whole reply."""
        pending = self.reopen()
        return bool(pending and pending.entry and pending.content == (storable(message) or pending.content))

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
