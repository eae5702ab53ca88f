"""The context window of an agent: what goes into it, and how full it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.agent.prompt import Prompt
from agentmem.agent.tally import Tally
from agentmem.errors import RequestTooLarge
from agentmem.models import catalog
from agentmem.models.catalog import FALLBACK_CONTEXT_LENGTH
from agentmem.tokens import Estimator, Meter

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.conversation import Conversation
    from agentmem.models.base import Model
    from agentmem.settings import Settings

TOKEN_BYTES = 3
"""Of ordinary text in any script: a token has rarely more, so that counts by it are rather too high."""

_LEAST_REPLY = 64  # tokens a reply needs to be worth a request
_REPLY_SHARE = 16  # a request leaves at least 1/16 of the window, up to _REPLY_TOKENS, for the reply
_REPLY_TOKENS = 1024
_RESULT_SHARE = 8  # one result of a tool takes at most 1/8 of the window in a request, roughly
_LEAST_RESULT = 1000  # bytes


class Window:
    """One agent's context window.

    Attributes:
        model: whose window it is.
        prompt: what goes into it.
        meter: how full it is.
    """

    def __init__(
        self,
        conversation: Conversation,
        model: Model,
        settings: Settings,
        schema_text: str,
        notice: Callable[[str], None],
    ) -> None:
        """Look the window's length up and measure the conversation; nothing is counted yet.

        Args:
            conversation: what goes into it.
            model: whose window it is.
            settings: context_length and max_tokens count.
            schema_text: the tools' part of every request.
            notice: told what a person should know.
        """
        self.model = model
        self._conversation = conversation
        self._max_tokens = settings.max_tokens
        self._schema_text = schema_text
        self._notice = notice
        known = settings.context_length or model.context_length()
        length = known or FALLBACK_CONTEXT_LENGTH
        self._guessed = not known
        self.prompt = Prompt(conversation, max(_LEAST_RESULT, length * TOKEN_BYTES // _RESULT_SHARE))
        estimator = Estimator(model.name)
        self.meter = Meter(estimator, length)
        self._tally = Tally(conversation.memory.folder if conversation.memory else None, estimator)
        self._measured = (0, 0)
        self.measure()
        is_new = not (conversation.preload.entries or conversation.turns)
        if self._guessed and self.meter.reaches(settings.threshold * length):
            self.tell_guess(", which the conversation fills already")
        elif is_new:
            self.tell_guess()

    def tell_guess(self, so_far: str = "") -> None:
        """Say that nobody knows how long the window is; once, for a new agent or when it begins to matter."""
        if self._guessed:
            self._guessed = False
            near = catalog.similar(self.model.name)
            self._notice(
                f"the context length of {self.model.name} is unknown; taking {FALLBACK_CONTEXT_LENGTH} tokens"
                f"{so_far} (set it with --context-length N or context_length in agent.toml)"
                + (f"; did you mean {near!r}?" if near else "")
            )

    def take_schema(self, schema_text: str) -> None:
        """Count with other tools from now on."""
        if schema_text != self._schema_text:
            self._schema_text = schema_text
            self.measure()

    def measure(self) -> None:
        """Measure the next request anew, after the history was replaced."""
        prompt = self.prompt
        self._measured = self._conversation.generation, len(self._conversation.turns)
        # A summary goes with the preamble, not as a turn.
        lines = (prompt.line(turn).counted for turn in prompt.spoken)
        preamble, memory = [prompt.preamble], prompt.remembered
        done, tokens = self._tally.known(memory)
        if done:
            before, _, after = prompt.preamble.partition(memory.strip())
            preamble = [before + after, memory[done:]]
        self.meter.restart([*preamble, self._schema_text, *lines], tokens)

    def catch_up(self) -> None:
        """Take into account what was said, or replaced, since the conversation was last looked at."""
        generation, seen = self._measured
        if generation != self._conversation.generation:
            self.measure()
            return
        turns = self._conversation.turns
        for turn in turns[seen:]:
            self.meter.add(self.prompt.line(turn).counted)
        self._measured = generation, len(turns)

    def close(self) -> None:
        """Keep what was counted."""
        self._tally.keep(self.prompt.remembered)

    @property
    def reserve(self) -> int:
        """Tokens that every request leaves for the reply."""
        length = self.meter.context_length
        share = min(_REPLY_TOKENS, length // _REPLY_SHARE, self._max_tokens or length)
        return max(_LEAST_REPLY, share)

    @property
    def capacity(self) -> int:
        """Tokens that a request may take."""
        return self.meter.context_length - self.reserve

    @property
    def fits(self) -> bool:
        """Whether the next request leaves room for a reply."""
        return not self.meter.reaches(self.capacity + 1)

    @property
    def reply_budget(self) -> int | None:
        """`max_tokens` of the next request, no more than what is left; None leaves it to the provider."""
        wanted = self._max_tokens
        if wanted is None or not self.meter.reaches(self.meter.context_length - wanted):
            return wanted
        return max(_LEAST_REPLY, min(wanted, self.meter.context_length - self.meter.tokens))

    @property
    def fixed(self) -> int:
        """Tokens of every request besides what was said: system prompt, rules, tools."""
        return self.meter.estimate(self._static)

    @property
    def _static(self) -> str:
        return "\n\n".join(text for text in (self.prompt.static, self._schema_text) if text)

    def check_floor(self, task: str) -> None:
        """Refuse a task that cannot be sent even with an empty memory.

        Raises:
            RequestTooLarge: with the figures.
        """
        # No text has more tokens than bytes: an ordinary task needs no count.
        if (
            len(self._static.encode("utf-8", "replace")) + len(task.encode("utf-8", "replace"))
            < self.capacity
        ):
            return
        if self.capacity <= 0:
            raise RequestTooLarge(
                f"a context window of {self.meter.context_length} tokens leaves no room for a message"
            )
        fixed, wanted = self.fixed, self.meter.estimate(task)
        if fixed + wanted > self.capacity:
            raise RequestTooLarge(
                f"the message takes ~{wanted} tokens and the system prompt, rules and tools ~{fixed}, but "
                f"{self.model.name} has room for {self.capacity}; shorten them, or use a model with a longer context"
            )
