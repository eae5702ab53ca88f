"""Encoding request bodies: a long memory once, not every turn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentmem.models.chunks import wire_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentmem.models.base import Message


class Encoder:
    """Encodes one request after the other; the leading system message only when it has changed."""

    def __init__(self) -> None:
        self._leading: Message | None = None
        self._encoded = b""

    def encode(self, leading: Message | None, body: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Return a body as JSON, in parts, so that a long memory is not even copied.

        Args:
            leading: the message that comes before those of the body, if any.
            body: the rest; its `messages` go to the end.
        """
        if leading is None:
            return (_json(body),)
        if leading != self._leading:
            self._leading, self._encoded = leading, _json(wire_message(leading))
        start = _json({name: value for name, value in body.items() if name != "messages"})
        rest = (b"," if body["messages"] else b"") + _json(body["messages"])[1:] + b"}"
        return start[:-1] + b',"messages":[', self._encoded, rest


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
