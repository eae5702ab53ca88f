"""What only litellm's lane must mind: its import, its talkativeness, the markers of prompt caches."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem import settings
from agentmem.models import open_model, warm
from agentmem.models.base import Message, Request, TextDelta
from tests.loopback import Garbage, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.models.base import Model
    from tests.loopback import Provider

TALK = (
    Message("system", "be kind"),
    Message("user", "one"),
    Message("assistant", "two"),
    Message("user", "three"),
)


@pytest.fixture
def model(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-loopback-0123456789")
    opened = open_model(
        settings.load({"model": "anthropic/claude-sonnet-4-6", "api_base": provider.root, "timeout": 30})
    )
    yield opened
    opened.close()


def test_the_cache_is_told_where_the_lasting_part_ends(model: Model, provider: Provider) -> None:
    provider.answers.append("yes")
    list(model.stream(Request(TALK)))
    body = provider.asked[0].body
    mark = {"type": "ephemeral"}
    assert [part.get("cache_control") for part in body["system"]] == [mark]
    marks = [part.get("cache_control") for message in body["messages"] for part in message["content"]]
    assert marks == [None, None, mark]


def test_the_prefix_of_the_next_request_is_the_same(model: Model, provider: Provider) -> None:
    provider.answers += ["two", "four"]
    list(model.stream(Request(TALK[:2])))
    list(model.stream(Request(TALK)))
    first, second = (asked.body for asked in provider.asked)
    assert first["system"] == second["system"]
    assert [part["text"] for part in first["messages"][0]["content"]] == ["one"]
    assert second["messages"][0]["content"][0]["text"] == "one"


def test_an_error_inside_the_stream_keeps_what_came(model: Model, provider: Provider) -> None:
    events = (
        'event: message_start\ndata: {"type": "message_start", "message": {"id": "m", "type": "message", '
        '"role": "assistant", "content": [], "model": "x", "usage": {"input_tokens": 3, "output_tokens": 1}}}\n\n'
        'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, '
        '"content_block": {"type": "text", "text": ""}}\n\n'
        'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, '
        '"delta": {"type": "text_delta", "text": "hal"}}\n\n'
        'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    )
    provider.answers.append(Garbage(events, "text/event-stream"))
    stream = model.stream(Request(TALK))
    assert next(stream) == TextDelta("hal")
    with pytest.raises(Exception, match="overloaded") as caught:
        next(stream)
    assert getattr(caught.value, "exit_code", None) == 69


def test_nothing_is_printed_and_only_the_model_is_called(model: Model, provider: Provider) -> None:
    provider.answers += ["hello", Refusal(500, "sorry")]
    port = provider.root.rpartition(":")[2]
    code = f"""
import sys
called = set()
def watch(event, args):
    if event == "socket.connect":
        called.add(args[1][1])
    elif event == "socket.getaddrinfo":
        called.add(int(args[1]))
sys.addaudithook(watch)
from agentmem import errors, settings
from agentmem.models import open_model
from agentmem.models.base import Message, Request
model = open_model(settings.load({{"model": {model.name!r}, "api_base": {provider.root!r}}}))
for _ in range(2):
    try:
        list(model.stream(Request((Message("user", "hi"),))))
    except errors.ModelUnreachable:
        pass
assert called == {{{port}}}, called
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_ollama_is_asked_for_its_context_length(provider: Provider) -> None:
    provider.shows = {"model_info": {"llama.context_length": 4096}}
    model = open_model(settings.load({"model": "ollama_chat/home-brew", "api_base": provider.root}))
    assert model.context_length() == 4096


def test_warming_up_imports_litellm_ahead(model: Model) -> None:
    warm(model)
    assert "litellm" in sys.modules
