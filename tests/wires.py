"""The two protocols that the provider on loopback speaks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.answers import Answer, Refusal


@dataclass(frozen=True)
class Event:
    text: str
    held: bool = False


def _raw(arguments: Mapping[str, object] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class OpenAI:
    """Chat completions."""

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[Event]:
        def chunk(delta: dict[str, Any], finish: str | None = None, *, held: bool = False) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return Event(self._sse(self._head(body) | {"choices": [choice]}), held)

        yield chunk({"role": "assistant", "content": ""})
        if answer.reasoning:
            yield chunk({"reasoning_content": answer.reasoning}, held=True)
        for piece in answer.cut_up():
            yield chunk({"content": piece}, held=True)
        if answer.gate and not answer.cut_up():
            yield Event("", held=True) if answer.cut else chunk({}, held=True)
        if answer.cut:
            return
        for index, (name, arguments) in enumerate(answer.calls):
            start = {"name": name, "arguments": ""}
            call = {"index": index, "id": f"call_{index}", "type": "function", "function": start}
            yield chunk({"tool_calls": [call]})
            text = _raw(arguments)
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
        yield chunk({}, answer.reason())
        if answer.usage is not None and (body.get("stream_options") or {}).get("include_usage"):
            usage = self._usage(answer, body)
            yield Event(self._sse(self._head(body) | {"choices": [], "usage": usage}))
        yield Event("data: [DONE]\n\n")

    def whole(self, answer: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [
                {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": _raw(given)}}
                for n, (name, given) in enumerate(answer.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": answer.reason()}
        whole = self._head(body) | {"object": "chat.completion", "choices": [choice]}
        return whole | ({"usage": self._usage(answer, body)} if answer.usage is not None else {})

    def error(self, answer: Refusal) -> dict[str, Any]:
        kind = answer.code or "invalid_request_error"
        return {
            "error": {"message": answer.message, "type": kind, "param": None, "code": answer.code or None}
        }

    def _usage(self, answer: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
        prompt, completion, cached = answer.counted(body)
        totals = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        return totals | {"prompt_tokens_details": {"cached_tokens": cached}}

    def _head(self, body: Mapping[str, Any]) -> dict[str, Any]:
        model = body.get("model")
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def _sse(self, content: object) -> str:
        return f"data: {json.dumps(content, ensure_ascii=False)}\n\n"


class Anthropic:
    """Messages."""

    STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}  # noqa: RUF012

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[Event]:
        start = self._head(body) | {"content": [], "stop_reason": None, "usage": self._usage(answer, body)}
        yield self._sse("message_start", {"message": start})
        index = 0
        for index, (opening, deltas) in enumerate(self._blocks(answer)):
            yield self._sse("content_block_start", {"index": index, "content_block": opening})
            for delta in deltas:
                held = delta["type"] in ("text_delta", "thinking_delta")
                yield self._sse("content_block_delta", {"index": index, "delta": delta}, held=held)
            if not answer.cut:
                yield self._sse("content_block_stop", {"index": index})
        if answer.gate and not answer.cut_up():
            yield self._sse("ping", {}, held=True)
        if answer.cut:
            return
        stop = {"stop_reason": self.STOPS.get(answer.reason(), answer.reason()), "stop_sequence": None}
        spent = {"usage": {"output_tokens": answer.counted(body)[1]}} if answer.usage is not None else {}
        yield self._sse("message_delta", {"delta": stop} | spent)
        yield self._sse("message_stop", {})

    def whole(self, answer: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
        content = []
        for opening, deltas in self._blocks(answer):
            block = dict(opening)
            for delta in deltas:
                if "text" in delta:
                    block["text"] += delta["text"]
                elif "thinking" in delta:
                    block["thinking"] += delta["thinking"]
            if block["type"] == "tool_use":
                block["input"] = json.loads("".join(delta["partial_json"] for delta in deltas))
            content.append(block)
        stop = self.STOPS.get(answer.reason(), answer.reason())
        return self._head(body) | {
            "content": content,
            "stop_reason": stop,
            "usage": self._usage(answer, body),
        }

    def error(self, answer: Refusal) -> dict[str, Any]:
        kind = answer.code or "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": answer.message}}

    def _blocks(self, answer: Answer) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        opening: dict[str, Any]
        if answer.reasoning:
            opening = {"type": "thinking", "thinking": "", "signature": ""}
            yield opening, [{"type": "thinking_delta", "thinking": answer.reasoning}]
        if answer.text or answer.pieces:
            deltas = [{"type": "text_delta", "text": piece} for piece in answer.cut_up()]
            yield {"type": "text", "text": ""}, deltas
        for number, (name, given) in enumerate(answer.calls):
            text = _raw(given)
            halves = (text[: len(text) // 2], text[len(text) // 2 :])
            opening = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
            yield opening, [{"type": "input_json_delta", "partial_json": half} for half in halves]

    def _usage(self, answer: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
        prompt, completion, cached = answer.counted(body) if answer.usage is not None else (0, 0, 0)
        return {
            "input_tokens": prompt - cached,
            "output_tokens": completion,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        }

    def _head(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model")}

    def _sse(self, kind: str, content: dict[str, Any], *, held: bool = False) -> Event:
        return Event(
            f"event: {kind}\ndata: {json.dumps({'type': kind} | content, ensure_ascii=False)}\n\n", held
        )
