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
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.answers import PATIENCE, Answer, Garbage, Gate, Refusal, Script, Scripted
from tests.wires import Anthropic, OpenAI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

__all__ = ["PATIENCE", "Answer", "Asked", "Garbage", "Gate", "Provider", "Refusal", "Script", "Scripted"]


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
        wire: OpenAI | Anthropic
        if self.path.endswith("/chat/completions"):
            wire = OpenAI()
        elif self.path.endswith("/messages"):
            wire = Anthropic()
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

    def _reply(self, answer: Answer, body: dict[str, Any], wire: OpenAI | Anthropic) -> None:
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

    def _refuse(self, answer: Refusal, wire: OpenAI | Anthropic) -> None:
        if answer.raw:
            self._whole(answer.status, answer.raw.encode(), "text/plain", answer.headers)
        else:
            self._json(answer.status, wire.error(answer), answer.headers)

    def _json(self, status: int, content: object, headers: Mapping[str, str] | None = None) -> None:
        self._whole(status, json.dumps(content, ensure_ascii=False).encode(), "application/json", headers)

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
