"""What goes to a model and what comes back, whichever provider it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool run.

    Attributes:
        id: what the result must refer to.
        name: the tool's name.
        arguments: a JSON object as text, exactly as the model wrote it; it may be malformed.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One chat message on the wire.

    Attributes:
        role: who speaks.
        content: the text; may be empty only beside tool calls.
        tool_calls: the tools an assistant message asks for.
        tool_call_id: for role `tool`: the call this answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it.

    Attributes:
        name: letters, digits, `_` and `-`.
        description: what it does, for the model.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class Request:
    """One call of a model.

    Attributes:
        messages: at most one leading system message, then user and assistant in turn; tool results
            follow the assistant message that asked for them.
        tools: what the model may call.
        temperature: None leaves it to the provider.
        max_tokens: completion tokens at most; None leaves it to the provider.
        may_call: False asks for an answer without further tool calls.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    may_call: bool = True


@dataclass(frozen=True)
class TextDelta:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """A piece of what the model thinks aloud before it replies; never stored."""

    text: str


@dataclass(frozen=True)
class Usage:
    """What the provider says a call took.

    Attributes:
        prompt_tokens: tokens of the request; 0 means unknown.
        completion_tokens: tokens of the reply; 0 means unknown.
        cached_tokens: the part of `prompt_tokens` read from the provider's prompt cache.
        cost: US dollars, or None when unknown.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return what two calls took together; a cost that is unknown for one is unknown for both."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            cost,
        )


@dataclass(frozen=True)
class Finish:
    """Why the reply ended: `stop`, `length`, `tool_calls`, `content_filter`, or the provider's own word."""

    reason: str


Piece = TextDelta | ReasoningDelta | ToolCall | Usage | Finish
"""What a stream is made of. A `ToolCall` comes whole; `Usage` and `Finish` come at most once, last."""


class Model(Protocol):
    """A model one can talk to.

    Attributes:
        name: as the user wrote it, such as `gpt-4o` or `local`.
    """

    name: str

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Send a request and yield the reply as it arrives; closing the generator ends the call.

        Raises:
            ModelError: or one of its subclasses, before or between pieces; a stream that breaks
                off raises `ModelUnreachable` after the pieces that came.
        """
        ...

    def context_length(self) -> int | None:
        """Return the model's context window in tokens, or None when nobody knows."""
        ...

    def supports_tools(self) -> bool:
        """Return whether the model takes tools, as far as is known before asking it."""
        ...

    def close(self) -> None:
        """Let go of connections and weights."""
        ...
