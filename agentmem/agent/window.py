"""The context window of an agent: how full it is, and how room is made in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem import models
from agentmem.compressor import Compaction, ContextCompressor
from agentmem.errors import CompactionFailed, MemoryChanged, ModelError, RequestTooLarge
from agentmem.tokens import Estimator, Meter

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.conversation import Conversation, Turn
    from agentmem.models.base import Model
    from agentmem.settings import Settings

DEFAULT_CONTEXT_LENGTH = 8192
_LEAST_REPLY = 64  # tokens a reply needs to be worth a request
_REPLY_SHARE = 16  # a request leaves at least 1/16 of the window, up to _REPLY_TOKENS, for the reply
_REPLY_TOKENS = 1024
_RESULT_SHARE = 8  # one result of a tool takes at most 1/8 of the window in a request, roughly
_TOKEN_BYTES = 3  # of ordinary text in any script
_LEAST_RESULT = 1000  # bytes


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
        self.progress: Callable[[int, int], None] = lambda _part, _parts: None
        self._conversation = conversation
        self._model = model
        self._settings = settings
        self._schema_text = schema_text
        self._notice = notice
        length = settings.context_length or model.context_length()
        if not length:
            length = DEFAULT_CONTEXT_LENGTH
            notice(
                f"the context length of {model.name} is unknown; taking {length} tokens (set it with "
                "--context-length or context_length in agent.toml)"
            )
        conversation.result_bytes = max(_LEAST_RESULT, length * _TOKEN_BYTES // _RESULT_SHARE)
        self.meter = Meter(Estimator(model.name), length)
        self._measured = (0, 0)
        self.measure()

    def measure(self) -> None:
        """Measure the next request anew, after the history was replaced."""
        conversation = self._conversation
        turns = conversation.turns
        self._measured = conversation.generation, len(turns)
        lines = (conversation.line(turn).content for turn in turns)
        self.meter.restart([conversation.preamble, self._schema_text, *lines])

    def catch_up(self) -> None:
        """Take into account what was said, or replaced, since the conversation was last looked at."""
        generation, seen = self._measured
        if generation != self._conversation.generation:
            self.measure()
            return
        turns = self._conversation.turns
        for turn in turns[seen:]:
            self.meter.add(self._conversation.line(turn).content)
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

    def check_floor(self, task: str) -> None:
        """Refuse a task that cannot be sent even with an empty memory.

        Raises:
            RequestTooLarge: with the figures.
        """
        conversation = self._conversation
        rules = [conversation.system_prompt, conversation.rules, conversation.custom_rules_prompt]
        static = "\n\n".join(text for text in [*rules, self._schema_text] if text)
        room = self.meter.context_length - self.reserve
        if len(static.encode("utf-8", "replace")) + len(task.encode("utf-8", "replace")) < room:
            return
        fixed, wanted = self.meter.estimate(static), self.meter.estimate(task)
        if fixed + wanted > room:
            raise RequestTooLarge(
                f"the message takes ~{wanted} tokens and the system prompt, rules and tools ~{fixed}, but "
                f"{self._model.name} has room for {room}; shorten them, or use a model with a longer context"
            )

    def make_room(self, pending: Turn) -> Turn:
        """Compact when it is due; returns the pending message, which a reload may have replaced.

        Raises:
            RequestTooLarge: the next request does not fit, whatever was tried.
        """
        if self.compressor and (self.compressor.due(self.meter) or not self.fits):
            return self.shrink(pending, must_fit=not self.fits)
        if not self.fits:
            raise RequestTooLarge(
                f"the memory takes ~{self.meter.tokens} of {self.meter.context_length} tokens and compression is "
                f"off; run `agentmem compact {self._conversation.agent_name}`, or leave out --no-compression"
            )
        return pending

    def shrink(self, pending: Turn, *, must_fit: bool) -> Turn:
        """Compact; a failure is reported and matters only when the next request would not fit.

        Raises:
            RequestTooLarge: it does not fit.
        """
        try:
            self.compact(pending=pending, must_fit=must_fit, progress=self.progress)
        except (ModelError, CompactionFailed, MemoryChanged) as error:
            self._notice(f"not compacted: {error}")
        if pending not in self._conversation.turns:  # the file was edited, and read again, meanwhile
            pending = self._conversation.reopen() or pending
            self.measure()
        if not self.fits:
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
        """Fold the conversation into a summary; parameters and errors as `Agent.compact`."""
        compressor = self.compressor or ContextCompressor()
        model, window = self._model, self.meter.context_length
        if compressor.summarizer_model and compressor.summarizer_model != model.name and summary is None:
            model = models.open_model(self._settings, compressor.summarizer_model)
            window = model.context_length() or DEFAULT_CONTEXT_LENGTH
        report = compressor.compress(
            self._conversation,
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
            self.compactions.append(report)
            self.measure()
        return report
