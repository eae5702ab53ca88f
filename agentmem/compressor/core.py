"""`ContextCompressor`: its settings, when it fires, and the order of a compaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem.errors import MemoryChanged, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.compressor.report import Compaction
    from agentmem.conversation import Conversation
    from agentmem.models.base import Model
    from agentmem.tokens import Meter
    from agentmem.turns import Turn


class ContextCompressor:
    """Watches how full the context window is and folds history into a summary.

    Attributes:
        threshold: share of the context window at which it fires, in (0, 1].
        summarizer_model: model that writes summaries; None for the agent's own.
        summarizer_temperature: its sampling temperature.
        summarizer_max_tokens: tokens of a summary at most; no more than a quarter of its model's window.
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
        fixed: int = 0,
        capacity: int | None = None,
        by_model: bool = True,
        progress: Callable[[int, int], None] = lambda _part, _parts: None,
    ) -> Compaction:
        """Summarise the record and fold it; on any error, Ctrl-C included, nothing is changed.

        Args:
            conversation: whose history is folded; it should be refreshed.
            model: the summariser.
            meter: counts tokens.
            window: the summariser's context length in tokens.
            pending: the user's message that is being worked on; it is never summarised.
            focus: what to keep above all.
            summary: a text to use instead of asking the model.
            dry_run: stop before anything is written.
            fixed: tokens of every request besides the record: system prompt, rules, tools.
            capacity: tokens the next request may take, where it would not fit as it is: rather than fail,
                less stays word for word, the summary is shorter, or it is made without a model.
            by_model: whether a model is asked at all; without one, `capacity` must be given.
            progress: told the part under way and the number of parts.

        Raises:
            NothingToCompact: all there is stays word for word, or is a summary already.
            CompactionFailed: the summary is of no use.
            ModelError: the model did not answer.
            MemoryChanged: MEMORY.md was edited meanwhile, twice.
            StorageError: MEMORY.md cannot be written.
        """
        # Here and not above: the patterns take time to compile, and most sessions never compact.
        from agentmem.compressor.attempt import Attempt, KeptResults, Limits
        from agentmem.compressor.summariser import Summariser

        results = KeptResults(conversation, write=not dry_run)
        summariser = Summariser(
            model=model,
            window=window,
            temperature=self.summarizer_temperature,
            max_tokens=self.summarizer_max_tokens,
            max_calls=self.max_summary_calls,
            count=meter.size,
            results=results,
            progress=progress,
        )
        limits = Limits.of(
            meter.context_length, self.keep_tokens, self.trigger(meter.context_length), fixed, capacity
        )
        for last_try in (False, True):
            attempt = Attempt(conversation, summariser, limits, meter, pending, focus, by_model=by_model)
            report = attempt.run(summary)
            if dry_run:
                return report
            try:
                return replace(report, archive=conversation.compact(report.summary, attempt.kept))
            except MemoryChanged:
                if last_try:
                    raise
                conversation.refresh()
        raise AssertionError("unreachable: the second try returns or raises")
