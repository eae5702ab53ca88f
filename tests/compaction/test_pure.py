"""Chunking, splitting, grounding, and what counts as a summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.compressor.answers import cleaned, objection
from agentmem.compressor.chunking import parts
from agentmem.compressor.extract import LABEL, extract
from agentmem.compressor.grounding import invented, without
from agentmem.compressor.prompts import block
from agentmem.compressor.split import split
from agentmem.roles import SUMMARY_MARK
from agentmem.turns import Turn


def count(text: str) -> int:
    return len(text.encode()) // 4 + 1


def size(turn: Turn) -> int:
    return count(turn.content)


texts = st.lists(st.text("ab \n", min_size=1, max_size=300), max_size=12)


@given(texts, st.integers(5, 60))
def test_parts_hold_everything_in_order_and_none_is_too_long(said: list[str], room: int) -> None:
    made = parts(said, room, count)
    assert "".join("".join(made).split()) == "".join("".join(said).split())
    assert all(count(part) <= room + 1 for part in made)


@given(texts, texts, st.integers(5, 60))
def test_parts_do_not_change_when_the_record_grows(said: list[str], more: list[str], room: int) -> None:
    before, after = parts(said, room, count), parts([*said, *more], room, count)
    assert before[:-1] == after[: max(0, len(before) - 1)]


USERS = ("User", "Human")
roles = st.sampled_from([*USERS, "Ada", "Tool (sh)"])
talks = st.lists(st.tuples(roles, st.text("abc", max_size=40)), max_size=20).map(
    lambda said: [Turn(role, text, str(number)) for number, (role, text) in enumerate(said)]
)


@given(talks, st.integers(0, 60))
def test_split_keeps_whole_exchanges_within_the_tokens_allowed(turns: list[Turn], keep: int) -> None:
    head, kept = split(turns, keep, size)
    assert head + kept == turns
    assert sum(map(size, kept)) <= keep
    assert not kept or kept[0].role in USERS


@given(talks.filter(bool), st.integers(0, 60), st.data())
def test_the_pending_message_is_never_summarised(turns: list[Turn], keep: int, data: st.DataObject) -> None:
    pending = data.draw(st.sampled_from(turns))
    head, kept = split(turns, keep, size, pending)
    assert pending in kept
    assert sorted(map(id, head + kept)) == sorted(map(id, turns))


@given(talks, st.integers(0, 60), st.data())
def test_a_result_is_never_parted_from_its_call(turns: list[Turn], keep: int, data: st.DataObject) -> None:
    asked = [turn for turn in turns if turn.role in USERS]
    pending = data.draw(st.sampled_from(asked)) if asked else None
    head, kept = split(turns, keep, size, pending)
    if head and pending in kept and turns.index(head[-1]) > turns.index(pending):
        kept.remove(pending)  # it was lifted out of what is summarised
    assert not kept or not kept[0].role.startswith("Tool")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("<think>hm\nhm</think>\n\nThe goal.", "The goal."),
        ("hm hm</think>The goal.", "The goal."),
        ("<thinking>endless", ""),
        ("```markdown\nThe goal.\n```", "The goal."),
        ("A.\n\n## Exact details\n- x", "A.\n\n## Details\n- x"),
        ("A.\n(Left out for lack of room: 3 more details; they are in the archive.)", "A."),
    ],
)
def test_an_answer_is_cleaned(answer: str, text: str) -> None:
    assert cleaned(answer) == text


@pytest.mark.parametrize(
    ("text", "finish"),
    [
        ("", "stop"),
        (" \n- …", "stop"),
        ("The goal is", "length"),
        ("The goal.", "content_filter"),
        ("I'm sorry, but I can't help with that.", "stop"),
        ("I cannot summarise this.", "stop"),
        ("As an AI language model, I do not see it.", "stop"),
        ("Error: connection reset", "stop"),
        ('{"error": {"message": "overloaded"}}', "stop"),
        ("503 Service Unavailable", "stop"),
        ("<html><body>Welcome</body></html>", "stop"),
        ("Rate limit exceeded, try again.", "stop"),
        ("Traceback (most recent call last):\n  x", "stop"),
    ],
)
def test_what_is_no_summary_is_refused(text: str, finish: str) -> None:
    assert objection(text, finish)


@pytest.mark.parametrize(
    "text",
    [
        "## Goal\nFix the error in the parser.",
        "Error handling was reworked; 503 answers are retried.",
        "The user is sorry about the delay.",
        "- I can't is what the user said.",
        "完成了。",
    ],
)
def test_what_merely_speaks_of_errors_is_a_summary(text: str) -> None:
    assert not objection(text, "stop")


SOURCE = (
    "[2026-04-20T18:33:15+01:00] User: the host db-3 has 1,200 GB and costs 500 EUR; ask Ada Lovelace <ada@corp.example> "
    "before 3 May; she said “keep it very simple”. See /srv/app/main.toml"
)


@pytest.mark.parametrize(
    "claim",
    [
        "db-3",
        "1200 GB",
        "500 EUR",
        "Ada Lovelace",
        "ada@corp.example",
        "3 May",
        "May 3, 2026",
        "2026-05-03",
        "20 April 2026",
        '"Keep it very simple."',
        "app/main.toml",
        "3 steps",
        "JavaScript",
        "the Main Host Db Of Ours",
    ],
)
def test_what_the_source_says_in_any_form_is_no_invention(claim: str) -> None:
    assert invented(f"It is about {claim} here.", [SOURCE]) == []


@pytest.mark.parametrize(
    "claim",
    [
        "db-4",
        "120 GB",
        "900 EUR",
        "Bob Marley",
        "eve@corp.example",
        "/srv/other.toml",
        "https://made.up/x",
        "2026-09-09",
        "9 June",
        '"paint it all green"',
        "ZZ-90210",
        "`parseConfig`",
    ],
)
def test_what_no_source_says_is_taken_out(claim: str) -> None:
    summary = f"## Facts\n- The host is db-3.\n- It is about {claim} here.\n- It costs 500 EUR."
    claims = invented(summary, [SOURCE])
    assert without(summary, claims) == "## Facts\n- The host is db-3.\n- It costs 500 EUR."


def test_sources_are_read_only_as_far_as_needed() -> None:
    def sources() -> object:
        yield "see db-3"
        raise AssertionError("not needed")

    assert invented("it is db-3", sources()) == []  # type: ignore[arg-type]


def test_a_heading_left_with_nothing_goes_too() -> None:
    summary = "## Goal\nFix it.\n\n## Links\n- https://made.up/x\n\n## Done\n- all"
    assert without(summary, invented(summary, ["x"])) == "## Goal\nFix it.\n\n## Done\n- all"


def test_only_the_sentence_with_the_invention_goes() -> None:
    line = "- The host is db-3. Its twin is db-9. It is fine."
    assert without(line, invented(line, [SOURCE])) == "- The host is db-3. It is fine."


@given(st.text(max_size=200), st.text(max_size=200))
def test_taking_inventions_out_leaves_none(summary: str, source: str) -> None:
    once = without(summary, invented(summary, [source]))
    assert len(once) <= len(summary) + 8


def test_a_block_cannot_be_closed_from_inside() -> None:
    text = "a</record>b"
    marked = block("record", text)
    name = marked[1 : marked.index(">")]
    assert marked == f"<{name}>\n{text}\n</{name}>"
    assert f"</{name}>" not in text


def test_a_summary_without_a_model_says_so_and_keeps_the_summary_before() -> None:
    record = [
        Turn("System", f"{SUMMARY_MARK}\n\nThe goal is peace.", "1"),
        *(Turn("User", f"question {number} " + "word " * 30, str(number)) for number in range(50)),
    ]
    made = extract(record, 300, count)
    assert made.startswith(LABEL)
    assert "The goal is peace." in made
    assert "question 49" in made
    assert "question 0 " not in made
    assert count(made) <= 300
