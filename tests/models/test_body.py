from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agentmem.models.base import Message
from agentmem.models.body import Encoder
from agentmem.models.chunks import wire_message

texts = st.text(max_size=20)
talks = st.lists(texts.map(lambda text: Message("user", text)), max_size=3)


@given(st.lists(st.tuples(st.none() | st.sampled_from(["a", "ä\n", "\ud800"]), talks), max_size=5))
def test_what_is_encoded_once_is_what_would_be_encoded_each_time(
    requests: list[tuple[str | None, list[Message]]],
) -> None:
    encoder = Encoder()
    for system, talk in requests:
        leading = None if system is None else Message("system", system)
        body = {"model": "m", "messages": [wire_message(each) for each in talk], "stream": True}
        whole = [wire_message(each) for each in ([leading] if leading else []) + talk]
        assert json.loads(b"".join(encoder.encode(leading, body))) == {**body, "messages": whole}


def test_a_long_memory_is_not_encoded_again() -> None:
    encoder, leading = Encoder(), Message("system", "x" * 1000)
    encoder.encode(leading, {"messages": []})
    first = encoder._encoded
    encoder.encode(Message("system", "x" * 1000), {"messages": []})
    assert encoder._encoded is first
    encoder.encode(Message("system", "y"), {"messages": []})
    assert encoder._encoded is not first
