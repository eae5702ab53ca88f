"""The embedded model, for real: SmolLM2 in this process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentmem import errors, settings
from agentmem.models import open_model
from agentmem.models.base import Finish, Message, Request, TextDelta, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.models.base import Model

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("workspace")]


@pytest.fixture
def model(workspace: object) -> Iterator[Model]:
    opened = open_model(settings.load({"model": "local", "context_length": 1024}))
    yield opened
    opened.close()


def ask(text: str = "Say hi.", **more: Any) -> Request:
    settled = {"temperature": 0.0, "max_tokens": 12} | more
    return Request((Message("system", "Be brief."), Message("user", text)), **settled)


def test_it_replies_with_text_usage_and_finish(model: Model) -> None:
    *texts, usage, finish = model.stream(ask())
    assert len(texts) > 1
    assert all(isinstance(text, TextDelta) for text in texts)
    assert isinstance(usage, Usage)
    assert usage.prompt_tokens > 10
    assert 0 < usage.completion_tokens <= 12
    assert usage.cost == 0
    assert finish in (Finish("stop"), Finish("length"))


def test_the_same_question_at_temperature_zero_has_one_answer(model: Model) -> None:
    replies = [[each for each in model.stream(ask()) if isinstance(each, TextDelta)] for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]


def test_a_prompt_that_is_too_long_teaches_the_limit(model: Model) -> None:
    with pytest.raises(errors.ContextOverflow) as caught:
        list(model.stream(ask("word " * 2000)))
    assert caught.value.limit == 1024


def test_closing_the_stream_stops_the_work(model: Model) -> None:
    stream = model.stream(ask("Tell a very long story.", max_tokens=None))
    next(stream)
    stream.close()
    # There is one slot: this waits for the story to stop, and would time out behind all of it.
    assert list(model.stream(ask(max_tokens=2)))[-1] == Finish("length")


@pytest.mark.parametrize(("wanted", "window"), [(None, 8192), (300, 300), (1_000_000, 8192)])
def test_the_window_is_as_set_but_no_more_than_trained_for(wanted: int | None, window: int) -> None:
    model = open_model(settings.load({"model": "local", "context_length": wanted}))
    assert model.context_length() == window
    assert not model.supports_tools()
    model.close()


def test_it_says_nothing_of_its_own_and_ends_with_the_process() -> None:
    code = (
        "from agentmem import settings; from agentmem.models import open_model; "
        "from agentmem.models.base import Message, Request; "
        "m = open_model(settings.load({'model': 'local'})); "
        "print(len(list(m.stream(Request((Message('user', 'hi'),), max_tokens=3)))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("5\n", "")
