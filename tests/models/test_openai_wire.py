from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentmem import errors, settings
from agentmem.models import open_model
from agentmem.models.base import Finish, Message, Request, TextDelta, ToolCall, ToolSpec
from tests.loopback import Answer, Gate, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.models.base import Model
    from tests.loopback import Provider

WEATHER = ToolSpec("weather", "tells the weather", {"type": "object", "properties": {}})


def ask(text: str = "hi", **more: Any) -> Request:
    return Request((Message("user", text),), **more)


@pytest.fixture
def model(provider: Provider) -> Iterator[Model]:  # noqa: ARG001
    opened = open_model(settings.load({"model": "gpt-4o"}))
    yield opened
    opened.close()


def test_text_comes_piece_by_piece(model: Model, provider: Provider) -> None:
    provider.answers.append("hello there you")
    pieces = list(model.stream(ask()))
    assert pieces[:3] == [TextDelta("hello"), TextDelta(" there"), TextDelta(" you")]
    assert pieces[-1] == Finish("stop")
    assert provider.asked[0].messages == [{"role": "user", "content": "hi"}]


def test_a_tool_call_comes_whole(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer(calls=(("weather", {"city": "Bern"}),)))
    assert ToolCall("call_0", "weather", '{"city": "Bern"}') in list(model.stream(ask(tools=(WEATHER,))))


def test_a_rejected_key_is_never_shown(model: Model, provider: Provider) -> None:
    provider.answers.append(Refusal(401, "bad key sk-loopback-0123456789"))
    with pytest.raises(errors.KeyRejected) as caught:
        list(model.stream(ask()))
    assert "sk-loopback" not in str(caught.value)


def test_closing_the_stream_hangs_up(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer("one two three", gate=Gate(1)))
    stream = model.stream(ask())
    assert next(stream) == TextDelta("one")
    stream.close()
    assert provider.hung_up.wait(30)
