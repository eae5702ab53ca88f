"""One reply of a model, put together from the pieces of its stream."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentmem.entries import storable
from agentmem.models.base import Finish, TextDelta, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentmem.models.base import Model, Piece, Request


def as_they_come(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Return the pieces of a stream, unchanged."""
    return iter(pieces)


@dataclass
class Reply:
    """One reply of the model.

    Attributes:
        text: what it said.
        tool_calls: what it asks for.
        usage: what the provider reported.
        finish: why it ended, or "".
    """

    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: str = ""

    def receive(
        self,
        model: Model,
        request: Request,
        on_piece: Callable[[Piece], None],
        through: Callable[[Iterable[Piece]], Iterator[Piece]] = as_they_come,
    ) -> None:
        """Send a request and take the reply in; what came before an error stays in `text`.

        Args:
            model: whom to ask.
            request: what to send.
            on_piece: told every piece.
            through: what the pieces go through first.

        Raises:
            ModelError: as the model's stream.
        """
        texts: list[str] = []
        taken = {call.id for message in request.messages for call in message.tool_calls}
        try:
            with closing(model.stream(request)) as stream:
                for each in through(stream):
                    piece = each
                    if isinstance(piece, TextDelta):
                        texts.append(piece.text)
                    elif isinstance(piece, ToolCall):
                        piece = replace(piece, id=_unique(piece.id, taken))
                        taken.add(piece.id)
                        self.tool_calls.append(piece)
                    elif isinstance(piece, Usage):
                        self.usage = piece
                    elif isinstance(piece, Finish):
                        self.finish = piece.reason
                    on_piece(piece)
        finally:
            self.text = storable("".join(texts))


def _unique(identity: str, taken: set[str]) -> str:
    """Return a call's id, changed where it was used before: small servers number anew in every reply."""
    if identity not in taken:
        return identity
    numbered = (f"{identity}_{number}" for number in itertools.count(2))
    return next(each for each in numbered if each not in taken)
