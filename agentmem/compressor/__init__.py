"""`ContextCompressor`: when history becomes a summary, and what of it stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentmem.compressor.split import split
from agentmem.compressor.summary import Summariser, extract, render
from agentmem.errors import CompactionFailed, MemoryChanged, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.conversation import Conversation, Turn
    from agentmem.models.base import Model
    from agentmem.tokens import Meter

__all__ = ["Compaction", "ContextCompressor"]

_KEEP_SHARE, _KEEP_TOKENS = 0.10, 4000
_EXTRACT_SHARE = 0.15  # of the window, for the summary made without a model


@dataclass(frozen=True)
class Compaction:
    """What a compaction did, or would do.

    Attributes:
        before: tokens of the record before.
        after: tokens of the summary and what was kept.
        summarised: turns that went into the summary.
        kept: turns that stayed word for word.
        archive: name of the archive with the raw log, "" for a dry run or when nothing is on disk.
        calls: calls of the summariser.
        left_out: parts too old to be summarised within the calls allowed; they are in the archive.
        extractive: whether the summary was made without a model.
        summary: its text.
    """

    before: int = 0
    after: int = 0
    summarised: int = 0
    kept: int = 0
    archive: str = ""
    calls: int = 0
    left_out: int = 0
    extractive: bool = False
    summary: str = ""


class ContextCompressor:
    """Watches how full the context window is and folds history into a summary.

    Attributes:
        threshold: share of the context window at which it fires, in (0, 1].
        summarizer_model: model that writes summaries; None for the agent's own.
        summarizer_temperature: its sampling temperature.
        summarizer_max_tokens: tokens of a summary at most.
        keep_tokens: tokens of recent talk that stay word for word; None for 10 % of the window, at most 4000.
        max_summary_calls: model calls one compaction may take.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        summarizer_model: str | None = None,
        summarizer_temperature: float = 0.2,
        summarizer_max_tokens: int = 4000,
        *,
        keep_tokens: int | None = None,
        max_summary_calls: int = 32,
    ) -> None:
        """Set up a compressor.

        Raises:
            UsageError: the threshold is not in (0, 1].
        """
        if not 0 < threshold <= 1:
            raise UsageError(f"threshold must be above 0 and at most 1, not {threshold!r}")
        self.threshold = threshold
        self.summarizer_model = summarizer_model
        self.summarizer_temperature = summarizer_temperature
        self.summarizer_max_tokens = summarizer_max_tokens
        self.keep_tokens = keep_tokens
        self.max_summary_calls = max_summary_calls

    def trigger(self, context_length: int) -> float:
        """Return the tokens at which compaction fires."""
        return self.threshold * context_length

    def due(self, meter: Meter) -> bool:
        """Whether the next request has reached the threshold."""
        return meter.reaches(self.trigger(meter.context_length))

    def compress(
        self,
        conversation: Conversation,
        model: Model,
        meter: Meter,
        *,
        window: int,
        pending: Turn | None = None,
        focus: str = "",
        summary: str | None = None,
        dry_run: bool = False,
        must_fit: bool = False,
        progress: Callable[[int, int], None] = lambda _part, _parts: None,
    ) -> Compaction:
        """Summarise the record and fold it; on any error nothing is changed.

        Args:
            conversation: whose history is folded; it should be refreshed.
            model: the summariser.
            meter: counts tokens.
            window: the summariser's context length in tokens.
            pending: the user's message that is being worked on; it is never summarised.
            focus: what to keep above all.
            summary: a text to use instead of asking the model.
            dry_run: stop before anything is written.
            must_fit: the next request would not fit otherwise: make do without a model rather than fail.
            progress: told the part under way and the number of parts.

        Raises:
            CompactionFailed: there is nothing to summarise, or the summary is of no use.
            ModelError: the model did not answer.
            MemoryChanged: MEMORY.md was edited meanwhile, twice.
            StorageError: MEMORY.md cannot be written.
        """
        keep = self.keep_tokens
        if keep is None:
            keep = min(int(_KEEP_SHARE * meter.context_length), _KEEP_TOKENS)
        for last_try in (False, True):
            head, kept = split(conversation.record, keep, meter.estimate, pending)
            if not head:
                raise CompactionFailed("nothing to compact: all there is stays word for word")
            if summary is None:
                report = self._summarise(head, model, meter, window, focus, progress, must_fit=must_fit)
            else:
                report = Compaction(summary=summary)
            report = _measured(report, head, kept, meter)
            if dry_run:
                return report
            try:
                return replace(report, archive=conversation.compact(report.summary, kept))
            except MemoryChanged:
                if last_try:
                    raise
                conversation.refresh()
        raise AssertionError("unreachable: the second try returns or raises")

    def _summarise(
        self,
        head: list[Turn],
        model: Model,
        meter: Meter,
        window: int,
        focus: str,
        progress: Callable[[int, int], None],
        *,
        must_fit: bool,
    ) -> Compaction:
        summariser = Summariser(
            model=model,
            window=window,
            temperature=self.summarizer_temperature,
            max_tokens=self.summarizer_max_tokens,
            max_calls=self.max_summary_calls,
            count=meter.estimate,
        )
        try:
            text, calls, left_out = summariser.summarise(head, focus, progress)
            if meter.estimate(text) >= sum(meter.estimate(render(turn)) for turn in head):
                raise CompactionFailed("the summary is no smaller than what it would replace")
        except (ModelError, CompactionFailed):
            if not must_fit:
                raise
            budget = int(_EXTRACT_SHARE * meter.context_length)
            return Compaction(summary=extract(head, budget, meter.estimate), extractive=True)
        return Compaction(summary=text, calls=calls, left_out=left_out)


def _measured(report: Compaction, head: list[Turn], kept: list[Turn], meter: Meter) -> Compaction:
    """Return the report with the figures before and after."""
    stays = sum(meter.estimate(render(turn)) for turn in kept)
    return replace(
        report,
        before=sum(meter.estimate(render(turn)) for turn in head) + stays,
        after=meter.estimate(report.summary) + stays,
        summarised=len(head),
        kept=len(kept),
    )
