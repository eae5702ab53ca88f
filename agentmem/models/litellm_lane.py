"""The lane for every provider with a protocol of its own, through litellm."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import os
import re
import threading
from typing import TYPE_CHECKING, Any

from agentmem.errors import ModelError, ModelUnreachable
from agentmem.models import catalog
from agentmem.models.chunks import Reply, wire_request
from agentmem.models.failures import Refusal, error_from, one_line

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import ModuleType

    from agentmem.models.base import Piece, Request

_importing = threading.Lock()
_PREFIX = re.compile(r"(litellm\.|\w*(Error|Exception|Timeout): |\w+Exception - )")


class LiteLLM:
    """A model that litellm reaches.

    Attributes:
        name: as the user wrote it, which is how litellm names it.
        base: the provider's address where it is not the usual one, or "".
    """

    def __init__(
        self,
        name: str,
        *,
        base: str = "",
        key: str = "",
        timeout: float = 600.0,
        context_length: int | None = None,
    ) -> None:
        self.name = name
        self.base = base
        self._key = key
        self._timeout = timeout
        self._context_length = context_length

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Send a request and yield the reply as it arrives; closing the generator ends the call."""
        litellm = load()
        import openai

        reply = Reply(self.name)
        chunks: Any = None
        try:
            with _quiet():
                chunks = litellm.completion(**self._arguments(request))
            for chunk in chunks:
                yield from reply.take(chunk.model_dump())
            yield from reply.end(done=False)
        except openai.OpenAIError as error:  # litellm's own classes miss half of litellm's errors
            raise self._error(error, tools=bool(request.tools)) from error
        finally:
            _close(chunks)

    def context_length(self) -> int | None:
        """Return the context window: as set, from litellm's table, or what Ollama says."""
        if self._context_length is None:
            self._context_length = catalog.context_length(self.name)
        if self._context_length is None and catalog.provider_of(self.name) in ("ollama", "ollama_chat"):
            base = self.base or "http://localhost:11434"
            self._context_length = catalog.ask_context_length(base, self.name.partition("/")[2])
        return self._context_length

    def supports_tools(self) -> bool:
        """Return False only where litellm's table says so."""
        return catalog.supports_tools(self.name)

    def close(self) -> None:
        """Nothing is held: litellm keeps its connections to itself."""

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments = wire_request(request, self.name)
        if catalog.provider_of(self.name) == "anthropic":
            _mark_for_cache(arguments["messages"])
        if self.base:
            arguments["api_base"] = self.base
        if self._key:
            arguments["api_key"] = self._key
        return arguments | {"timeout": self._timeout, "max_retries": 0, "drop_params": True}

    def _error(self, error: Exception, *, tools: bool) -> ModelError:
        status = getattr(error, "status_code", None)
        words = _words(error)
        kind = type(error).__name__
        if kind in ("Timeout", "APITimeoutError"):
            return ModelUnreachable(f"{self.name}: no answer within the timeout")
        if kind in ("MidStreamFallbackError", "APIConnectionError"):
            why = one_line(words, self._key)
            return ModelUnreachable(f"{self.name}: cannot reach the provider, or it broke off: {why}")
        response = getattr(error, "response", None)
        headers = getattr(response, "headers", None) or {}
        wait = headers.get("retry-after", "")
        number = status if isinstance(status, int) else 0
        return error_from(Refusal(self.name, number, words, retry_after=wait, key=self._key, tools=tools))


def load() -> ModuleType:
    """Import litellm: without its network fetch, without what it prints, and as fast as it can be."""
    with _importing:
        # Otherwise the import fetches a price table from the network.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        collecting = gc.isenabled()
        gc.disable()  # a fifth of the import is the collector walking what is being built
        try:
            with _quiet():
                import litellm
        finally:
            if collecting:
                gc.enable()
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).disabled = True
        return litellm  # type: ignore[no-any-return]


def _mark_for_cache(messages: list[dict[str, Any]]) -> None:
    """Mark the leading system message, the longest part that stays the same, as worth caching."""
    first = messages[0] if messages else {}
    if first.get("role") == "system" and first["content"]:
        part = {"type": "text", "text": first["content"], "cache_control": {"type": "ephemeral"}}
        first["content"] = [part]


def _words(error: Exception) -> str:
    """Return what the provider said, without the names of classes that litellm puts before it."""
    text = str(getattr(error, "message", "") or error)
    while (found := _PREFIX.match(text)) is not None:
        text = text[found.end() :]
    return text


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    # litellm prints advice to stdout, which belongs to the answer.
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _close(chunks: Any) -> None:
    """End the call behind a litellm stream."""
    for each in (chunks, getattr(chunks, "completion_stream", None)):
        close = getattr(each, "close", None)
        if callable(close):
            close()
