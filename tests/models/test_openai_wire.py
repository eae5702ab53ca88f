"""What only the lane of its own does: odd endpoints, old parameters, a fast start."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentmem import errors, settings
from agentmem.models import open_model
from agentmem.models.base import Finish, Message, ReasoningDelta, Request, TextDelta, Usage
from tests.loopback import Answer, Garbage, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.models.base import Model, Piece
    from tests.loopback import Provider


@pytest.fixture
def model(provider: Provider) -> Iterator[Model]:
    opened = open_model(settings.load({"model": "gpt-4o"}))
    yield opened
    opened.close()


def ask(**more: Any) -> Request:
    return Request((Message("user", "hi"),), **more)


def text_of(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def test_a_provider_that_ignores_stream_works(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer("all at once", usage=(5, 3, 0), stream=False))
    pieces = list(model.stream(ask()))
    assert pieces == [TextDelta("all at once"), Usage(5, 3, cost=4.25e-05), Finish("stop")]


def test_a_thought_in_the_text_is_no_text(model: Model, provider: Provider) -> None:
    provider.answers.append(Answer(pieces=("<thi", "nk>hm", "m</th", "ink>\n\n", "42")))
    pieces = list(model.stream(ask()))
    assert text_of(pieces) == "42"
    assert "".join(piece.text for piece in pieces if isinstance(piece, ReasoningDelta)) == "hmm"


@pytest.mark.parametrize(
    ("complaint", "gone", "come"),
    [
        ("Unrecognized request argument supplied: stream_options", "stream_options", None),
        ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature", None),
        (
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
    ],
)
def test_a_parameter_the_endpoint_refuses_is_left_out_from_then_on(
    model: Model, provider: Provider, complaint: str, gone: str, come: str | None
) -> None:
    provider.answers += [Refusal(400, complaint), "first", "second"]
    for reply in ("first", "second"):
        assert text_of(list(model.stream(ask(temperature=0.2, max_tokens=9)))) == reply
    assert len(provider.asked) == 3
    assert gone in provider.asked[0].body
    for asked in provider.asked[1:]:
        assert gone not in asked.body
        assert come is None or asked.body[come] == 9


def test_the_same_complaint_twice_is_an_error(model: Model, provider: Provider) -> None:
    provider.answers += [Refusal(400, "unknown field stream_options")] * 2
    with pytest.raises(errors.ModelError, match="stream_options"):
        list(model.stream(ask()))


@pytest.mark.parametrize("name", ["o3-mini", "gpt-5", "openai/gpt-5-mini"])
def test_reasoning_models_get_their_own_parameters(provider: Provider, name: str) -> None:
    provider.answers.append("yes")
    model = open_model(settings.load({"model": name}))
    list(model.stream(ask(temperature=0.2, max_tokens=9)))
    model.close()
    body = provider.asked[0].body
    assert body["max_completion_tokens"] == 9
    assert body.keys().isdisjoint({"max_tokens", "temperature"})
    assert body["model"] == name.removeprefix("openai/")


@pytest.mark.parametrize(
    "answer",
    [
        Garbage("not json", "application/json"),
        Garbage('"a text"', "application/json"),
        Garbage("{}", "application/json"),
        Garbage("", "text/plain"),
        Garbage("data: {not json\n\n", "text/event-stream"),
        Garbage("data: [1]\n\n", "text/event-stream"),
        Garbage("", "text/event-stream"),
    ],
    ids=lambda answer: answer.text or "nothing",
)
def test_nonsense_is_an_unreachable_provider(model: Model, provider: Provider, answer: Garbage) -> None:
    provider.answers.append(answer)
    with pytest.raises(errors.ModelUnreachable):
        list(model.stream(ask()))


def test_an_error_inside_the_stream_has_its_class(model: Model, provider: Provider) -> None:
    start = 'data: {"choices": [{"delta": {"content": "hal"}}]}\n\n'
    error = 'data: {"error": {"message": "slow down", "code": 429}}\n\n'
    provider.answers.append(Garbage(start + error, "text/event-stream"))
    stream = model.stream(ask())
    assert next(stream) == TextDelta("hal")
    with pytest.raises(errors.RateLimited, match="slow down"):
        next(stream)


def test_comments_and_chunks_without_choices_are_passed_over(model: Model, provider: Provider) -> None:
    stream = (
        ': PROCESSING\n\ndata: {"object": "ping"}\n\ndata: {"choices": [{"delta": {"content": "a"}}]}\n\n'
    )
    provider.answers.append(Garbage(f"{stream}data: [DONE]\n\n", "text/event-stream; charset=utf-8"))
    assert list(model.stream(ask())) == [TextDelta("a"), Finish("stop")]


@pytest.mark.parametrize("base", ["localhost:8080", "ftp://example.org", "http://", "http://[::1", "x y"])
def test_a_base_that_is_no_address_is_named(workspace: object, base: str) -> None:
    model = open_model(settings.load({"model": "gpt-4o", "api_base": base}))
    with pytest.raises(errors.ModelUnreachable) as caught:
        list(model.stream(ask()))
    model.close()
    assert base.rstrip("/") in str(caught.value)


def test_an_address_without_its_v1_is_hinted_at(provider: Provider) -> None:
    model = open_model(settings.load({"model": "gpt-4o", "api_base": f"{provider.root}/v2"}))
    provider.answers.append(Refusal(404, "no such page"))
    with pytest.raises(errors.ModelNotFound, match="lack a /v1"):
        list(model.stream(ask()))
    model.close()


@pytest.mark.parametrize("proxy", ["socks9://127.0.0.1:1", "nonsense:1:2:3"])
def test_a_proxy_that_cannot_be_used_is_a_configuration_error(
    workspace: object,
    monkeypatch: pytest.MonkeyPatch,
    proxy: str,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(errors.ConfigurationError, match="proxy"):
        open_model(settings.load({"model": "gpt-4o"}), key="k")


def test_a_password_in_the_address_is_never_shown(workspace: object) -> None:
    model = open_model(settings.load({"model": "m", "api_base": "http://me:secret@127.0.0.1:1/v1"}))
    with pytest.raises(errors.ModelUnreachable) as caught:
        list(model.stream(ask()))
    model.close()
    assert "127.0.0.1:1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_redirect_is_not_followed_with_the_key(model: Model, provider: Provider) -> None:
    provider.answers.append(Refusal(307, headers={"location": f"{provider.url}/elsewhere"}))
    with pytest.raises(errors.ModelNotFound, match="redirects"):
        list(model.stream(ask()))
    assert len(provider.asked) == 1


def test_the_context_length_is_asked_of_an_endpoint_nobody_knows(provider: Provider) -> None:
    provider.models = [{"id": "home-brew", "max_model_len": 4321}]
    model = open_model(settings.load({"model": "home-brew"}))
    assert model.context_length() == 4321
    model.close()


def test_the_lane_loads_neither_an_sdk_nor_a_command_line(workspace: object) -> None:
    code = (
        "import sys; from agentmem import settings; from agentmem.models import open_model; "
        "open_model(settings.load({'model': 'x', 'api_base': 'http://127.0.0.1:9'})).close(); "
        "print(*sorted({'litellm', 'openai', 'rich', 'click', 'pygments', 'httpx._main'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
