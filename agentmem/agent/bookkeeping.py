"""What a loop of several steps says to the model, and the mark it listens for; none of it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.errors import ModelError
from agentmem.models.base import TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.models.base import Piece

DONE = "TASK COMPLETE"
"""What a model says, in a loop of several steps, when nothing is left to do."""

_MARK = rf"\s*[*_`]*{DONE}[*_`.!]*\s*\Z"


def next_step(step: int, steps: int) -> str:
    """Return what the model is told when it goes on without having asked for tools."""
    return (
        f"(step {step} of {steps}) Go on with the task above. When nothing is left to do, reply with "
        f"exactly: {DONE}"
    )


class DoneMark:
    """Takes the mark off the end of a reply while it streams.

    Attributes:
        seen: whether the reply ended with it.
    """

    def __init__(self) -> None:
        self.seen = False
        self._held = ""

    def strip(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces without the mark; only text that may turn out to be one is held back."""
        try:
            for piece in pieces:
                if isinstance(piece, TextDelta):
                    yield from self._take(piece.text)
                else:
                    yield from self._release()
                    yield piece
        except ModelError:
            yield from self._release()
            raise
        yield from self._release()

    def _take(self, text: str) -> Iterator[Piece]:
        import regex  # for partial matches

        self._held += text
        found = regex.search(_MARK, self._held, partial=True)
        certain = found.start() if found else len(self._held)
        if certain:
            yield TextDelta(self._held[:certain])
            self._held = self._held[certain:]

    def _release(self) -> Iterator[Piece]:
        held, self._held = self._held, ""
        if DONE in held:  # more than the mark is never held back
            self.seen = True
        elif held:
            yield TextDelta(held)
