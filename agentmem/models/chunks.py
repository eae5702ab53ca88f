"""The shapes of the OpenAI chat-completions wire, which every lane reads and writes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentmem.entries import storable
from agentmem.errors import ModelUnreachable
from agentmem.models import catalog
from agentmem.models.base import (
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem.models.base import Message, Piece, Request, ToolSpec

_OPEN, _CLOSE = "<think>", "</think>"


def wire_message(message: Message) -> dict[str, Any]:
    """Return a message as the wire has it."""
    content = storable(message.content)
    wire: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": storable(call.arguments)},
            }
            for call in message.tool_calls
        ]
        wire["content"] = content or None
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id
    return wire


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as the wire has it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def wire_request(request: Request, model: str) -> dict[str, Any]:
    """Return a streaming request's body; what is not set is left out."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [wire_message(each) for each in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [wire_tool(tool) for tool in request.tools]
        if not request.may_call:
            body["tool_choice"] = "none"
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    return body


def usage_of(chunk: Mapping[str, Any]) -> Usage | None:
    """Return what a chunk or a whole answer says about tokens, or None."""
    found = chunk.get("usage")
    if not isinstance(found, dict):
        return None
    details = found.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    cached = cached or found.get("prompt_cache_hit_tokens") or found.get("cache_read_input_tokens")
    prompt, completion = found.get("prompt_tokens"), found.get("completion_tokens")
    cost = found.get("cost")
    return Usage(
        catalog.positive(prompt) or 0,
        catalog.positive(completion) or 0,
        catalog.positive(cached) or 0,
        cost if isinstance(cost, float) else None,
    )


class Reply:
    """A reply put together from chunks: text passes through at once, tool calls wait until whole."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: dict[int, dict[str, str]] = {}
        self._usage: Usage | None = None
        self._finish = ""
        self._thinking = Thinking()
        self._spoke = False

    @property
    def is_void(self) -> bool:
        """Whether nothing at all has come: no text, no call, no usage."""
        return not (self._spoke or self._calls or (self._usage and self._usage.completion_tokens))

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Piece]:
        """Take a chunk, or a whole answer, and yield the text in it."""
        self._usage = usage_of(chunk) or self._usage
        choices = chunk.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else ():
            delta = choice.get("delta") or choice.get("message") or {}
            reasoning = delta.get("reasoning_content") or delta.get("reasoning")
            if isinstance(reasoning, str) and reasoning:
                self._spoke = True
                yield ReasoningDelta(reasoning)
            yield from self._text(delta.get("content") or delta.get("refusal"))
            for position, call in enumerate(delta.get("tool_calls") or ()):
                self._take_call(call, position)
            self._finish = choice.get("finish_reason") or self._finish

    def end(self, *, done: bool) -> Iterator[Piece]:
        """Yield what only the end makes whole.

        Args:
            done: the provider said that nothing more comes.

        Raises:
            ModelUnreachable: the stream stopped before the reply was complete.
        """
        yield from self._thinking.rest()
        if not self._finish and not done:
            raise ModelUnreachable(f"{self._model}: the provider broke off in the middle of the reply")
        for position in sorted(self._calls):
            call = self._calls[position]
            yield ToolCall(call["id"] or f"call_{position}", call["name"], call["arguments"] or "{}")
        if self._usage:
            yield replace(self._usage, cost=catalog.cost(self._model, self._usage))
        yield Finish("tool_calls" if self._calls and self._finish in ("", "stop") else self._finish or "stop")

    def _text(self, content: object) -> Iterator[Piece]:
        if isinstance(content, list):  # Mistral and a few others send parts
            content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
        if isinstance(content, str) and content:
            self._spoke = True
            yield from self._thinking.take(content)

    def _take_call(self, call: Mapping[str, Any], position: int) -> None:
        # Providers that send calls whole often leave the index out.
        index = call.get("index")
        if not isinstance(index, int):
            index = position if call.get("id") in (None, "") else self._index_of(str(call["id"]))
        kept = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        kept["id"] = call.get("id") or kept["id"]
        function = call.get("function") or {}
        kept["name"] = kept["name"] or function.get("name") or ""
        arguments = function.get("arguments") or ""
        kept["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def _index_of(self, identity: str) -> int:
        known = (index for index, call in self._calls.items() if call["id"] == identity)
        return next(known, len(self._calls))


class Thinking:
    """Tells a leading `<think>…</think>` from the reply, however the tags are cut up.

    Only a block at the very start counts: later on the tags are text like any other.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def take(self, text: str) -> Iterator[Piece]:
        """Yield what is certain by now."""
        if self._state == "text":
            yield TextDelta(text)
            return
        self._held += text
        if self._state == "start":
            seen = self._held.lstrip()
            if seen.startswith(_OPEN):
                self._state, self._held = "thinking", seen[len(_OPEN) :]
            elif _OPEN.startswith(seen):
                return
            else:
                yield from self._release("text")
        if self._state == "thinking":
            thought, closed, after = self._held.partition(_CLOSE)
            if closed:
                self._state, self._held = "after", after
            else:
                keep = _overlap(thought, _CLOSE)
                thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
            if thought:
                yield ReasoningDelta(thought)
        if self._state == "after" and (after := self._held.lstrip()):
            self._held = after
            yield from self._release("text")

    def rest(self) -> Iterator[Piece]:
        """Yield what was held back when nothing more comes."""
        if self._held and self._state == "start":
            yield TextDelta(self._held)
        elif self._held and self._state == "thinking":
            yield ReasoningDelta(self._held)
        self._held = ""

    def _release(self, state: str) -> Iterator[Piece]:
        held, self._held, self._state = self._held, "", state
        yield TextDelta(held)


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `tag`."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
