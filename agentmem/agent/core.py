"""`Agent`: the order in which things happen in a run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agentmem import settings
from agentmem.agent import missing
from agentmem.agent.link import Link
from agentmem.agent.parts import compressor_for, say_unapproved
from agentmem.agent.reply import Reply
from agentmem.agent.steps import Run, RunReport
from agentmem.agent.toolbox import Toolbox
from agentmem.agent.turnstile import Turnstile
from agentmem.conversation import Conversation
from agentmem.entries import storable
from agentmem.errors import NotFound, ToolsNotSupported, UsageError
from agentmem.memory import Memory
from agentmem.roles import USER
from agentmem.stamps import now
from agentmem.tools import load
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from typing_extensions import Self

    from agentmem.agent.room import Room
    from agentmem.agent.window import Window
    from agentmem.compressor import Compaction, ContextCompressor
    from agentmem.converting import Loops
    from agentmem.entries import Entry
    from agentmem.models.base import Model, Piece, ToolCall
    from agentmem.settings import Settings
    from agentmem.tokens import Meter
    from agentmem.tools import Tool

_log = logging.getLogger("agentmem")


class Agent:
    """An LLM agent that remembers.

    Attributes:
        agent_name: its name, and its folder's.
        short_memory: its `Conversation`.
        context_compressor: its `ContextCompressor`, or None when compression is off; it may be replaced.
        confirm: asked before each call of a tool; None lets them run.
        on_missing: asked whether entries of this session that vanished from MEMORY.md shall come back;
            None only tells.
        notice: told what a person should know.
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
        tools: Sequence[Callable[..., object] | Tool] = (),
        workspace_dir: str | Path | None = None,
        persistent_memory: bool | None = None,
        *,
        model: Model | None = None,
        resolved: Settings | None = None,
        confirm: Callable[[ToolCall], bool] | None = None,
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
            tools: functions the model may call, besides those that the settings name.
            workspace_dir: the workspace; None takes `WORKSPACE_DIR` or the user's data folder.
            persistent_memory: keep MEMORY.md (on by default).
            model: a model to use instead of opening one by name.
            resolved: settings instead of loading them from the environment and files.
            confirm: asked before each call of a tool whether it may run.
            clock: gives the current time, aware.
            notice: told what a person should know; by default the `agentmem` logger.

        Raises:
            InvalidAgentName: the name is refused; nothing was created.
            ConfigurationError: a settings file or a tool cannot be used.
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
        loaded = resolved or settings.load(flags, agent_folder=folder)
        if not resolved:
            say_unapproved(loaded, agent_name, notice)
        self.confirm = confirm
        self._toolbox = Toolbox([*tools, *map(load, loaded.tools)], timeout=loaded.tool_timeout)
        self.on_missing: Callable[[tuple[Entry, ...]], bool] | None = None
        self._turnstile = Turnstile(agent_name)
        self.short_memory = Conversation(
            agent_name,
            Memory.configured(folder, loaded, clock) if loaded.memory else None,
            system_prompt=loaded.system_prompt,
            rules=loaded.rules,
            custom_rules_prompt=custom_rules_prompt,
            clock=clock,
        )
        self.context_compressor = compressor_for(loaded) if loaded.compression else None
        self._link = Link(
            self.short_memory, self._toolbox, loaded, model, lambda: self.context_compressor, notice
        )
        self._run: Run | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the model's connections and weights; the next run opens them again."""
        self._link.close()

    @property
    def settings(self) -> Settings:
        """Every setting, resolved."""
        return self._link.settings

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
        return self._link.model

    def use_model(self, name: str) -> None:
        """Talk to another model from now on, with that model's own context length.

        Raises:
            ConfigurationError: it cannot be opened; the present one stays.
        """
        with self._turnstile.lock:
            self._link.switch(name)

    @property
    def window(self) -> Window:
        """The context window, measured on first use; errors as `model`."""
        return self._link.context.window

    @property
    def room(self) -> Room:
        """What makes room in the window; errors as `model`."""
        return self._link.context.room

    @property
    def meter(self) -> Meter:
        """How full the context window is."""
        return self.window.meter

    @property
    def last_reply(self) -> Reply:
        """The last reply of the model in this session, with its usage."""
        return self._run.reply if self._run else Reply()

    @property
    def last_run(self) -> RunReport:
        """What the last run of this session took: calls, usage, compactions; also one that failed."""
        return self._run.report if self._run else RunReport()

    # Running

    def run(
        self,
        task: str,
        on_piece: Callable[[Piece], None] = lambda _piece: None,
        on_result: Callable[[ToolCall, str], None] = lambda _call, _result: None,
    ) -> str:
        """Give the agent a task and return its last reply.

        The task is stored before the request goes out, every reply and tool result as it is whole. What
        came before an interruption or a broken stream is stored and marked.

        Args:
            task: what the user says.
            on_piece: told every piece of the replies as it arrives.
            on_result: told every tool call with its result, once that is stored.

        Raises:
            UsageError: the task is empty, or a tool or a callback of another run gives it.
            RequestTooLarge: the task cannot fit the window; it was not stored.
            ToolsNotSupported: there are tools and the model takes none; where that is known beforehand,
                the task was not stored.
            ModelError: the model did not answer; the task is stored, and `retry` sends it again.
            StorageError: what was said could not be stored.
            KeyboardInterrupt: as it came; what had arrived is stored.
        """
        with self._turnstile.alone():
            run = self._start(on_piece, on_result)
            self.refresh()
            text = storable(task)
            if not text.strip():
                raise UsageError("nothing to say: the task is empty")
            self.window.check_floor(text)
            return run.answer(run.add(USER, text))

    def retry(
        self,
        on_piece: Callable[[Piece], None] = lambda _piece: None,
        on_result: Callable[[ToolCall, str], None] = lambda _call, _result: None,
    ) -> str:
        """Send the last message that has no whole reply again, without storing it twice.

        Raises:
            NotFound: every message has its reply.
            ModelError: as `run`.
        """
        with self._turnstile.alone():
            run = self._start(on_piece, on_result)
            self.refresh()
            pending = self.short_memory.reopen()
            if pending is None:
                raise NotFound("nothing to retry: the last message has its reply")
            self.window.catch_up()
            return run.answer(pending)

    def refresh(self) -> str:
        """Take in what others did to MEMORY.md; returns `none`, `appended` or `edited`."""
        kind = self.short_memory.refresh()
        if kind == "edited":
            self.notice(f"{self.short_memory.memory_md_path} was edited; it was read again, whole")
            missing.settle(self.short_memory, self.on_missing, self.notice)
        if self._link.opened:
            self.window.catch_up()
        return kind

    def _start(self, on_piece: Callable[[Piece], None], on_result: Callable[[ToolCall, str], None]) -> Run:
        """Begin a run.

        Raises:
            ToolsNotSupported: there are tools, and the model is known to take none.
        """
        if self._toolbox and not self.model.supports_tools():
            raise ToolsNotSupported(
                f"{self.model.name} takes no tools, and {self.agent_name} has "
                f"{', '.join(self._toolbox.names)}; use another model, or leave them out"
            )
        self._toolbox.confirm = self.confirm
        context = self._link.context
        context.recall.offer()
        self._run = Run(
            self.short_memory, context, self._toolbox, self.settings, self.notice, on_piece, on_result
        )
        return self._run

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
        with self._turnstile.alone():
            if summary is not None:
                self._link.choose(say=False)  # it is only measured by, not talked to
            self.refresh()
            return self.room.compact(focus=focus, summary=summary, dry_run=dry_run, progress=progress)

    def undo_compaction(self) -> str:
        """Take the last compaction back; return the name of the archive that is the memory again.

        What was said since then follows it; the summary goes to an archive of its own.

        Raises:
            NotFound: there is none to take back.
            StorageError: MEMORY.md is untouched.
        """
        with self._turnstile.lock:
            memory = self.short_memory.memory
            if not memory:
                raise NotFound("nothing to undo: this conversation is not on disk")
            archive = memory.undo()
            self.short_memory.refresh()
            if self._link.opened:
                self.window.measure()
            return archive
