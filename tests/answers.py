"""What the provider on loopback can be told to answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 60.0
"""Seconds after which a test that waits has failed."""


class Gate:
    """Lets an answer through piece by piece, as the test allows."""

    def __init__(self, allowed: int = 0) -> None:
        self._allowed: float = allowed
        self._waiting = 0
        self._change = threading.Condition()

    def allow(self, pieces: int = 1) -> None:
        """Let that many more pieces through."""
        with self._change:
            self._allowed += pieces
            self._change.notify_all()

    def open(self) -> None:
        """Let everything through."""
        self.allow(1_000_000_000)

    def wait_until_reached(self) -> None:
        """Return once an answer stands at the closed gate, everything allowed having been sent."""
        with self._change:
            assert self._change.wait_for(lambda: self._waiting > 0, PATIENCE), "nobody came to the gate"

    def pass_one(self, seconds: float) -> bool:
        with self._change:
            if self._allowed < 1:
                self._waiting += 1
                self._change.notify_all()
                self._change.wait_for(lambda: self._allowed >= 1, seconds)
                self._waiting -= 1
            if self._allowed < 1:
                return False
            self._allowed -= 1
            return True


@dataclass(frozen=True)
class Answer:
    """A reply.

    Attributes:
        text: streamed word by word, or as `pieces` cuts it.
        calls: tools to call: (name, arguments), the arguments a dict or the raw text.
        reasoning: sent before the text.
        finish: OpenAI's word for why it ended; by default `stop` or `tool_calls`.
        usage: (prompt, completion, cached) tokens, () for an estimate, None to say nothing.
        cut: break the connection off after the text: no finish, no end. "torn" breaks the HTTP
            framing, "clean" ends the body as if all were well.
        gate: hold every piece back until the test allows it; one with nothing allowed is a hang.
        stream: False answers plain JSON even when a stream was asked for.
    """

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, object] | str], ...] = ()
    reasoning: str = ""
    finish: str = ""
    usage: tuple[int, int, int] | tuple[()] | None = ()
    cut: str = ""
    gate: Gate | None = None
    stream: bool = True
    pieces: tuple[str, ...] = ()

    def cut_up(self) -> list[str]:
        """Return the text in the pieces it is streamed in: words with the space before them."""
        if self.pieces:
            return list(self.pieces)
        words = self.text.split(" ")
        return [word if not number else f" {word}" for number, word in enumerate(words)] if self.text else []

    def counted(self, body: Mapping[str, Any]) -> tuple[int, int, int]:
        """Return the usage to report."""
        if self.usage:
            return self.usage
        asked = len(json.dumps([body.get("system"), body.get("messages"), body.get("tools")]))
        return max(1, asked // 4), max(1, len(self.cut_up())), 0

    def reason(self) -> str:
        """Return the finish reason in OpenAI's words."""
        return self.finish or ("tool_calls" if self.calls else "stop")


@dataclass(frozen=True)
class Refusal:
    """An error status with a body in the provider's shape, or `raw`, whatever that is."""

    status: int
    message: str = "refused"
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""


@dataclass(frozen=True)
class Garbage:
    """Status 200 and a body that is no reply."""

    text: str = "<html><body>Welcome to the hotel</body></html>"
    content_type: str = "text/html"


Scripted = str | Answer | Refusal | Garbage
Script = Callable[[dict[str, Any]], Scripted]
