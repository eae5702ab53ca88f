"""What every lane must do, proven on the wire: OpenAI over httpx, Anthropic through litellm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentmem import errors, settings
from agentmem.models import open_model
from agentmem.models.base import (
    Finish,
    Message,
    ReasoningDelta,
    Request,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from tests.loopback import Answer, Garbage, Gate, Provider, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem.models.base import Model, Piece

    Open = Callable[..., Model]

KEY = "sk-loopback-0123456789"
LANES = {"openai": "gpt-4o", "anthropic": "anthropic/claude-sonnet-4-6"}
WEATHER = ToolSpec(
    "weather", "tells the weather", {"type": "object", "properties": {"city": {"type": "string"}}}
)


@pytest.fixture(params=LANES)
def opened(
    request: pytest.FixtureRequest, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    base = provider.url if request.param == "openai" else provider.root
    models: list[Model] = []

    def opening(**flags: Any) -> Model:
        flags = {"model": LANES[request.param], "api_base": base} | flags
        models.append(open_model(settings.load(flags)))
        return models[-1]

    yield opening
    for model in models:
        model.close()


@pytest.fixture
def model(opened: Open) -> Model:
    return opened()


def ask(text: str = "hi", **more: Any) -> Request:
    return Request((Message("system", "be kind"), Message("user", text)), **more)


def text_of(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def until_error(model: Model, request: Request) -> tuple[list[Piece], errors.ModelError]:
    """Return what came before the error, and the error."""
    pieces: list[Piece] = []
    with pytest.raises(errors.ModelError) as caught:
        pieces.extend(model.stream(request))  # extend keeps what came before the error
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert KEY not in message
    return pieces, caught.value


def test_text_arrives_as_it_is_written(model: Model, provider: Provider) -> None:
    gate = Gate(1)
    provider.answers.append(Answer("one two three", gate=gate))
    stream = model.stream(ask())
    assert next(stream) == TextDelta("one")
    gate.wait_until_reached()
    gate.open()
    assert text_of(list(stream)) == " two three"


def test_the_messages_reach_the_model(model: Model, provider: Provider) -> None:
    provider.answers.append("yes")
    talk = (Message("system", "be kind"), Message("user", "één"), Message("assistant", "two"))
    list(model.stream(Request((*talk, Message("user", "three\r\n\u2028")))))
    asked = provider.asked[0]
    assert all(said in asked.text for said in ("be kind", "één", "two", "three\\r\\n\u2028"))
    assert KEY in asked.headers.get("x-api-key", asked.headers.get("authorization", ""))


def test_no_character_of_a_reply_is_lost(model: Model, provider: Provider) -> None:
    said = " a\r\n\u2028\x85\x0b\x0c\x1c é 🦜 data: [DONE]\n\n### User — \ufeff\t"
    provider.answers.append(Answer(pieces=tuple(said)))
    assert text_of(list(model.stream(ask()))) == said


def test_text_that_utf8_cannot_carry_does_not_stop_a_request(model: Model, provider: Provider) -> None:
    provider.answers.append("yes")
    assert text_of(list(model.stream(ask("a\ud800b")))) == "yes"
    assert "a\ufffdb" in provider.asked[0].text


def test_settings_of_a_request_are_sent(model: Model, provider: Provider) -> None:
    provider.answers.append("yes")
    list(model.stream(ask(temperature=0.2, max_tokens=77)))
    assert provider.asked[0].body["temperature"] == 0.2
    assert provider.asked[0].body["max_tokens"] == 77


def test_usage_and_finish_come_last(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer("a b", usage=(100, 20, 80)))
    *_, usage, finish = model.stream(ask())
    assert isinstance(usage, Usage)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (100, 20, 80)
    assert usage.cost is not None
    assert usage.cost > 0
    assert finish == Finish("stop")


def test_a_reply_cut_at_the_token_limit_says_so(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer("half a", finish="length"))
    assert list(model.stream(ask()))[-1] == Finish("length")


def test_parallel_tool_calls_come_whole(model: Model, provider: Provider) -> None:
    cities = (("weather", {"city": "Bern"}), ("weather", {"city": "Nîmes"}))
    provider.answers.append(Answer("looking", calls=cities))
    pieces = list(model.stream(ask(tools=(WEATHER,))))
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    assert text_of(pieces) == "looking"
    assert [call.name for call in calls] == ["weather", "weather"]
    assert ["Bern" in calls[0].arguments, "N\\u00eemes" in calls[1].arguments] == [True, True]
    assert calls[0].id != calls[1].id
    assert pieces[-1] == Finish("tool_calls")
    assert "tells the weather" in provider.asked[0].text


@pytest.mark.parametrize("offered", [(WEATHER,), ()])
def test_tool_results_go_back(model: Model, provider: Provider, offered: tuple[ToolSpec, ...]) -> None:
    provider.answers.append("sunny")
    call = ToolCall("call_7", "weather", '{"city": "Bern"}')
    talk = (
        Message("user", "weather?"),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", "22 °C", tool_call_id="call_7"),
    )
    assert text_of(list(model.stream(Request(talk, tools=offered)))) == "sunny"
    assert all(said in provider.asked[0].text for said in ("call_7", "22 °C", "Bern"))


def test_reasoning_is_told_from_the_reply(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer("42", reasoning="let me think"))
    pieces = list(model.stream(ask()))
    assert ReasoningDelta("let me think") in pieces
    assert text_of(pieces) == "42"


def test_closing_the_stream_hangs_up(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer("one two three", gate=Gate(1)))
    stream = model.stream(ask())
    next(stream)
    stream.close()
    assert provider.hung_up.wait(30)


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (401, errors.KeyRejected, 77),
        (403, errors.KeyRejected, 77),
        (404, errors.ModelNotFound, 78),
        (429, errors.RateLimited, 75),
        (500, errors.ModelUnreachable, 69),
        (503, errors.ModelUnreachable, 69),
        (400, errors.ModelError, 1),
    ],
)
def test_an_error_status_has_its_class(
    model: Model, provider: Provider, status: int, error: type[errors.ModelError], code: int
) -> None:
    provider.answers.append(Refusal(status, f"sorry,\nno: {KEY}", headers={"retry-after": "7"}))
    pieces, raised = until_error(model, ask())
    assert pieces == []
    assert (type(raised), raised.exit_code) == (error, code)
    assert "sorry, no" in str(raised)
    assert len(provider.asked) == 1
    assert ("try again in 7 s" in str(raised)) == (status == 429)


def test_an_overflow_teaches_the_limit(model: Model, provider: Provider) -> None:
    said = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )
    provider.answers.append(Refusal(400, said, "context_length_exceeded"))
    _, raised = until_error(model, ask())
    assert isinstance(raised, errors.ContextOverflow)
    assert raised.limit == 8192


def test_a_model_without_tools_is_told_apart(model: Model, provider: Provider) -> None:
    provider.answers.append(Refusal(400, "registry.ollama.ai/library/gemma:2b does not support tools"))
    _, raised = until_error(model, ask(tools=(WEATHER,)))
    assert isinstance(raised, errors.ToolsNotSupported)


def test_nobody_listens(opened: Open, provider: Provider) -> None:
    with Provider() as gone:
        pass
    base = gone.url if opened().name == "gpt-4o" else gone.root
    _, raised = until_error(opened(api_base=base), ask())
    assert type(raised) is errors.ModelUnreachable
    assert provider.asked == []


@pytest.mark.parametrize("cut", ["torn", "clean"])
def test_a_stream_that_breaks_off_keeps_what_came(model: Model, provider: Provider, cut: str) -> None:
    provider.answers.append(Answer("half a reply", cut=cut))
    pieces, raised = until_error(model, ask())
    assert text_of(pieces) == "half a reply"
    assert type(raised) is errors.ModelUnreachable


def test_a_body_that_is_no_reply(model: Model, provider: Provider) -> None:
    provider.answers.append(Garbage())
    pieces, raised = until_error(model, ask())
    assert text_of(pieces) == ""
    assert type(raised) is errors.ModelUnreachable


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_hang_ends_with_the_timeout(opened: Open, provider: Provider, allowed: int) -> None:
    provider.answers.append(Answer("one two", gate=Gate(allowed)))
    pieces, raised = until_error(opened(timeout=2), ask())
    assert text_of(pieces) == "one" * allowed
    assert type(raised) is errors.ModelUnreachable
    assert "timeout of 2 s" in str(raised)


def test_a_model_can_be_asked_again_after_an_error(model: Model, provider: Provider) -> None:
    provider.answers += [Refusal(500), Answer("half", cut="torn"), "whole"]
    until_error(model, ask())
    until_error(model, ask())
    assert text_of(list(model.stream(ask()))) == "whole"
