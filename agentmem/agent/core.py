"""`Agent`: the order in which things happen in a run."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem import models, settings
from agentmem.agent.reply import Reply
from agentmem.agent.toolbox import Toolbox, role_of
from agentmem.agent.window import Window
from agentmem.compressor import ContextCompressor
from agentmem.conversation import INTERRUPTED, Conversation, Turn
from agentmem.entries import USER, storable
from agentmem.errors import ContextOverflow, NotFound
from agentmem.memory import Memory
from agentmem.memory.store import now
from agentmem.models.base import Message, Request
from agentmem.redaction import redact
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from agentmem.compressor import Compaction
    from agentmem.models.base import Model, Piece, ToolCall
    from agentmem.settings import Loops, Settings
    from agentmem.tokens import Meter

AUTO_LIMIT = 100
"""Model calls one task may take with `max_loops="auto"`."""

DONE = "TASK COMPLETE"
"""What a model says, in a loop of several steps, when nothing is left to do."""

_log = logging.getLogger("agentmem")


class Agent:
    """An LLM agent that remembers.

    Attributes:
        agent_name: its name, and its folder's.
        settings: every setting, resolved.
        short_memory: its `Conversation`.
        context_compressor: its `ContextCompressor`, or None when compression is off; it may be replaced.
        last_reply: the last reply of the model, with usage.
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
        self._toolbox = Toolbox(tools)
        self._model = model
        self._lock = threading.RLock()
        memory = (
            Memory(
                folder,
                clock=clock,
                lock_timeout=self.settings.lock_timeout,
                redact=redact if self.settings.redact else str,
            )
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
        self._window: Window | None = None
        self.last_reply = Reply()

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
            if not self.settings.model:
                name, why = models.choose_model(self.settings)
                self.notice(f"talking to {name}, since {why}; --model chooses another")
                self.settings = replace(self.settings, model=name)
            self._model = models.open_model(self.settings)
        return self._model

    @property
    def window(self) -> Window:
        """The context window, measured on first use; errors as `model`."""
        if self._window is None:
            self._window = Window(
                self.short_memory,
                self.model,
                self.settings,
                self.context_compressor,
                self._toolbox.schema_text,
                self.notice,
            )
        self._window.compressor = self.context_compressor
        return self._window

    @property
    def meter(self) -> Meter:
        """How full the context window is."""
        return self.window.meter

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
            self.window.check_floor(text)
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
            self.window.measure()
            return self._answer(pending, on_piece)

    def refresh(self) -> str:
        """Take in what others did to MEMORY.md; returns `none`, `appended` or `edited`."""
        before = len(self.short_memory.turns)
        kind = self.short_memory.refresh()
        if kind == "edited":
            self.notice(f"{self.short_memory.memory_md_path} was edited; it was read again, whole")
            if self._window:
                self._window.measure()
        elif kind == "appended" and self._window:
            for turn in self.short_memory.turns[before:]:
                self._window.add(turn)
        return kind

    def _add(
        self,
        role: str,
        text: str,
        *,
        note: str = "",
        tool_calls: tuple[ToolCall, ...] = (),
        tool_call_id: str = "",
    ) -> Turn:
        turn = self.short_memory.add(role, text, note=note, tool_calls=tool_calls, tool_call_id=tool_call_id)
        self.window.add(turn)
        return turn

    def _answer(self, pending: Turn, on_piece: Callable[[Piece], None]) -> str:
        loops = self.settings.max_loops
        limit = AUTO_LIMIT if loops == "auto" else loops
        answer = ""
        reply = Reply()
        for step in range(1, limit + 1):
            pending = self.window.make_room(pending)
            prompt = ""
            if step > 1 and not reply.tool_calls:
                prompt = (
                    f"(step {step} of {limit}) Go on with the task above. If nothing is left to do, reply "
                    f"with exactly: {DONE}"
                )
            reply = self._call(pending, prompt, on_piece)
            if prompt and not reply.tool_calls and reply.text.strip().strip(".") == DONE:
                return answer  # bookkeeping, not a reply
            if reply.text or reply.tool_calls:
                self._add(self.agent_name, reply.text, tool_calls=tuple(reply.tool_calls))
            answer = reply.text or answer
            if reply.tool_calls:
                self._toolbox.run(reply.tool_calls, self._keep_result)
            elif loops == "auto":
                return answer
        if reply.tool_calls:
            self.notice(
                f"stopped after {limit} model calls, with tools still wanted; --max-loops allows more"
            )
        return answer

    def _keep_result(self, call: ToolCall, result: str) -> None:
        self._add(role_of(call), result, tool_call_id=call.id)

    def _call(self, pending: Turn, prompt: str, on_piece: Callable[[Piece], None]) -> Reply:
        """Send one request and return the reply; a refusal that teaches the window's length is tried again."""
        try:
            return self._exchange(prompt, on_piece)
        except ContextOverflow as overflow:
            if self.last_reply.text or not self.context_compressor:
                raise
            if overflow.limit and overflow.limit < self.meter.context_length:
                self.meter.context_length = overflow.limit
            self.window.shrink(pending, must_fit=True)
            return self._exchange(prompt, on_piece)

    def _exchange(self, prompt: str, on_piece: Callable[[Piece], None]) -> Reply:
        messages = self.short_memory.messages()
        if prompt:
            messages = (*messages, Message("user", prompt))
        request = Request(messages, self._toolbox.specs, self.settings.temperature, self.window.reply_budget)
        reply = self.last_reply = Reply()
        try:
            reply.receive(self.model, request, on_piece)
        except BaseException:
            if reply.text:
                self._add(self.agent_name, reply.text, note=INTERRUPTED)
            raise
        self.meter.report(reply.usage.prompt_tokens)
        return reply

    def compact(
        self,
        *,
        focus: str = "",
        summary: str | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int], None] = lambda _part, _parts: None,
    ) -> Compaction:
        """Summarise the memory now; the raw log goes to the archive.

        Args:
            focus: what the summary should keep above all.
            summary: a text to use instead of asking the model.
            dry_run: write nothing.
            progress: told the part under way and the number of parts.

        Raises:
            CompactionFailed: nothing to compact, or no usable summary; MEMORY.md is untouched.
            ModelError: the model did not answer; MEMORY.md is untouched.
            StorageError: MEMORY.md is untouched.
        """
        with self._lock:
            self.refresh()
            return self.window.compact(focus=focus, summary=summary, dry_run=dry_run, progress=progress)
