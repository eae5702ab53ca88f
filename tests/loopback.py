"""A provider on loopback that speaks OpenAI chat completions and Anthropic messages.

Queue `answers`, look at what was `asked`. A string is a reply; a callable gets the request's body and
returns one of the others, and stays in the queue while it is the last one.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

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


@dataclass(frozen=True)
class Asked:
    """A request that came in."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages of the body."""
        found: list[dict[str, Any]] = self.body["messages"]
        return found

    @property
    def text(self) -> str:
        """Everything in the body, as JSON that keeps every script readable."""
        return json.dumps(self.body, ensure_ascii=False)


class Provider:
    """The server; a context manager.

    Attributes:
        answers: the queue.
        asked: the chat requests so far, oldest first.
        hung_up: set once a client went away before its answer was complete.
        complaints: what went wrong on this side; the fixture fails the test over it.
        models: what `/v1/models` lists.
        props: what llama.cpp's `/props` says, or None for 404.
        shows: what Ollama's `/api/show` says, or None for 404.
    """

    def __init__(self) -> None:
        self.answers: deque[Scripted | Script] = deque()
        self.asked: list[Asked] = []
        self.complaints: list[str] = []
        self.hung_up = threading.Event()
        self.models: list[dict[str, Any]] = []
        self.props: dict[str, Any] | None = None
        self.shows: dict[str, Any] | None = None
        self._arrival = threading.Condition()
        self._gates: list[Gate] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def root(self) -> str:
        """The URL without `/v1`, as Anthropic's clients want it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The URL as OpenAI's clients want it."""
        return f"{self.root}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for gate in self._gates:
            gate.open()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_for(self, requests: int) -> None:
        """Return once that many chat requests have come in."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: len(self.asked) >= requests, PATIENCE), "no such request"

    def take(self, asked: Asked) -> Scripted:
        with self._arrival:
            self.asked.append(asked)
            self._arrival.notify_all()
            if not self.answers:
                self.complaints.append(f"no answer was queued for request {len(self.asked)} to {asked.path}")
                return Refusal(500, self.complaints[-1])
            found = self.answers[0]
            if not callable(found) or len(self.answers) > 1:
                self.answers.popleft()
        answer = found(asked.body) if callable(found) else found
        answer = Answer(answer) if isinstance(answer, str) else answer
        if isinstance(answer, Answer) and answer.gate:
            self._gates.append(answer.gate)
        return answer

    def unasked(self) -> list[Scripted]:
        """Return the answers nobody asked for; callables do not count."""
        return [each for each in self.answers if not callable(each)]


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # joined on close, so that nothing is left open

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: Any) -> None:
        """Record what a handler could not cope with."""
        if isinstance(sys.exc_info()[1], ConnectionError):
            self.provider.hung_up.set()
        else:
            self.provider.complaints.append(f"the loopback provider failed: {sys.exc_info()[1]!r}")


class _HungUp(ConnectionError):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        provider = self.server.provider
        if self.path.endswith("/models"):
            self._json(200, {"object": "list", "data": provider.models})
        elif self.path == "/props" and provider.props is not None:
            self._json(200, provider.props)
        else:
            self._json(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        provider = self.server.provider
        if self.path == "/api/show":
            found = provider.shows
            self._json(200, found) if found is not None else self._json(404, {"error": "no such model"})
            return
        wire: _OpenAI | _Anthropic
        if self.path.endswith("/chat/completions"):
            wire = _OpenAI()
        elif self.path.endswith("/messages"):
            wire = _Anthropic()
        else:
            self._json(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = provider.take(Asked(self.path, body, headers))
        if isinstance(answer, Refusal):
            self._refuse(answer, wire)
        elif isinstance(answer, Garbage):
            self._whole(200, answer.text.encode(), answer.content_type)
        elif isinstance(answer, Answer):
            self._reply(answer, body, wire)

    def _reply(self, answer: Answer, body: dict[str, Any], wire: _OpenAI | _Anthropic) -> None:
        if not body.get("stream") or not answer.stream:
            if answer.gate:
                self._pass(answer.gate)
            self._json(200, wire.whole(answer, body))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in wire.events(answer, body):
            if answer.gate and event.held:
                self._pass(answer.gate)
            if event.text:
                self._chunk(event.text.encode())
        if answer.cut != "torn":
            self._chunk(b"")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _pass(self, gate: Gate) -> None:
        while not gate.pass_one(0.05):
            gone = select.select([self.connection], [], [], 0)[0]
            if gone and not self.connection.recv(1, socket.MSG_PEEK):
                raise _HungUp

    def _refuse(self, answer: Refusal, wire: _OpenAI | _Anthropic) -> None:
        if answer.raw:
            self._whole(answer.status, answer.raw.encode(), "text/plain", answer.headers)
        else:
            self._json(answer.status, wire.error(answer), answer.headers)

    def _json(self, status: int, content: object, headers: Mapping[str, str] | None = None) -> None:
        self._whole(status, json.dumps(content).encode(), "application/json", headers)

    def _whole(self, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


@dataclass(frozen=True)
class _Event:
    text: str
    held: bool = False


def _raw(arguments: Mapping[str, object] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class _OpenAI:
    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[_Event]:
        def chunk(delta: dict[str, Any], finish: str | None = None, *, held: bool = False) -> _Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return _Event(self._sse(self._head(body) | {"choices": [choice]}), held)

        yield chunk({"role": "assistant", "content": ""})
        if answer.reasoning:
            yield chunk({"reasoning_content": answer.reasoning}, held=True)
        for piece in answer.cut_up():
            yield chunk({"content": piece}, held=True)
        if answer.gate and not answer.cut_up():
            yield _Event("", held=True) if answer.cut else chunk({}, held=True)
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
            yield _Event(self._sse(self._head(body) | {"choices": [], "usage": usage}))
        yield _Event("data: [DONE]\n\n")

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
        return f"data: {json.dumps(content)}\n\n"


class _Anthropic:
    STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}  # noqa: RUF012

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[_Event]:
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

    def _sse(self, kind: str, content: dict[str, Any], *, held: bool = False) -> _Event:
        return _Event(f"event: {kind}\ndata: {json.dumps({'type': kind} | content)}\n\n", held)
