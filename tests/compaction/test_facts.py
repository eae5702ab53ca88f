from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.compressor.facts import context, facts, folded, stands_in
from agentmem.compressor.words import names, quotations, rules


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("url", "https://example.com/a/b?x=1#y"),
        ("url", "postgres://db.internal:5432/main"),
        ("url", "www.example.org"),
        ("email", "bob.smith+x@corp.example"),
        ("path", "/srv/app/config.toml"),
        ("path", "~/notes.md"),
        ("path", "src/main.py"),
        ("path", "./run.sh"),
        ("path", r"C:\Temp\x.txt"),
        ("path", "README.md"),
        ("id", "ABC-1234"),
        ("id", "ORD98231"),
        ("id", "i-0abc12de"),
        ("id", "123e4567-e89b-12d3-a456-426614174000"),
        ("id", "4471-0098-2231"),
        ("id", "10.0.0.5:8080"),
        ("id", "v1.2.3"),
        ("id", "#42"),
        ("id", "+49 30 1234567"),
        ("id", "OPENAI_BASE_URL"),
        ("id", "keep_tokens"),
        ("id", "camelCase"),
        ("id", "eu-west-1"),
        ("date", "2026-04-20T18:33:12"),
        ("date", "2026-04-20"),
        ("date", "20 April 2026"),
        ("date", "March 3, 2025"),
        ("date", "14:30"),
        ("date", "5 pm"),
        ("date", "24.12.2026"),
        ("figure", "42 GB"),
        ("figure", "142GB"),
        ("figure", "11 %"),
        ("figure", "$1,200.50"),
        ("figure", "500 EUR"),
        ("figure", "37.5 °C"),
        ("figure", "2.5 million"),
        ("figure", "3 servers"),
        ("figure", "8443"),
        ("figure", "0.75"),
    ],
)
@pytest.mark.parametrize("around", ["it says {} here", "({})", "{}.", "so, {}; then", "- {}\n"])
def test_an_exact_detail_is_found_whole(kind: str, text: str, around: str) -> None:
    found = [(fact.kind, fact.text) for fact in facts(around.format(text))]
    assert (kind, text) in found


@pytest.mark.parametrize("text", ["and/or", "yes/no", "the 1st and 2nd", "he said so", "5", "a - b", "..."])
def test_ordinary_words_are_no_details(text: str) -> None:
    assert facts(text) == []


@given(st.text(max_size=300))
def test_every_fact_is_where_it_says(text: str) -> None:
    for fact in [*facts(text), *quotations(text), *(fact for fact, _ in names(text))]:
        assert text[fact.start : fact.end] == fact.text


@given(st.text(max_size=300))
def test_the_words_around_a_fact_hold_it(text: str) -> None:
    for fact in facts(text):
        assert folded(fact.text) in folded(context(text, fact.start, fact.end))


@pytest.mark.parametrize(
    "sentence",
    [
        "Never deploy on Fridays!",
        "We must use version 2.",
        "Always answer in French.",
        "I prefer tabs.",
        "Please don't touch the database.",
        "Bitte immer auf Deutsch antworten.",
        "必须用中文回答。",
    ],
)
def test_what_the_user_asks_for_is_a_rule(sentence: str) -> None:
    assert [fact.text for fact in rules(f"Hello there. {sentence} Thanks.")] == [sentence]


@pytest.mark.parametrize(
    "sentence", ["I don't know.", "Must it be so?", "It went well.", "What should we do?"]
)
def test_other_sentences_are_no_rules(sentence: str) -> None:
    assert rules(sentence) == []


def test_names_are_told_from_words_that_begin_a_sentence() -> None:
    found = {
        fact.text: unsure
        for fact, unsure in names("Yesterday Ada Lovelace met Bob. Costs rose. In Zürich too.")
    }
    assert found == {"Ada Lovelace": False, "Bob": False, "Costs": True, "Zürich": False}


@pytest.mark.parametrize(
    ("needle", "text", "stands"),
    [
        ("42 gb", "it has 42 gb left", True),
        ("42 gb", "it has 142 gb left", False),
        ("abc-12", "see abc-123", False),
        ("src/app.py", "/home/x/src/app.py", True),
        ("东京", "我在东京工作", True),
        ("x", "", False),
    ],
)
def test_only_whole_words_count(needle: str, text: str, stands: bool) -> None:
    assert stands_in(needle, text) is stands


@pytest.mark.parametrize(
    "piece", ["a", "1", "a1", "/a", "A b ", '"', "a.b", "<", "1,", "-", "a@", "aA", "never ", "`a"]
)
def test_a_long_line_of_one_thing_takes_no_longer_than_prose(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    # A pattern that backtracks over all of it would take hours: pytest's own limit then fails the test.
    found = [*facts(text), *names(text), *rules(text), *quotations(text)]
    assert all(found)
