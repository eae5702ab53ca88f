"""What the strictest providers and chat templates demand of a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def assert_well_formed(messages: Sequence[dict[str, Any]]) -> None:
    """Fail unless even the strictest provider would take these messages."""
    roles = [message["role"] for message in messages]
    assert "system" not in roles[1:], "a system message that does not lead"
    turns = [message for message in messages if message["role"] != "system"]
    assert turns, "nothing but a system message"
    assert turns[0]["role"] == "user", "the talk does not begin with the user"
    assert turns[-1]["role"] in {"user", "tool"}, "nothing to answer"
    seen: set[str] = set()
    open_calls: list[str] = []
    before = "assistant"
    for message in turns:
        role = message["role"]
        assert message["content"] or message.get("tool_calls"), f"an empty {role} message"
        if role == "tool":
            assert message["tool_call_id"] in open_calls, "a result nobody asked for"
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls, "a tool call without its result"
            expected = {"user": ("assistant",), "assistant": ("user", "tool")}[role]
            assert before in expected, f"{role} after {before}"
        for call in message.get("tool_calls") or ():
            assert isinstance(json.loads(call["function"]["arguments"]), dict), "arguments that are no object"
            assert call["id"] not in seen, "a call's id is used twice"
            seen.add(call["id"])
            open_calls.append(call["id"])
        before = role
    assert not open_calls, "a tool call without its result"
