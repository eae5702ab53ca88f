from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem import errors
from agentmem.models.base import Finish, ReasoningDelta, TextDelta, ToolCall, Usage
from agentmem.models.chunks import Reply, Thinking


def told_apart(pieces: list[str]) -> tuple[str, str]:
    """Return the thoughts and the text of a reply that arrives in these pieces."""
    thinking = Thinking()
    found = [each for piece in pieces for each in thinking.take(piece)]
    found += thinking.rest()
    thoughts = "".join(each.text for each in found if isinstance(each, ReasoningDelta))
    return thoughts, "".join(each.text for each in found if isinstance(each, TextDelta))


def cut(text: str, places: list[int]) -> list[str]:
    at = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(at)]


places = st.lists(st.integers(0, 1000), max_size=12)
plain = st.text(st.characters(exclude_characters="<>"), max_size=30)


@given(plain, plain.map(str.lstrip).filter(bool), places)
def test_a_leading_thought_is_told_from_the_reply_however_it_is_cut(
    thought: str, reply: str, at: list[int]
) -> None:
    assert told_apart(cut(f"\n<think>{thought}</think>\n\n{reply}", at)) == (thought, reply)


@given(
    st.text("<think>/ a\n", max_size=40).filter(lambda text: not text.lstrip().startswith("<think>")), places
)
def test_any_other_text_comes_through_unchanged(text: str, at: list[int]) -> None:
    assert told_apart(cut(text, at)) == ("", text)


@given(plain, places)
def test_a_thought_that_never_ends_is_no_reply(thought: str, at: list[int]) -> None:
    assert told_apart(cut(f"<think>{thought}", at)) == (thought, "")


def call_chunk(**call: object) -> dict[str, object]:
    return {"choices": [{"delta": {"tool_calls": [call]}}]}


def test_calls_without_an_index_stay_apart() -> None:
    reply = Reply("m")
    for number in (1, 2):
        function = {"name": f"f{number}", "arguments": {"n": number}}
        assert list(reply.take(call_chunk(id=f"c{number}", function=function))) == []
    assert list(reply.end(done=True)) == [
        ToolCall("c1", "f1", '{"n": 1}'),
        ToolCall("c2", "f2", '{"n": 2}'),
        Finish("tool_calls"),
    ]


def test_a_call_without_arguments_gets_an_empty_object() -> None:
    reply = Reply("m")
    list(reply.take(call_chunk(index=0, id="c", function={"name": "now"})))
    assert ToolCall("c", "now", "{}") in list(reply.end(done=True))


def test_usage_of_zero_is_unknown_and_nulls_do_no_harm() -> None:
    reply = Reply("m")
    usage = {"prompt_tokens": 0, "completion_tokens": None, "prompt_tokens_details": None}
    chunks: list[dict[str, object]] = [
        {"choices": None},
        {"choices": [], "usage": None},
        {"choices": [{"delta": None, "finish_reason": None}]},
        {
            "choices": [{"delta": {"content": None, "tool_calls": None}, "finish_reason": "stop"}],
            "usage": usage,
        },
    ]
    assert [piece for chunk in chunks for piece in reply.take(chunk)] == []
    assert list(reply.end(done=False)) == [Usage(), Finish("stop")]


def test_no_finish_and_no_end_is_a_cut() -> None:
    reply = Reply("m")
    assert list(reply.take({"choices": [{"delta": {"content": "hal"}}]})) == [TextDelta("hal")]
    with pytest.raises(errors.ModelUnreachable, match="broke off"):
        list(reply.end(done=False))
