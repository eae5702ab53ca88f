"""`Agent`: the order in which things happen in a run."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem import models, settings
from agentmem.agent.parts import compressor_for, memory_for, say_unapproved
from agentmem.agent.recall import Recall, share
from agentmem.agent.reply import Reply
from agentmem.agent.steps import Run, RunReport
from agentmem.agent.toolbox import Toolbox
from agentmem.agent.window import Window
from agentmem.conversation import Conversation
from agentmem.entries import storable
from agentmem.errors import ConfigurationError, NotFound, ToolsNotSupported, UsageError
from agentmem.figures import counted
from agentmem.memory.reader import now
from agentmem.roles import USER
from agentmem.tools import load
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from types import TracebackType

    from typing_extensions import Self

    from agentmem.compressor import Compaction, ContextCompressor
    from agentmem.conversation import Turn
    from agentmem.entries import Entry
    from agentmem.models.base import Model, Piece, ToolCall
    from agentmem.settings import Loops, Settings
    from agentmem.tokens import Meter
    from agentmem.tools import Tool

_log = logging.getLogger("agentmem")


class Agent:
    """An LLM agent that remembers.

    Attributes:
        agent_name: its name, and its folder's.
        settings: every setting, resolved.
        short_memory: its `Conversation`.
        context_compressor: its `ContextCompressor`, or None when compression is off; it may be replaced.
        confirm: asked before each call of a tool; None lets them run.
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
        self.settings = resolved or settings.load(flags, agent_folder=folder)
        if not resolved:
            say_unapproved(self.settings, agent_name, notice)
        self.confirm = confirm
        self._toolbox = Toolbox([*tools, *map(load, self.settings.tools)], timeout=self.settings.tool_timeout)
        self._model, self._given = model, model is not None
        self._running = False
        self.on_missing: Callable[[tuple[Entry, ...]], bool] | None = None
        self._lock = threading.RLock()
        self.short_memory = Conversation(
            agent_name,
            memory_for(folder, self.settings, clock),
            system_prompt=self.settings.system_prompt,
            rules=self.settings.rules,
            custom_rules_prompt=custom_rules_prompt,
            clock=clock,
        )
        self._persona = {
            "system_prompt": self.short_memory.system_prompt,
            "rules": self.short_memory.rules,
        }
        self.context_compressor = compressor_for(self.settings)
        self._recall = Recall(self.short_memory, self.settings.recall, notice)
        self._recall_tool = self._recall.tool(lambda: share(self.window))
        self._window: Window | None = None
        self._run: Run | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the model's connections and weights; the next run opens them again."""
        if self._window:
            self._window.close()
        if self._model:
            self._model.close()
        if not self._given:
            self._model = self._window = None

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
            self._choose_model(say=True)
            self._model = models.open_model(self.settings)
        return self._model

    def _choose_model(self, *, say: bool) -> None:
        if not self.settings.model:
            name, why = models.choose_model(self.settings)
            if say:
                self.notice(f"talking to {name}, since {why}; --model chooses another")
            self.settings = replace(self.settings, model=name)

    def use_model(self, name: str) -> None:
        """Talk to another model from now on, with that model's own context length.

        Raises:
            ConfigurationError: it cannot be opened; the present one stays.
        """
        with self._lock:
            changed = replace(self.settings, model=name, context_length=None)
            opened = models.open_model(changed)
            self.close()
            self.settings, self._model, self._given, self._window = changed, opened, False, None

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
        with self._alone():
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
        with self._alone():
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
            self._offer_missing()
        if self._window:
            self._window.catch_up()
        return kind

    def _offer_missing(self) -> None:
        """Say that entries of this session are gone from MEMORY.md, and put them back if that is wanted."""
        missing = self.short_memory.missing
        if not missing:
            return
        count = counted(len(missing), "entry")
        self.notice(
            f"{count} of this session, {missing[0].stamp} first, no longer in "
            f"{self.short_memory.memory_md_path}: an older copy was saved over what is new, or somebody "
            "removed them"
        )
        if self.on_missing is None:
            self.notice("short_memory.put_back() brings them back, short_memory.let_go() leaves them out")
        elif self.on_missing(missing):
            self.short_memory.put_back()
            self.notice(f"put {count} back at the end")
        else:
            self.short_memory.let_go()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let other threads wait their turn, and refuse a run or a compaction inside a run.

        Raises:
            UsageError: a tool or a callback of a run begins one.
        """
        with self._lock:
            if self._running:
                raise UsageError(
                    f"{self.agent_name} is in the middle of a run, which cannot hold another or a compaction"
                )
            self._running = True
            try:
                yield
            finally:
                self._running = False

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
        self._offer_recall()
        self._run = Run(
            self.agent_name,
            self.short_memory,
            self.window,
            self._toolbox,
            self.model,
            self.settings,
            self.notice,
            on_piece,
            on_result,
            self._after_compaction,
            self._recalled,
        )
        return self._run

    def _offer_recall(self) -> None:
        """Offer the search tool while it has something to find and the model takes tools."""
        self._toolbox.offer(self._recall_tool, wanted=self._recall.mode(self.model) == "tool")
        self.window.take_schema(self._toolbox.schema_text)

    def _recalled(self, pending: Turn, *, refused: bool) -> str:
        """Return what to put before a message; `refused`: the model just said that it takes no tools."""
        if refused:
            self._recall.refused = True
            self._offer_recall()
        return self._recall.before(pending, self.window) if self._recall.mode(self.model) == "auto" else ""

    def _after_compaction(self) -> None:
        self._read_persona_again()
        self._offer_recall()

    def _read_persona_again(self) -> None:
        """Take the system prompt and the rules from their files afresh, unless this session replaced them."""
        for name in ("system_prompt", "rules"):
            source = self.settings.sources.get(name, "")
            replaced = getattr(self.short_memory, name) != self._persona[name]
            if replaced or not source.endswith(".toml"):
                continue
            try:
                text = settings.read_file(Path(source)).get(name, "")
            except ConfigurationError as error:
                self.notice(f"{error}; going on with what it said before")
                continue
            self._persona[name] = storable(str(text))
            setattr(self.short_memory, name, self._persona[name])
        if self._window:
            self._window.measure()

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
        with self._alone():
            if summary is not None:
                self._choose_model(say=False)  # it is only measured by, not talked to
            self.refresh()
            report = self.window.compact(focus=focus, summary=summary, dry_run=dry_run, progress=progress)
            if not dry_run:
                self._read_persona_again()
            return report

    def undo_compaction(self) -> str:
        """Take the last compaction back; return the name of the archive that is the memory again.

        What was said since then follows it; the summary goes to an archive of its own.

        Raises:
            NotFound: there is none to take back.
            StorageError: MEMORY.md is untouched.
        """
        with self._lock:
            memory = self.short_memory.memory
            if not memory:
                raise NotFound("nothing to undo: this conversation is not on disk")
            archive = memory.undo()
            self.short_memory.refresh()
            if self._window:
                self._window.measure()
            return archive
