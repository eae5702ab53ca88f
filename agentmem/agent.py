"""`Agent`: the order in which things happen in a run."""

from __future__ import annotations

import json
import logging
import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem import models, settings, tools
from agentmem.compressor import Compaction, ContextCompressor
from agentmem.conversation import INTERRUPTED, Conversation, Turn
from agentmem.entries import USER, storable
from agentmem.errors import (
    CompactionFailed,
    ContextOverflow,
    MemoryChanged,
    ModelError,
    NotFound,
    RequestTooLarge,
)
from agentmem.memory import Memory
from agentmem.memory.store import now
from agentmem.models.base import Finish, Message, Request, TextDelta, ToolCall, ToolSpec, Usage
from agentmem.tokens import Estimator, Meter
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from agentmem.models.base import Model, Piece
    from agentmem.settings import Loops, Settings

DEFAULT_CONTEXT_LENGTH = 8192
AUTO_LIMIT = 100
"""Model calls one task may take with `max_loops="auto"`."""

DONE = "TASK COMPLETE"
_LEAST_REPLY = 64  # tokens a reply needs to be worth a request
_REPLY_SHARE = 16  # a request leaves at least 1/16 of the window, up to 1024 tokens, for the reply
_log = logging.getLogger("agentmem")


@dataclass
class Reply:
    """One reply of the model, as it was put together.

    Attributes:
        text: what it said.
        tool_calls: what it asks for.
        usage: what the provider reported.
        finish: why it ended, or "".
    """

    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: str = ""


class Agent:
    """An LLM agent that remembers.

    Attributes:
        agent_name: its name, and its folder's.
        settings: every setting, resolved.
        short_memory: its `Conversation`.
        context_compressor: its `ContextCompressor`, or None when compression is off; it may be replaced.
        last_reply: the last reply of the model, with usage.
        last_compaction: what the last compaction did, or None.
    """

    def __init__(
        self,
        agent_name: str,
        model_name: str | None = None,
        system_prompt: str | None = None,
        rules: str | None = None,
        custom_rules_prompt: str = "",
        max_loops: Loops | None = None,
        context_compression: bool | None = None,
        context_length: int | None = None,
        tools: Sequence[Callable[..., object]] = (),
        workspace_dir: str | Path | None = None,
        persistent_memory: bool | None = None,
        *,
        model: Model | None = None,
        resolved: Settings | None = None,
        clock: Callable[[], datetime] = now,
        notice: Callable[[str], None] = _log.warning,
    ) -> None:
        """Open an agent; a new one gets its folder and an empty MEMORY.md.

        Args:
            agent_name: the folder is keyed on this alone.
            model_name: such as `gpt-4o` or `local`; None takes it from the settings.
            system_prompt: who the agent is; sent with every request, never stored.
            rules: sent after the system prompt, never stored.
            custom_rules_prompt: more of them.
            max_loops: model calls a task may take (1 by default), or "auto": until no tool is wanted.
            context_compression: summarise when the window fills (on by default).
            context_length: the model's window in tokens; None looks it up.
            tools: functions the model may call.
            workspace_dir: the workspace; None takes `WORKSPACE_DIR` or the user's data folder.
            persistent_memory: keep MEMORY.md (on by default).
            model: a model to use instead of opening one by name.
            resolved: settings instead of loading them from the environment and files.
            clock: gives the current time, aware.
            notice: told what a person should know; by default the `agentmem` logger.

        Raises:
            InvalidAgentName: the name is refused; nothing was created.
            ConfigurationError: a settings file cannot be used.
            StorageError: the folder cannot be used.
        """
        self.agent_name = agent_name
        self.notice = notice
        folder = Workspace(settings.workspace_root(workspace_dir)).folder(agent_name)
        flags = {
            "model": model_name,
            "system_prompt": system_prompt,
            "rules": rules,
            "max_loops": max_loops,
            "compression": context_compression,
            "context_length": context_length,
            "memory": persistent_memory,
        }
        self.settings = resolved or settings.load(flags, agent_folder=folder)
        self._tools = {tool.name: tool for tool in map(_tool, tools)}
        self._model = model
        self._lock = threading.RLock()
        memory = (
            Memory(folder, clock=clock, lock_timeout=self.settings.lock_timeout)
            if self.settings.memory
            else None
        )
        self.short_memory = Conversation(
            agent_name,
            memory,
            system_prompt=self.settings.system_prompt,
            rules=self.settings.rules,
            custom_rules_prompt=custom_rules_prompt,
            clock=clock,
        )
        self.context_compressor: ContextCompressor | None = None
        if self.settings.compression:
            self.context_compressor = ContextCompressor(
                self.settings.threshold,
                self.settings.summarizer_model or None,
                self.settings.summarizer_temperature,
                self.settings.summarizer_max_tokens,
                keep_tokens=self.settings.keep_tokens,
                max_summary_calls=self.settings.max_summary_calls,
            )
        self._meter: Meter | None = None
        self.last_reply = Reply()
        self.last_compaction: Compaction | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the model's connections and weights."""
        if self._model:
            self._model.close()

    @property
    def _context_compressor(self) -> ContextCompressor | None:
        return self.context_compressor

    @_context_compressor.setter
    def _context_compressor(self, compressor: ContextCompressor | None) -> None:
        self.context_compressor = compressor

    @property
    def model(self) -> Model:
        """The model, opened on first use.

        Raises:
            ConfigurationError: no model, or no key for it.
        """
        if self._model is None:
            self._model = models.open_model(self.settings)
        return self._model

    @property
    def meter(self) -> Meter:
        """How full the context window is."""
        if self._meter is None:
            self._meter = Meter(Estimator(self.model.name), self._context_length())
            self._measure()
        return self._meter

    def _context_length(self) -> int:
        length = self.settings.context_length or self.model.context_length()
        if not length:
            self.notice(
                f"the context length of {self.model.name} is unknown; taking {DEFAULT_CONTEXT_LENGTH} tokens "
                "(set it with --context-length or context_length in agent.toml)"
            )
        return length or DEFAULT_CONTEXT_LENGTH

    def _measure(self) -> None:
        conversation = self.short_memory
        lines = (conversation.line(turn).content for turn in conversation.turns)
        self.meter.restart([conversation.preamble, self._tool_text, *lines])

    @property
    def _tool_text(self) -> str:
        return json.dumps([spec.parameters for spec in self._specs]) if self._tools else ""

    @property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in self._tools.values())

    # Running

    def run(self, task: str, on_piece: Callable[[Piece], None] = lambda _piece: None) -> str:
        """Give the agent a task and return its last reply.

        The task is stored before the request goes out, every reply and tool result as it is whole. What
        came before an interruption or a broken stream is stored and marked.

        Args:
            task: what the user says.
            on_piece: told every piece of the replies as it arrives.

        Raises:
            RequestTooLarge: the task cannot fit the window; it was not stored.
            ModelError: the model did not answer; the task is stored, and `retry` sends it again.
            StorageError: what was said could not be stored.
            KeyboardInterrupt: as it came; what had arrived is stored.
        """
        with self._lock:
            self.refresh()
            text = storable(task)
            self._check_floor(text)
            pending = self._add(USER, text)
            return self._answer(pending, on_piece)

    def retry(self, on_piece: Callable[[Piece], None] = lambda _piece: None) -> str:
        """Send the last message that has no whole reply again, without storing it twice.

        Raises:
            NotFound: every message has its reply.
            ModelError: as `run`.
        """
        with self._lock:
            self.refresh()
            pending = self.short_memory.reopen()
            if pending is None:
                raise NotFound("nothing to retry: the last message has its reply")
            self._measure()
            return self._answer(pending, on_piece)

    def refresh(self) -> str:
        """Take in what others did to MEMORY.md; returns `none`, `appended` or `edited`."""
        before = len(self.short_memory.turns)
        kind = self.short_memory.refresh()
        if kind == "edited":
            self.notice(f"{self.short_memory.memory_md_path} was edited; it was read again, whole")
            self._meter = None
        elif kind == "appended" and self._meter:
            for turn in self.short_memory.turns[before:]:
                self._meter.add(self.short_memory.line(turn).content)
        return kind

    def _add(self, role: str, text: str, **marks: object) -> Turn:
        turn = self.short_memory.add(role, text, **marks)  # type: ignore[arg-type]  # note, tool_calls, tool_call_id
        self.meter.add(self.short_memory.line(turn).content)
        return turn

    def _answer(self, pending: Turn, on_piece: Callable[[Piece], None]) -> str:
        loops = self.settings.max_loops
        limit = AUTO_LIMIT if loops == "auto" else loops
        answer = ""
        for step in range(1, limit + 1):
            pending = self._make_room(pending)
            prompt = ""
            if step > 1 and not self.last_reply.tool_calls:
                prompt = (
                    f"(step {step} of {limit}) Go on with the task above. If nothing is left to do, reply with "
                    f"exactly: {DONE}"
                )
            reply = self._call(pending, prompt, on_piece)
            if prompt and not reply.tool_calls and reply.text.strip().strip(".") == DONE:
                return answer  # bookkeeping, not a reply
            self._keep(reply)
            answer = reply.text or answer
            if reply.tool_calls:
                self._run_tools(reply.tool_calls)
            elif loops == "auto":
                return answer
        if self.last_reply.tool_calls:
            self.notice(f"stopped after {limit} model calls with tools still wanted")
        return answer

    def _keep(self, reply: Reply) -> None:
        if reply.text or reply.tool_calls:
            self._add(self.agent_name, reply.text, tool_calls=tuple(reply.tool_calls))

    def _call(self, pending: Turn, prompt: str, on_piece: Callable[[Piece], None]) -> Reply:
        """Send one request and return the reply; a refusal that teaches the window's length is tried again."""
        try:
            return self._stream(prompt, on_piece)
        except ContextOverflow as overflow:
            if self.last_reply.text or not self.context_compressor:
                raise
            if overflow.limit and overflow.limit < self.meter.context_length:
                self.meter.context_length = overflow.limit
            self._compress(pending, must_fit=True)
            return self._stream(prompt, on_piece)

    def _stream(self, prompt: str, on_piece: Callable[[Piece], None]) -> Reply:
        reply = self.last_reply = Reply()
        request = self._request(prompt)
        try:
            with closing(self.model.stream(request)) as stream:
                for piece in stream:
                    if isinstance(piece, TextDelta):
                        reply.text += piece.text
                    elif isinstance(piece, ToolCall):
                        reply.tool_calls.append(piece)
                    elif isinstance(piece, Usage):
                        reply.usage = piece
                    elif isinstance(piece, Finish):
                        reply.finish = piece.reason
                    on_piece(piece)
        except (ModelError, KeyboardInterrupt):
            if reply.text:
                self._add(self.agent_name, reply.text, note=INTERRUPTED)
            raise
        self.meter.report(reply.usage.prompt_tokens)
        reply.text = storable(reply.text)
        return reply

    def _request(self, prompt: str) -> Request:
        messages = self.short_memory.messages()
        if prompt:
            messages = (*messages, Message("user", prompt))
        return Request(messages, self._specs, self.settings.temperature, self._reply_budget())

    def _reply_budget(self) -> int | None:
        """Return max_tokens, no more than what is left of the window; None leaves it to the provider."""
        wanted = self.settings.max_tokens
        if wanted is None or not self.meter.reaches(self.meter.context_length - wanted):
            return wanted
        return max(_LEAST_REPLY, min(wanted, self.meter.context_length - self.meter.tokens))

    def _run_tools(self, calls: Sequence[ToolCall]) -> None:
        """Run tools and store their results; every call gets one, whatever happens."""
        done = 0
        try:
            for call in calls:
                tool = self._tools.get(call.name)
                result = tool.call(call.arguments) if tool else f"error: there is no tool {call.name!r}"
                self._add(f"Tool ({_role_name(call.name)})", result, tool_call_id=call.id)
                done += 1
        except KeyboardInterrupt:
            for call in calls[done:]:
                self._add(f"Tool ({_role_name(call.name)})", "error: interrupted", tool_call_id=call.id)
            raise

    # Room in the window

    @property
    def _reserve(self) -> int:
        length = self.meter.context_length
        return max(_LEAST_REPLY, min(1024, length // _REPLY_SHARE, self.settings.max_tokens or length))

    @property
    def _fits(self) -> bool:
        return not self.meter.reaches(self.meter.context_length - self._reserve + 1)

    def _check_floor(self, task: str) -> None:
        """Refuse a task that cannot be sent even with an empty memory."""
        conversation = self.short_memory
        static = [
            conversation.system_prompt,
            conversation.rules,
            conversation.custom_rules_prompt,
            self._tool_text,
        ]
        texts = [text for text in [*static, task] if text]
        room = self.meter.context_length - self._reserve
        if sum(len(text.encode("utf-8", "replace")) for text in texts) < room:
            return
        figures = [self.meter.estimate(text) for text in texts]
        if sum(figures) > room:
            raise RequestTooLarge(
                f"the task takes ~{figures[-1]} tokens and the system prompt, rules and tools ~{sum(figures[:-1])}, "
                f"but {self.model.name} has room for {room}; shorten it, or use a model with a longer context"
            )

    def _make_room(self, pending: Turn) -> Turn:
        """Compact when it is due; returns the pending message, which a reload may have replaced."""
        compressor = self.context_compressor
        if not compressor:
            if not self._fits:
                raise RequestTooLarge(
                    f"the memory takes ~{self.meter.tokens} of {self.meter.context_length} tokens and compression "
                    f"is off; run `agentmem compact {self.agent_name}`, or leave out --no-compression"
                )
            return pending
        if compressor.due(self.meter) or not self._fits:
            pending = self._compress(pending, must_fit=not self._fits)
        return pending

    def _compress(self, pending: Turn, *, must_fit: bool) -> Turn:
        try:
            self.compact(pending=pending, must_fit=must_fit)
        except (ModelError, CompactionFailed, MemoryChanged) as error:
            self.notice(f"not compacted: {error}")
        if pending not in self.short_memory.turns:  # the file was edited, and read again, meanwhile
            pending = self.short_memory.reopen() or pending
            self._measure()
        if not self._fits:
            raise RequestTooLarge(
                f"the next request takes ~{self.meter.tokens} of {self.meter.context_length} tokens even after "
                "compaction; shorten the task or the system prompt, or use a model with a longer context"
            )
        return pending

    def compact(
        self,
        *,
        focus: str = "",
        summary: str | None = None,
        dry_run: bool = False,
        pending: Turn | None = None,
        must_fit: bool = False,
        progress: Callable[[int, int], None] = lambda _part, _parts: None,
    ) -> Compaction:
        """Summarise the memory now; the raw log goes to the archive.

        Args:
            focus: what the summary should keep above all.
            summary: a text to use instead of asking the model.
            dry_run: write nothing.
            pending: the message that is being worked on, which stays word for word.
            must_fit: make do without a model rather than fail.
            progress: told the part under way and the number of parts.

        Raises:
            CompactionFailed: nothing to compact, or no usable summary; MEMORY.md is untouched.
            ModelError: the model did not answer; MEMORY.md is untouched.
            StorageError: MEMORY.md is untouched.
        """
        with self._lock:
            if pending is None:
                self.refresh()
            compressor = self.context_compressor or ContextCompressor()
            model, window = self.model, self.meter.context_length
            if compressor.summarizer_model and compressor.summarizer_model != model.name and summary is None:
                model = models.open_model(self.settings, compressor.summarizer_model)
                window = model.context_length() or DEFAULT_CONTEXT_LENGTH
            report = compressor.compress(
                self.short_memory,
                model,
                self.meter,
                window=window,
                pending=pending,
                focus=focus,
                summary=summary,
                dry_run=dry_run,
                must_fit=must_fit,
                progress=progress,
            )
            if not dry_run:
                self.last_compaction = report
                self._measure()
            return report


def _tool(function: Callable[..., object]) -> tools.Tool:
    return tools.tool_from(function)


def _role_name(name: str) -> str:
    """Return a tool's name as it may stand in a heading, whatever the model made up."""
    return name if name.isidentifier() else "unknown"
