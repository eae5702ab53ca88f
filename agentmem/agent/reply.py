"""One reply of a model, put together from the pieces of its stream."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem.entries import storable
from agentmem.models.base import Finish, TextDelta, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.models.base import Model, Piece, Request


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

    def receive(self, model: Model, request: Request, on_piece: Callable[[Piece], None]) -> None:
        """Send a request and take the reply in; what came before an error stays in `text`.

        Raises:
            ModelError: as the model's stream.
        """
        pieces: list[str] = []
        try:
            with closing(model.stream(request)) as stream:
                for piece in stream:
                    if isinstance(piece, TextDelta):
                        pieces.append(piece.text)
                    elif isinstance(piece, ToolCall):
                        self.tool_calls.append(piece)
                    elif isinstance(piece, Usage):
                        self.usage = piece
                    elif isinstance(piece, Finish):
                        self.finish = piece.reason
                    on_piece(piece)
        finally:
            self.text = storable("".join(pieces))
