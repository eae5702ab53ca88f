from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from agentmem.repl.flow import Flow
from agentmem.repl.markdown import Canvas
from agentmem.repl.region import Line, plain

SAMPLE = (Path(__file__).parent / "samples" / "reply.md").read_text(encoding="utf-8")
CANVAS = Canvas()

fragments = st.sampled_from(
    [
        *"*_`#->|[]()\\~",
        "**",
        "```",
        "```py\n",
        "\n",
        "\n\n",
        "1. ",
        "- ",
        "  ",
        "    ",
        "| a | b |\n|---|---|\n",
        *(
            "word ",
            "another ",
            "漢字",
            "🙂",
            "---\n",
            "> ",
            "[x]: http://y\n",
            "&#x202e;",
            "<b>",
            "\t",
            "===",
        ),
    ]
)
texts = st.lists(st.one_of(fragments, st.text("abc \n", max_size=30)), max_size=40).map("".join)


def rows(text: str, pieces: int = 10**9, width: int = 60) -> list[Line]:
    flow = Flow(CANVAS, width)
    finished: list[Line] = []
    for start in range(0, len(text), pieces):
        flow.feed(text[start : start + pieces])
        finished += flow.take()
        flow.live()
    return finished + flow.close()


def shown(text: str, pieces: int = 10**9, width: int = 60) -> list[str]:
    return [plain(row) for row in rows(text, pieces, width)]


@pytest.mark.parametrize("width", [20, 40, 80, 300])
@pytest.mark.parametrize("pieces", [1, 3, 7, 50])
def test_rows_do_not_depend_on_how_the_reply_was_cut(pieces: int, width: int) -> None:
    assert shown(SAMPLE, pieces, width) == shown(SAMPLE, width=width)


@given(texts, st.integers(1, 9), st.sampled_from([8, 20, 60]))
def test_no_word_is_lost_or_doubled(text: str, pieces: int, width: int) -> None:
    def letters(lines: list[str]) -> str:
        return "".join(re.findall(r"[a-z漢字🙂]", "".join(lines)))

    whole = shown(text, width=width)
    # Where a paragraph was cut while it arrived, a later fence or bracket may be shown instead of used.
    assert letters(shown(text, pieces, width)).replace("py", "") == letters(whole).replace("py", "")


@given(texts, st.integers(1, 9), st.sampled_from([8, 20, 60]))
def test_rows_fit_the_terminal_and_cannot_steer_it(text: str, pieces: int, width: int) -> None:
    for row in shown(text, pieces, width):
        assert get_cwidth(row) <= width
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", row)


@given(st.lists(st.text("abcdefg", min_size=1, max_size=12), min_size=1, max_size=200), st.integers(1, 30))
def test_a_long_paragraph_is_finished_row_by_row(words: list[str], pieces: int) -> None:
    text = " ".join(words)
    assert " ".join(shown(text, pieces, 20)).split() == words


def test_a_long_paragraph_leaves_only_a_few_rows_open() -> None:
    flow = Flow(CANVAS, 40)
    for _ in range(100):
        flow.feed("some **bold** words and `code` ")
        flow.take()
        assert len(flow.live()) < 10


def test_code_is_finished_line_by_line() -> None:
    flow = Flow(CANVAS, 40)
    flow.feed("```python\nx = 1\ny = ")
    assert [plain(row) for row in flow.take()] == ["```python", "x = 1"]
    assert [plain(row) for row in flow.live()] == ["y ="]


def test_equal_fences_nest_in_markdown() -> None:
    assert shown("```md\na\n```py\nb\n```\nc\n```\nd") == [
        "```md",
        "a",
        "```py",
        "b",
        "```",
        "c",
        "```",
        "",
        "d",
    ]


def test_html_and_link_definitions_are_shown() -> None:
    assert shown("a <br> b\n\n<div>\nx\n</div>\n\n[1]: http://y") == [
        "a <br> b", "", "<div>", "x", "</div>", "", "[1]: http://y"
    ]  # fmt: skip


def test_a_link_shows_where_it_goes_once() -> None:
    assert shown("[a](http://x) <http://y> <mailto:m@n.org>") == ["a (http://x) http://y mailto:m@n.org"]


def test_numbers_of_a_list_go_on() -> None:
    assert shown("1. a\n1. b\n1. c\n\nx\n\n7. d\n8. e", 1) == [
        " 1 a",
        " 2 b",
        " 3 c",
        "",
        "x",
        "",
        " 7 d",
        " 8 e",
    ]


def test_without_colour_there_is_none() -> None:
    flow = Flow(Canvas(colour=False), 60)
    flow.feed(SAMPLE)
    codes = {code for row in flow.take() + flow.close() for style, _ in row for code in style.split(";")}
    assert codes <= {"", "1", "2", "3", "4", "9"}
