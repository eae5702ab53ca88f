"""Whatever a history holds, what goes out is well-formed, and nothing said is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentmem.models.base import ToolCall
from agentmem.models.chunks import wire_message
from agentmem.wire import Line, bounded, chat_messages, fenced
from tests.api.strict import assert_well_formed

IDS = st.sampled_from(["a", "b", "c", "d"])
CALLS = st.lists(IDS, unique=True, max_size=3).map(
    lambda ids: tuple(ToolCall(identity, "dig", "{}") for identity in ids)
)
WORDS = st.sampled_from(["", "one", "two", "three"])
LINES = st.one_of(
    st.builds(lambda text: Line("user", text), WORDS),
    st.builds(lambda text, calls: Line("assistant", text, calls), WORDS, CALLS),
    st.builds(lambda text, identity: Line("tool", text, tool_call_id=identity), WORDS, IDS),
)


@given(st.sampled_from(["", "You are Ada."]), st.lists(LINES, max_size=12))
def test_any_history_becomes_well_formed_messages(preamble: str, lines: list[Line]) -> None:
    used: set[str] = set()
    distinct: list[Line] = []
    for line in lines:  # that ids are used once is seen to when they arrive
        calls = tuple(call for call in line.tool_calls if call.id not in used)
        used |= {call.id for call in calls}
        distinct.append(Line(line.role, line.content, calls, line.tool_call_id))
    messages = chat_messages(preamble, [*distinct, Line("user", "the task")])
    assert_well_formed([wire_message(message) for message in messages])
    assert messages[-1].content.endswith("the task")
    assert (messages[0].role == "system") == bool(preamble)
    sent = "\n".join(message.content for message in messages)
    for line in lines:
        assert line.content in sent


@given(st.text(), st.integers(1, 60))
def test_a_bounded_text_keeps_its_ends(text: str, limit: int) -> None:
    short = bounded(text, limit)
    if len(text.encode("utf-8", "replace")) <= limit:
        assert short == text
        return
    head, _, rest = short.partition("\n[… ")
    left_out, _, tail = rest.partition(" characters left out here; the memory has the whole text …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(left_out) + len(tail) == len(text)
    assert len((head + tail).encode()) <= limit


@given(st.text())
def test_a_fence_cannot_be_closed_from_inside(text: str) -> None:
    whole = fenced(text)
    last = whole.splitlines()[-1]
    assert last.startswith("</memory ")
    assert whole.count(last) == 1
