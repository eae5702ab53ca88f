"""Making room in a context window by compaction, and what a person is told about it."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem import models
from agentmem.agent.pace import Breaker, too_often
from agentmem.agent.parts import compressor_for
from agentmem.errors import (
    CompactionFailed,
    ContextOverflow,
    FolderLocked,
    ModelError,
    NothingToCompact,
    RequestTooLarge,
    StorageError,
)
from agentmem.models.catalog import FALLBACK_CONTEXT_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem.agent.window import Window
    from agentmem.compressor import Compaction, ContextCompressor
    from agentmem.conversation import Conversation
    from agentmem.models.base import Model
    from agentmem.settings import Settings
    from agentmem.turns import Turn

_PATIENCE = 2  # summaries in a row that a model may fail before room is made without asking it
_WANTED = 0.5  # share of the trigger that should be free after a compaction


class Room:
    """Makes room in one agent's context window.

    Attributes:
        compactions: what the compactions so far did.
        progress: told the part under way and the number of parts while room is being made.
    """

    def __init__(
        self,
        window: Window,
        conversation: Conversation,
        settings: Settings,
        compressor: Callable[[], ContextCompressor | None],
        notice: Callable[[str], None],
        on_fold: Callable[[], None],
    ) -> None:
        """Describe it; nothing is measured yet.

        Args:
            window: where room is made.
            conversation: what is folded.
            settings: open another model for summaries, and say how to compact when compression is off.
            compressor: gives what makes room by itself, or None when nothing may.
            notice: told what a person should know.
            on_fold: called after each compaction, before its result is measured.
        """
        self.compactions: list[Compaction] = []
        self.progress: Callable[[int, int], None] = self._tell_part
        self._window = window
        self._meter = window.meter
        self._conversation = conversation
        self._settings = settings
        self._compressor = compressor
        self._notice = notice
        self._on_fold = on_fold
        self._told: set[str] = set()
        self._breaker = Breaker()
        self._useless = 0

    def make(self, pending: Turn) -> Turn:
        """Compact when it is due; returns the pending message, which a reload may have replaced.

        Raises:
            RequestTooLarge: the next request does not fit, whatever was tried.
            FolderLocked: it does not fit, and another process is compacting.
            StorageError: it does not fit, and the memory cannot be folded.
        """
        fits = self._window.fits
        if not fits:
            self._window.tell_guess()
        if self._compressor() and (self._due(pending) or not fits):
            return self._shrink(pending, must_fit=not fits)
        if not fits:
            raise RequestTooLarge(
                f"the memory takes ~{self._meter.tokens} of {self._meter.context_length} tokens; {self._advice}"
            )
        return pending

    def make_after(self, overflow: ContextOverflow, pending: Turn) -> Turn:
        """Compact since the provider refused a request as too long; returns and raises as `make`.

        Raises:
            ContextOverflow: compression is off.
        """
        if not self._compressor():
            raise ContextOverflow(f"{overflow}; {self._advice}", overflow.limit) from overflow
        if overflow.limit and overflow.limit < self._meter.context_length:
            self._meter.context_length = overflow.limit
        return self._shrink(pending, must_fit=True)

    @property
    def _advice(self) -> str:
        name = shlex.quote(self._conversation.agent_name)
        return f"compression is off: run `agentmem compact {name}`, or leave out --no-compression"

    def _due(self, pending: Turn) -> bool:
        """Whether the threshold is reached and a compaction can do something about it."""
        compressor, meter = self._compressor(), self._meter
        if not compressor or not compressor.due(meter):
            return False
        trigger = int(compressor.trigger(meter.context_length))
        floor = self._window.fixed + meter.estimate(pending.content)
        if floor >= trigger:
            self._tell_once(
                "floor",
                f"the system prompt, rules, tools and message alone take ~{floor} tokens, and compaction is due from "
                f"{trigger} on: there is nothing it could do; shorten them, or use a model with a longer context",
            )
            return False
        if self._breaker.holds(meter.tokens, meter.context_length):
            self._tell_once(
                "breaker",
                "compaction rests until the context has grown: twice in a row it gained less than a tenth",
            )
            return False
        return True

    def _shrink(self, pending: Turn, *, must_fit: bool) -> Turn:
        """Compact; a failure is reported and matters only when the next request would not fit."""
        try:
            self._compact_if_still_due(pending, must_fit=must_fit)
        except NothingToCompact:
            self._breaker.passed(1, 1)
        except (FolderLocked, StorageError) as error:
            if not self._window.fits:
                raise
            self._notice(f"not compacted: {error}")
        except (ModelError, CompactionFailed) as error:
            self._breaker.passed(self._meter.tokens, self._meter.tokens)
            self._notice(f"not compacted: {error}")
        pending = self._current(pending)
        if not self._window.fits:
            raise RequestTooLarge(
                f"the next request takes ~{self._meter.tokens} of {self._meter.context_length} tokens even after "
                "compaction; shorten the task or the system prompt, or use a model with a longer context"
            )
        return pending

    def _current(self, pending: Turn) -> Turn:
        """Return the pending message as it is now: MEMORY.md may have been read again, whole, meanwhile."""
        if pending in self._conversation.turns:
            return pending
        found = self._conversation.reopen() or pending
        self._window.measure()
        return found

    def _compact_if_still_due(self, pending: Turn, *, must_fit: bool) -> None:
        compressor = self._compressor()
        with self._alone():
            if self._take_in() and self._window.fits and not (compressor and compressor.due(self._meter)):
                return  # another process has compacted while this one waited
            report = self._fold(pending=pending, must_fit=must_fit, progress=self.progress)
        self._breaker.passed(report.before, report.after)
        self._notice(f"compacted: {report.line}")
        self._warn(report)
        self._warn_often()

    def compact(
        self,
        *,
        focus: str = "",
        summary: str | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int], None] = lambda _part, _parts: None,
    ) -> Compaction:
        """Fold the conversation into a summary; parameters and errors as `Agent.compact`."""
        with self._alone():
            self._take_in()
            report = self._fold(focus=focus, summary=summary, dry_run=dry_run, progress=progress)
        if not dry_run:
            self._breaker = Breaker()
            self._warn(report)
        return report

    def _alone(self) -> AbstractContextManager[None]:
        memory = self._conversation.memory
        return memory.compacting() if memory else nullcontext()

    def _take_in(self) -> bool:
        """Take in what others did to MEMORY.md while this process waited for its turn."""
        if self._conversation.refresh() == "none":
            return False
        self._window.measure()
        return True

    def _fold(
        self,
        *,
        focus: str = "",
        summary: str | None = None,
        dry_run: bool = False,
        pending: Turn | None = None,
        must_fit: bool = False,
        progress: Callable[[int, int], None],
    ) -> Compaction:
        if summary is None:
            self._window.tell_guess()
        before = self._meter.tokens
        compressor = self._compressor() or compressor_for(self._settings)
        with self._summariser(compressor, needed=summary is None) as (model, length):
            report = compressor.compress(
                self._conversation,
                model,
                self._meter,
                window=length,
                pending=pending,
                focus=focus,
                summary=summary,
                dry_run=dry_run,
                fixed=self._window.fixed,
                capacity=self._window.capacity if must_fit else None,
                by_model=not must_fit or self._useless < _PATIENCE,
                progress=progress,
            )
        self._useless = self._useless + 1 if report.extractive else 0
        if dry_run:
            return report
        self._on_fold()
        self._window.measure()
        self.compactions.append(replace(report, before=before, after=self._meter.tokens))
        return self.compactions[-1]

    @contextmanager
    def _summariser(self, compressor: ContextCompressor, *, needed: bool) -> Iterator[tuple[Model, int]]:
        """Open the model that writes summaries; yields it and its window in tokens."""
        name, own = compressor.summarizer_model, self._window.model
        if not needed or not name or name == own.name:
            yield own, self._meter.context_length
            return
        # A context length that was set is the conversation's, not the summariser's.
        model = models.open_model(replace(self._settings, context_length=None), name)
        try:
            yield model, model.context_length() or FALLBACK_CONTEXT_LENGTH
        finally:
            model.close()

    # What to tell

    def _tell_part(self, part: int, parts: int) -> None:
        if parts > 1:
            self._notice(f"compacting: part {part} of {parts}")

    def _tell_once(self, topic: str, message: str) -> None:
        if topic not in self._told:
            self._told.add(topic)
            self._notice(message)

    def _warn(self, report: Compaction) -> None:
        """Say why when little room was made."""
        compressor = self._compressor()
        if not compressor:
            return
        trigger = int(compressor.trigger(self._meter.context_length))
        if report.after > _WANTED * trigger:
            fixed, summary = self._window.fixed, self._meter.estimate(report.summary)
            self._notice(
                f"{report.after} tokens are in use right after compaction, more than half of the {trigger} at which "
                f"it fires: the system prompt, rules and tools take {fixed}, the summary {summary}, what stays word "
                f"for word {max(0, report.after - fixed - summary)}"
            )

    def _warn_often(self) -> None:
        """Say so when room had to be made too often."""
        memory = self._conversation.memory
        if memory and too_often(memory):
            self._tell_once(
                "often",
                "compacted three times within ten turns: the context window is small for this conversation; use a "
                "model with a longer context, a shorter system prompt, or a smaller keep_tokens",
            )
