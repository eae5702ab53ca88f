"""The lane for every provider with a protocol of its own, through litellm."""

from __future__ import annotations

import ast
import contextlib
import gc
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
    from collections.abc import Generator
    from types import ModuleType

    from agentmem.models.base import Piece, Request

_importing = threading.Lock()

_SELL_CLAUDE = ("bedrock", "openrouter", "vertex_ai")
_TELLS = {
    "ollama": "http://localhost:11434",
    "ollama_chat": "http://localhost:11434",
    "openrouter": "https://openrouter.ai/api/v1",
}
_PREFIX = re.compile(r"litellm\.|\w*(Error|Exception|Timeout)(: | - )")
_ADVICE = re.compile(r"\.? *Handle with `litellm\.\w+`\.?|\n?LiteLLM Retried: .*")
_BYTES = re.compile(r"\bb(['\"]).*\1", re.DOTALL)
_TIMED_OUT = re.compile(r"timed? ?out", re.IGNORECASE)
_NOT_CONNECTED = re.compile(r"\[Errno|connection (refused|error|reset)|name resolution", re.IGNORECASE)
_BROKEN = ("MidStreamFallbackError", "APIConnectionError", "JSONDecodeError", "RemoteProtocolError")


class LiteLLM:
    """A model that litellm reaches.

    Attributes:
        name: as the user wrote it.
        base: the provider's address where it is not the usual one, or "".
    """

    def __init__(
        self,
        name: str,
        *,
        wire_name: str,
        base: str = "",
        key: str = "",
        timeout: float = 600.0,
        context_length: int | None = None,
    ) -> None:
        self.name = name
        self.base = base
        self._wire_name = wire_name
        self._key = key
        self._timeout = timeout
        self._context_length = context_length

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Send a request and yield the reply as it arrives; closing the generator ends the call."""
        litellm = load()
        import httpx
        import openai

        reply = Reply(self.name)
        chunks: Any = None
        try:
            chunks = litellm.completion(**self._arguments(request))
            for chunk in chunks:
                yield from reply.take(chunk.model_dump(warnings=False))
            if reply.is_void:  # litellm makes an empty reply of a body it does not understand
                raise ModelUnreachable(f"{self.name}: the provider answered something that is no reply")
            yield from reply.end(done=False)
        # litellm's own family misses half of what it raises.
        except (openai.OpenAIError, httpx.HTTPError, ValueError) as error:
            raise self._error(error, tools=bool(request.tools)) from error
        finally:
            _close(chunks)

    def warm(self) -> None:
        """Import litellm."""
        load()

    def context_length(self) -> int | None:
        """Return the context window: as set, from litellm's table, or what an endpoint says that does."""
        if self._context_length is None:
            self._context_length = catalog.context_length(self._wire_name)
        base = self.base or _TELLS.get(catalog.provider_of(self._wire_name), "")
        if self._context_length is None and base:
            model = self._wire_name.partition("/")[2]
            self._context_length = catalog.ask_context_length(base, model, self._key)
        return self._context_length

    def supports_tools(self) -> bool:
        """Return False only where litellm's table says so."""
        return catalog.supports_tools(self.name)

    def close(self) -> None:
        """Nothing is held: litellm keeps its connections to itself."""

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments = wire_request(request, self._wire_name)
        if _wants_marks(self._wire_name):
            _mark_for_cache(arguments["messages"])
        if self.base:
            arguments["api_base"] = self.base
        if self._key or self.base:  # litellm insists on a key even where an address of one's own wants none
            arguments["api_key"] = self._key or "none"
        return arguments | {"timeout": self._timeout, "max_retries": 0, "drop_params": True}

    def _error(self, error: Exception, *, tools: bool) -> ModelError:
        status = getattr(error, "status_code", None)
        words = _words(error)
        if "timeout" in type(error).__name__.lower() or _TIMED_OUT.search(words):
            return ModelUnreachable(f"{self.name}: no answer within the timeout of {self._timeout:g} s")
        if type(error).__name__ in _BROKEN or _NOT_CONNECTED.search(words):
            why = one_line(words, self._key)
            return ModelUnreachable(f"{self.name}: cannot reach the provider, or it broke off: {why}")
        headers = getattr(error, "litellm_response_headers", None) or {}
        return error_from(
            Refusal(
                self.name,
                status if isinstance(status, int) else 0,
                words,
                retry_after=headers.get("retry-after", ""),
                key=self._key,
                tools=tools,
            )
        )


def load() -> ModuleType:
    """Import litellm: without its network fetch, without what it logs, and as fast as it can be."""
    with _importing:
        # Otherwise the import fetches a price table from the network.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).disabled = True
        collecting = gc.isenabled()
        gc.disable()  # a fifth of the import is the collector walking what is being built
        try:
            import litellm
        finally:
            if collecting:
                gc.enable()
        litellm.suppress_debug_info = True  # it prints advice to stdout, which belongs to the answer
        litellm.telemetry = False
        litellm.modify_params = True  # talk that has tool calls in it goes through when no tools are offered
        return litellm  # type: ignore[no-any-return]


def _wants_marks(name: str) -> bool:
    provider = catalog.provider_of(name)
    return provider == "anthropic" or (provider in _SELL_CLAUDE and "claude" in name.lower())


def _mark_for_cache(messages: list[dict[str, Any]]) -> None:
    """Mark where the provider's prompt cache shall end.

    That is after the system message, which lasts for the session, and after the newest user message,
    up to which the next request will be equal.
    """
    first = messages[0] if messages and messages[0]["role"] == "system" else None
    newest = next((each for each in reversed(messages) if each["role"] == "user"), None)
    for message in (first, newest):
        if message and message["content"]:
            part = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
            message["content"] = [part]


def _words(error: Exception) -> str:
    """Return what the provider said, without what litellm wraps around it."""
    text = _ADVICE.sub("", str(getattr(error, "message", "") or error))
    if found := _BYTES.search(text):
        with contextlib.suppress(ValueError, SyntaxError):
            return str(ast.literal_eval(found[0]).decode("utf-8", "replace"))
    while (prefix := _PREFIX.match(text)) is not None:
        text = text[prefix.end() :]
    return text


def _close(chunks: Any) -> None:
    """End the call behind a litellm stream."""
    for each in (chunks, getattr(chunks, "completion_stream", None)):
        close = getattr(each, "close", None)
        if callable(close):
            close()
