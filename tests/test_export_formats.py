from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.entries import parse
from agentmem.formats.registry import EXPORTS, Exported, exported

texts = st.text(st.characters(exclude_categories=[])) | st.sampled_from(
    ["### Ada — 2026-04-20T18:33:15\n", "<script>alert(1)</script>", "```\n</pre>\n```", "\udcff\n\n---\n\n"]
)
entries = st.builds(
    Exported,
    role=st.sampled_from(["User", "Ada", "System", "Tool (weather)"]),
    stamp=st.datetimes().map(lambda when: when.isoformat(timespec="microseconds") + "+01:00"),
    text=texts,
    note=st.sampled_from(["", "interrupted"]),
    source=st.sampled_from(["", "history_2026-04-20_14-30-45.md"]),
)
talks = st.lists(entries, max_size=4)

STAMP = "2026-04-20T18:33:15.120001+01:00"


def page(*talk: Exported) -> str:
    return "".join(EXPORTS["html"](talk, "Ada"))


@pytest.mark.parametrize("name", EXPORTS)
@given(talk=talks)
def test_every_export_is_text_that_utf8_carries(name: str, talk: list[Exported]) -> None:
    assert all(piece.encode() for piece in EXPORTS[name](talk, "Ada"))


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_yields_before_it_has_read_everything(name: str) -> None:
    taken = []

    def endless() -> object:
        while True:
            taken.append(1)
            yield Exported("User", STAMP, "again")

    pieces = EXPORTS[name](endless(), "Ada")  # type: ignore[arg-type]
    for _ in range(10):
        next(pieces)
    assert len(taken) <= 10


@given(talk=talks)
def test_jsonl_and_json_carry_every_text_exactly(talk: list[Exported]) -> None:
    lines = "".join(EXPORTS["jsonl"](talk, "Ada")).split("\n")[:-1]
    array = json.loads("".join(EXPORTS["json"](talk, "Ada")))
    assert [json.loads(line) for line in lines] == array
    assert [(each["id"], each["role"], each.get("note", "")) for each in array] == [
        (entry.stamp, entry.role, entry.note) for entry in talk
    ]
    # json joins two escapes that form a pair, which bytes that were not UTF-8 never do.
    assert [each["text"].encode("utf-16", "surrogatepass") for each in array] == [
        entry.text.encode("utf-16", "surrogatepass") for entry in talk
    ]


@given(talk=talks)
def test_markdown_reads_back_as_the_same_entries(talk: list[Exported]) -> None:
    document = parse("".join(EXPORTS["markdown"](talk, "Ada")).encode())
    assert [(entry.role, entry.stamp, entry.note) for entry in document.entries] == [
        (entry.role, entry.stamp, entry.note) for entry in talk
    ]


def test_markdown_survives_a_heading_somebody_typed() -> None:
    typed = parse(f"### A\x1bda — {STAMP} <!--  x  -->\n\nhi".encode()).entries[0]
    assert "A\N{REPLACEMENT CHARACTER}da" in "".join(EXPORTS["markdown"]([exported(typed)], "Ada"))


def test_text_has_the_form_of_the_history_string() -> None:
    talk = [Exported("User", STAMP, "Cheapest?"), Exported("Ada", STAMP, "eu-west")]
    assert "".join(EXPORTS["text"](talk, "Ada")) == f"[{STAMP}] User: Cheapest?\n\n[{STAMP}] Ada: eu-west\n"


def test_openai_gives_every_tool_result_the_call_it_answers() -> None:
    talk = [Exported("User", STAMP, "Weather?"), Exported("Tool (weather)", STAMP, "rain")]
    messages = json.loads("".join(EXPORTS["openai"](talk, "Ada")))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "weather"


class Elements(HTMLParser):
    """The elements of a page, and the text of its articles."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


@given(talk=talks)
def test_html_has_no_element_that_a_text_brought_along(talk: list[Exported]) -> None:
    elements = Elements()
    elements.feed(page(*talk))
    own = {"html", "head", "meta", "title", "style", "body", "main", "h1", "article", "header"}
    assert set(elements.names) <= own | {"h2", "time", "a", "span", "p", "pre"}
    assert elements.names.count("article") == len(talk)


def test_html_loads_nothing_and_runs_nothing() -> None:
    text = page(Exported("User", STAMP, "see https://example.org/x.png"))
    assert not re.search(r"<script|<link|<img|src=|url\(|@import|https?:", text.replace("see https:", ""))


def test_html_shows_fenced_code_and_keeps_what_is_around_it() -> None:
    text = page(Exported("User", STAMP, "before\n```python\nif a < b:\n    go()\n```\nafter"))
    assert "<p" in text
    assert f"<pre>{html.escape('if a < b:' + chr(10) + '    go()' + chr(10))}</pre>" in text
    assert ">after</p>" in text


def test_html_shows_control_characters_and_overrides_instead_of_obeying_them() -> None:
    text = page(Exported("User", STAMP, "a\x1b[31mb\u202ec"))
    assert "\x1b" not in text
    assert "\u202e" not in text
