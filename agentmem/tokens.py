"""Counting tokens, and the meter that knows how full the context window is without recounting."""

from __future__ import annotations

import importlib.util
import math
import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.figures import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tiktoken

MESSAGE_OVERHEAD = 4
"""Tokens that a chat format spends around each message, roughly."""

_SLICE = 20_000  # characters counted at a time: one endless word would otherwise cost its square
_SMOOTHING = 0.3  # weight of the newest observation in the moving average
_FACTOR_BOUNDS = (0.5, 2.0)
_LEAST_EVIDENCE = 256  # tokens a request must have for its ratio to be worth learning
# Models of these families share the older vocabulary; everything newer is closer to o200k.
_OLDER = ("gpt-4-", "gpt-3.5", "text-embedding", "claude-2")


class Estimator:
    """Counts tokens with tiktoken, offline; the vocabulary is loaded by the first count (0.4 s).

    Attributes:
        vocabulary: its name.
    """

    def __init__(self, model: str = "") -> None:
        bare = model.rpartition("/")[2]
        older = bare == "gpt-4" or bare.startswith(_OLDER)
        self.vocabulary = "cl100k_base" if older else "o200k_base"
        self._encoding: tiktoken.Encoding | None = None

    @property
    def loaded(self) -> bool:
        """Whether counting is cheap by now."""
        return self._encoding is not None

    def load(self) -> tiktoken.Encoding:
        """Load the vocabulary; calling it early, from another thread, hides its cost."""
        if self._encoding is None:
            # litellm ships the vocabularies; without this tiktoken would fetch them.
            spec = importlib.util.find_spec("litellm")
            if spec and spec.origin:
                bundled = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
                os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(bundled))
            import tiktoken

            self._encoding = tiktoken.get_encoding(self.vocabulary)
        return self._encoding

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return sum(self.counts(text))

    def counts(self, text: str) -> Iterator[int]:
        """Yield the tokens of a text slice by slice, so that one may stop when it is enough."""
        encoding = self.load()
        for start in range(0, len(text), _SLICE):
            yield len(encoding.encode_ordinary(text[start : start + _SLICE]))


class Meter:
    """How many tokens the next request takes.

    The provider's reported usage is the truth; what came since is estimated, corrected by how far
    estimates were off before. Nothing is counted twice, and nothing at all before a count matters.

    Attributes:
        context_length: the model's window in tokens.
    """

    def __init__(self, estimator: Estimator, context_length: int) -> None:
        self.context_length = context_length
        self._estimator = estimator
        self._factor = 1.0
        self._reported = 0
        self._before: int | None = 0  # raw estimate of what `_reported` covers; None: never counted
        self._since = 0  # raw estimate of what came after
        self._uncounted: deque[str] = deque()
        self._most = 0  # tokens of what is uncounted, at most
        self._slices: Iterator[int] = iter(())  # of a text whose count was broken off

    def restart(self, texts: Iterable[str], counted: int = 0) -> None:
        """Measure a request anew.

        Args:
            texts: the content of its messages and the tools' schemas.
            counted: tokens of what is not among the texts, since it was counted before.
        """
        self._reported, self._before, self._since = 0, 0, counted
        self._forget_uncounted()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Take one more message into account; it is counted when somebody asks."""
        self._uncounted.append(text)
        # No tokenizer makes more tokens than the text has bytes.
        self._most += len(text.encode("utf-8", "replace")) + MESSAGE_OVERHEAD

    def report(self, prompt_tokens: int) -> None:
        """Correct the meter by what the provider says the request, as measured so far, took; 0 is unknown."""
        if prompt_tokens <= 0:
            return
        if self._before is not None and (self._estimator.loaded or not self._most):
            self._count()
            self._before += self._since
            self._learn(prompt_tokens, self._before)
        else:
            self._before = None
        self._reported, self._since = prompt_tokens, 0
        self._forget_uncounted()

    def _learn(self, reported: int, raw: int) -> None:
        # What a chat template adds to every request would pass for a ratio in a short one.
        if raw < _LEAST_EVIDENCE:
            return
        low, high = _FACTOR_BOUNDS
        observed = min(high, max(low, reported / raw))
        first = self._factor == 1.0
        self._factor = observed if first else (1 - _SMOOTHING) * self._factor + _SMOOTHING * observed

    @property
    def tokens(self) -> int:
        """Tokens of the next request, as well as anyone knows."""
        self._count()
        return self._so_far

    @property
    def roughly(self) -> int:
        """`tokens` where counting is cheap by now, else a guess: four bytes of a text are about a token."""
        if self._estimator.loaded or not self._most:
            return self.tokens
        return self._so_far + round(self._most / BYTES_PER_TOKEN * self._factor)

    def prepare(self) -> None:
        """Make counting cheap; takes half a second, so best on a thread and while nobody waits."""
        self._estimator.load()

    @property
    def _so_far(self) -> int:
        return self._reported + round(self._since * self._factor)

    @property
    def estimated(self) -> bool:
        """Whether `tokens` is more than what the provider reported."""
        return bool(self._since or self._most) or not self._reported

    def reaches(self, limit: float) -> bool:
        """Whether the next request takes at least `limit` tokens, counting only when it might."""
        if self._reported + self._since * self._factor + self._most < limit:
            return False
        self._count(limit)
        return self._so_far >= limit

    def estimate(self, text: str) -> int:
        """Return the tokens one message with this text would add."""
        return round((self._estimator.count(text) + MESSAGE_OVERHEAD) * self._factor)

    def size(self, text: str) -> int:
        """Return the tokens of a text that is part of a message."""
        return round(self._estimator.count(text) * self._factor)

    def _count(self, enough: float = math.inf) -> None:
        """Count what is uncounted, until so many tokens are reached: a huge memory need not be counted whole."""
        while self._most and self._so_far < enough:
            for tokens in self._slices:
                self._since += tokens
                if self._so_far >= enough:
                    return
            if not self._uncounted:
                self._most = 0
                return
            self._slices = self._estimator.counts(self._uncounted.popleft())
            self._since += MESSAGE_OVERHEAD

    def _forget_uncounted(self) -> None:
        self._uncounted.clear()
        self._most, self._slices = 0, iter(())
