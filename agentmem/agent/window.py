"""The context window of an agent: how full it is, and how room is made in it."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem import models
from agentmem.agent.pace import Breaker, too_often
from agentmem.agent.tally import Tally
from agentmem.compressor import Compaction, ContextCompressor
from agentmem.errors import (
    CompactionFailed,
    FolderLocked,
    ModelError,
    NothingToCompact,
    RequestTooLarge,
    StorageError,
)
from agentmem.models.catalog import FALLBACK_CONTEXT_LENGTH
from agentmem.tokens import Estimator, Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem.conversation import Conversation, Turn
    from agentmem.models.base import Model
    from agentmem.settings import Settings

_LEAST_REPLY = 64  # tokens a reply needs to be worth a request
_REPLY_SHARE = 16  # a request leaves at least 1/16 of the window, up to _REPLY_TOKENS, for the reply
_REPLY_TOKENS = 1024
_RESULT_SHARE = 8  # one result of a tool takes at most 1/8 of the window in a request, roughly
_TOKEN_BYTES = 3  # of ordinary text in any script
_LEAST_RESULT = 1000  # bytes
_PATIENCE = 2  # summaries in a row that a model may fail before room is made without asking it
_WANTED = 0.5  # share of the trigger that should be free after a compaction


class Window:
    """One agent's context window.

    Attributes:
        meter: how full it is.
        compressor: what makes room, or None when nothing may.
        compactions: what the compactions so far did.
        progress: told the part under way and the number of parts while room is being made.
    """

    def __init__(
        self,
        conversation: Conversation,
        model: Model,
        settings: Settings,
        compressor: ContextCompressor | None,
        schema_text: str,
        notice: Callable[[str], None],
    ) -> None:
        """Look the window's length up and measure the conversation; nothing is counted yet.

        Args:
            conversation: what goes into it.
            model: whose window it is.
            settings: context_length and max_tokens count.
            compressor: what makes room.
            schema_text: the tools' part of every request.
            notice: told what a person should know.
        """
        self.compressor = compressor
        self.compactions: list[Compaction] = []
        self.progress: Callable[[int, int], None] = self._tell_part
        self._conversation = conversation
        self._model = model
        self._settings = settings
        self._schema_text = schema_text
        self._notice = notice
        self._told: set[str] = set()
        self._breaker = Breaker()
        self._useless = 0
        length = settings.context_length or model.context_length()
        if not length:
            length = FALLBACK_CONTEXT_LENGTH
            notice(
                f"the context length of {model.name} is unknown; taking {length} tokens (set it with "
                "--context-length or context_length in agent.toml)"
            )
        conversation.result_bytes = max(_LEAST_RESULT, length * _TOKEN_BYTES // _RESULT_SHARE)
        estimator = Estimator(model.name)
        self.meter = Meter(estimator, length)
        self._tally = Tally(conversation.memory.folder if conversation.memory else None, estimator)
        self._measured = (0, 0)
        self.measure()

    def take_schema(self, schema_text: str) -> None:
        """Count with other tools from now on."""
        if schema_text != self._schema_text:
            self._schema_text = schema_text
            self.measure()

    def measure(self) -> None:
        """Measure the next request anew, after the history was replaced."""
        conversation = self._conversation
        turns = conversation.turns
        self._measured = conversation.generation, len(turns)
        # A summary goes with the preamble, not as a turn.
        lines = (conversation.line(turn).counted for turn in conversation.spoken)
        preamble, memory = [conversation.preamble], conversation.remembered
        done, tokens = self._tally.known(memory)
        if done:
            before, _, after = conversation.preamble.partition(memory.strip())
            preamble = [before + after, memory[done:]]
        self.meter.restart([*preamble, self._schema_text, *lines], tokens)

    def close(self) -> None:
        """Keep what was counted."""
        self._tally.keep(self._conversation.remembered)

    def catch_up(self) -> None:
        """Take into account what was said, or replaced, since the conversation was last looked at."""
        generation, seen = self._measured
        if generation != self._conversation.generation:
            self.measure()
            return
        turns = self._conversation.turns
        for turn in turns[seen:]:
            self.meter.add(self._conversation.line(turn).counted)
        self._measured = generation, len(turns)

    @property
    def reserve(self) -> int:
        """Tokens that every request leaves for the reply."""
        length = self.meter.context_length
        share = min(_REPLY_TOKENS, length // _REPLY_SHARE, self._settings.max_tokens or length)
        return max(_LEAST_REPLY, share)

    @property
    def fits(self) -> bool:
        """Whether the next request leaves room for a reply."""
        return not self.meter.reaches(self.meter.context_length - self.reserve + 1)

    @property
    def reply_budget(self) -> int | None:
        """`max_tokens` of the next request, no more than what is left; None leaves it to the provider."""
        wanted = self._settings.max_tokens
        if wanted is None or not self.meter.reaches(self.meter.context_length - wanted):
            return wanted
        return max(_LEAST_REPLY, min(wanted, self.meter.context_length - self.meter.tokens))

    @property
    def _static(self) -> str:
        conversation = self._conversation
        parts = [conversation.system_prompt, conversation.rules, conversation.custom_rules_prompt]
        return "\n\n".join(text for text in [*parts, self._schema_text] if text)

    def check_floor(self, task: str) -> None:
        """Refuse a task that cannot be sent even with an empty memory.

        Raises:
            RequestTooLarge: with the figures.
        """
        static = self._static
        room = self.meter.context_length - self.reserve
        if len(static.encode("utf-8", "replace")) + len(task.encode("utf-8", "replace")) < room:
            return
        if room <= 0:
            raise RequestTooLarge(
                f"a context window of {self.meter.context_length} tokens leaves no room for a message"
            )
        fixed, wanted = self.meter.estimate(static), self.meter.estimate(task)
        if fixed + wanted > room:
            raise RequestTooLarge(
                f"the message takes ~{wanted} tokens and the system prompt, rules and tools ~{fixed}, but "
                f"{self._model.name} has room for {room}; shorten them, or use a model with a longer context"
            )

    # Making room

    def make_room(self, pending: Turn) -> Turn:
        """Compact when it is due; returns the pending message, which a reload may have replaced.

        Raises:
            RequestTooLarge: the next request does not fit, whatever was tried.
        """
        if self.compressor and (self._due(pending) or not self.fits):
            return self.shrink(pending, must_fit=not self.fits)
        if not self.fits:
            raise RequestTooLarge(
                f"the memory takes ~{self.meter.tokens} of {self.meter.context_length} tokens; "
                f"{self.without_compression}"
            )
        return pending

    @property
    def without_compression(self) -> str:
        """What to do when a request does not fit and compression is off."""
        name = self._conversation.agent_name
        return f"compression is off: run `agentmem compact {name}`, or leave out --no-compression"

    def _due(self, pending: Turn) -> bool:
        """Whether the threshold is reached and a compaction can do something about it."""
        if not self.compressor or not self.compressor.due(self.meter):
            return False
        trigger = int(self.compressor.trigger(self.meter.context_length))
        floor = self.meter.estimate(self._static) + self.meter.estimate(pending.content)
        if floor >= trigger:
            self._tell(
                "floor",
                f"the system prompt, rules, tools and message alone take ~{floor} tokens, and compaction is due from "
                f"{trigger} on: there is nothing it could do; shorten them, or use a model with a longer context",
            )
            return False
        if self._breaker.holds(self.meter.tokens, self.meter.context_length):
            self._tell(
                "breaker",
                "compaction rests until the context has grown: twice in a row it gained less than a tenth",
            )
            return False
        return True

    def shrink(self, pending: Turn, *, must_fit: bool) -> Turn:
        """Compact; a failure is reported and matters only when the next request would not fit.

        Raises:
            RequestTooLarge: it does not fit.
            FolderLocked: it does not fit, and another process is compacting.
            StorageError: it does not fit, and the memory cannot be folded.
        """
        try:
            self._compact_if_still_due(pending, must_fit=must_fit)
        except NothingToCompact:
            self._breaker.passed(1, 1)
        except (FolderLocked, StorageError) as error:
            if not self.fits:
                raise
            self._notice(f"not compacted: {error}")
        except (ModelError, CompactionFailed) as error:
            self._breaker.passed(self.meter.tokens, self.meter.tokens)
            self._notice(f"not compacted: {error}")
        pending = self._current(pending)
        if not self.fits:
            raise RequestTooLarge(
                f"the next request takes ~{self.meter.tokens} of {self.meter.context_length} tokens even after "
                "compaction; shorten the task or the system prompt, or use a model with a longer context"
            )
        return pending

    def _current(self, pending: Turn) -> Turn:
        """Return the pending message as it is now: MEMORY.md may have been read again, whole, meanwhile."""
        if pending in self._conversation.turns:
            return pending
        found = self._conversation.reopen() or pending
        self.measure()
        return found

    def _compact_if_still_due(self, pending: Turn, *, must_fit: bool) -> None:
        with self._alone():
            if self._take_in() and self.fits and not (self.compressor and self.compressor.due(self.meter)):
                return  # another process has compacted while this one waited
            report = self._fold(pending=pending, must_fit=must_fit, progress=self.progress)
        self._breaker.passed(report.before, report.after)
        self._notice(f"compacted: {report.line}")
        self._warn(report)

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
        self.measure()
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
        before = self.meter.tokens
        compressor = self.compressor or ContextCompressor(
            keep_tokens=self._settings.keep_tokens, max_summary_calls=self._settings.max_summary_calls
        )
        with self._summariser(compressor, needed=summary is None) as (model, window):
            report = compressor.compress(
                self._conversation,
                model,
                self.meter,
                window=window,
                pending=pending,
                focus=focus,
                summary=summary,
                dry_run=dry_run,
                fixed=self.meter.estimate(self._static),
                capacity=self.meter.context_length - self.reserve if must_fit else None,
                by_model=not must_fit or self._useless < _PATIENCE,
                progress=progress,
            )
        self._useless = self._useless + 1 if report.extractive else 0
        if dry_run:
            return report
        self.measure()
        self.compactions.append(replace(report, before=before, after=self.meter.tokens))
        return self.compactions[-1]

    @contextmanager
    def _summariser(self, compressor: ContextCompressor, *, needed: bool) -> Iterator[tuple[Model, int]]:
        """Open the model that writes summaries; yields it and its window in tokens."""
        name = compressor.summarizer_model
        if not needed or not name or name == self._model.name:
            yield self._model, self.meter.context_length
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

    def _tell(self, topic: str, message: str) -> None:
        """Tell something once."""
        if topic not in self._told:
            self._told.add(topic)
            self._notice(message)

    def _warn(self, report: Compaction) -> None:
        """Say why when little room was made, or room had to be made too often."""
        compressor = self.compressor
        if not compressor:
            return
        trigger = int(compressor.trigger(self.meter.context_length))
        if report.after > _WANTED * trigger:
            fixed, summary = self.meter.estimate(self._static), self.meter.estimate(report.summary)
            self._notice(
                f"{report.after} tokens are in use right after compaction, more than half of the {trigger} at which "
                f"it fires: the system prompt, rules and tools take {fixed}, the summary {summary}, what stays word "
                f"for word {max(0, report.after - fixed - summary)}"
            )
        memory = self._conversation.memory
        if memory and too_often(memory):
            self._tell(
                "often",
                "compacted three times within ten turns: the context window is small for this conversation; use a "
                "model with a longer context, a shorter system prompt, or a smaller keep_tokens",
            )
