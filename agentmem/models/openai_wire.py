"""The lane for everything that speaks OpenAI's chat-completions protocol, on httpx.

litellm would do, and takes 2.6 s from start to request; the openai SDK takes 0.66 s, this 0.2 s.
"""

from __future__ import annotations

import json
import re
import ssl
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

# httpx/__init__ pulls in its own command line, and with it click, rich and pygments, wherever those
# are installed: half its import time. It is written to do without, and None makes it do so.
_COMMAND_LINE = "httpx._main"
_modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
if _COMMAND_LINE not in _modules:
    _modules[_COMMAND_LINE] = None
import httpx  # noqa: E402
import httpx_sse  # noqa: E402

if _modules[_COMMAND_LINE] is None:
    del _modules[_COMMAND_LINE]

from agentmem.errors import ConfigurationError, ModelError, ModelUnreachable  # noqa: E402
from agentmem.models import catalog  # noqa: E402
from agentmem.models.body import Encoder  # noqa: E402
from agentmem.models.chunks import Reply, wire_request  # noqa: E402
from agentmem.models.failures import Refusal, error_from, one_line  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import ModuleType

    from agentmem.models.base import Piece, Request

OPENAI = "https://api.openai.com/v1"

# These count completion tokens under another name and take no temperature.
_REASONING = re.compile(r"(o\d|gpt-5(?!.*chat))", re.IGNORECASE)
_UNKNOWN_PARAMETER = re.compile(
    r"unsupported|not support|unknown|unrecognized|unrecognised|unexpected|not permitted|extra|invalid"
    r"|not allowed|only the default",
    re.IGNORECASE,
)
_LONGEST_CONNECT = 30.0
_HEADERS = {"Accept": "text/event-stream", "Content-Type": "application/json"}


class OpenAIWire:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        name: as the user wrote it.
        base: the endpoint's URL up to and including `/v1`.
    """

    def __init__(
        self,
        name: str,
        *,
        wire_name: str,
        base: str = OPENAI,
        key: str = "",
        timeout: float = 600.0,
        context_length: int | None = None,
        trust_env: bool = True,
    ) -> None:
        self.name = name
        self.base = base.rstrip("/")
        self._shown = re.sub(r"//[^/@]*@", "//", self.base)  # without a password that may be in it
        self._wire_name = wire_name
        self._key = key
        self._timeout = timeout
        self._context_length = context_length
        self._encoder = Encoder()
        self._without: set[str] = set()
        self._renamed: dict[str, str] = {}
        if _REASONING.match(wire_name):
            self._without.add("temperature")
            self._renamed["max_tokens"] = "max_completion_tokens"
        try:
            self._client = httpx.Client(
                headers=catalog.bearer(key),
                timeout=httpx.Timeout(timeout, connect=min(timeout, _LONGEST_CONNECT)),
                trust_env=trust_env,
                verify=_no_tls() if self.base.startswith("http://") else True,
            )
        except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
            why = one_line(str(error), key)
            raise ConfigurationError(
                f"the proxy or certificates of this system cannot be used: {why}"
            ) from error

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Send a request and yield the reply as it arrives; closing the generator ends the call."""
        try:
            yield from self._attempt(request)
        except (httpx.HTTPError, httpx.InvalidURL, httpx_sse.SSEError) as error:
            raise self._unreachable(error) from error

    def context_length(self) -> int | None:
        """Return the context window: as set, from litellm's table, or what the endpoint says."""
        if self._context_length is None:
            self._context_length = catalog.context_length(self.name)
        if self._context_length is None and self.base != OPENAI:  # which does not say
            self._context_length = catalog.ask_context_length(self.base, self._wire_name, self._key)
        return self._context_length

    def supports_tools(self) -> bool:
        """Return False only where litellm's table says so."""
        return catalog.supports_tools(self.name)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _attempt(self, request: Request) -> Iterator[Piece]:
        leading = next((each for each in request.messages[:1] if each.role == "system"), None)
        body = self._body(replace(request, messages=request.messages[1:]) if leading else request)
        content = self._encoder.encode(leading, body)
        headers = {**_HEADERS, "Content-Length": str(sum(map(len, content)))}
        url = f"{self.base}/chat/completions"
        with self._client.stream("POST", url, content=iter(content), headers=headers) as response:
            if response.is_success:
                yield from self._read(response)
                return
            response.read()
            refusal = Refusal(
                self.name,
                response.status_code,
                response.text,
                retry_after=response.headers.get("retry-after", ""),
                key=self._key,
                tools=bool(request.tools),
                hint="" if "/v1" in self.base else f"does {self._shown} lack a /v1 at the end?",
            )
        if response.status_code in (400, 422) and self._learn(response.text, body):
            yield from self._attempt(request)
            return
        raise error_from(refusal)

    def _body(self, request: Request) -> dict[str, Any]:
        body = wire_request(request, self._wire_name)
        for name in self._without & body.keys():
            del body[name]
        for old, new in self._renamed.items():
            if old in body:
                body[new] = body.pop(old)
        return body

    def _learn(self, complaint: str, body: dict[str, Any]) -> bool:
        """Note a parameter the endpoint does not take; True when another attempt makes sense."""
        if not _UNKNOWN_PARAMETER.search(complaint):
            return False
        if "max_tokens" in body and "max_completion_tokens" in complaint:
            self._renamed["max_tokens"] = "max_completion_tokens"
            return True
        for name in ("stream_options", "temperature", "tool_choice"):
            if name in body and name in complaint:
                self._without.add(name)
                return True
        return False

    def _read(self, response: httpx.Response) -> Iterator[Piece]:
        reply = Reply(self.name)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            answer = self._parsed(response.read().decode("utf-8", "replace"))
            if not answer.get("choices"):
                raise self._nonsense(json.dumps(answer))
            yield from reply.take(answer)
            yield from reply.end(done=True)
            return
        done = False
        for event in httpx_sse.EventSource(response).iter_sse():
            if event.data.strip() == "[DONE]":
                done = True
                break
            if event.data:
                yield from reply.take(self._parsed(event.data))
        yield from reply.end(done=done)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            content = json.loads(text)
        except ValueError:
            raise self._nonsense(text) from None
        if not isinstance(content, dict):
            raise self._nonsense(text)
        if error := content.get("error"):
            raise error_from(Refusal(self.name, _status(error), text, key=self._key))
        return content

    def _nonsense(self, text: str) -> ModelUnreachable:
        quoted = one_line(text, self._key)[:80]
        return ModelUnreachable(f"{self.name}: {self._shown} answered something that is no reply: {quoted!r}")

    def _unreachable(self, error: Exception) -> ModelError:
        if isinstance(error, httpx.ConnectTimeout):
            return ModelUnreachable(f"{self.name}: cannot reach {self._shown}: no connection in time")
        if isinstance(error, httpx.TimeoutException):
            return ModelUnreachable(
                f"{self.name}: no answer from {self._shown} within the timeout of {self._timeout:g} s"
            )
        if isinstance(error, httpx.ConnectError):
            return ModelUnreachable(
                f"{self.name}: cannot reach {self._shown}: {one_line(str(error), self._key)}"
            )
        if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
            return ModelUnreachable(f"{self.name}: {self._shown!r} is no URL to talk to, check the api_base")
        why = one_line(str(error), self._key) or type(error).__name__
        return ModelUnreachable(f"{self.name}: the connection to {self._shown} broke off: {why}")


def _no_tls() -> ssl.SSLContext:
    # For http:// there is no certificate to check, and loading the authorities takes 20 ms. This
    # context knows none, so that it would refuse every one rather than accept it.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _status(error: object) -> int:
    code = error.get("code") or error.get("status") if isinstance(error, dict) else None
    return int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdigit()) else 0
