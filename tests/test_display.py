from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from agentmem.display import Visible, visible, visible_line

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
LEGITIMATE = {
    "newline and tab": "one\n\ttwo\n",
    "accents as combining marks": "cafe\u0301 n\u0303 a\u0308\u0323",
    "no-break and ideographic space": "100\xa0%\u202f\u3000",
    "emoji with a selector": "\u2764\ufe0f \u2600\ufe0e \xa9\ufe0f \u2197\ufe0f",
    "keycap": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "profession with a skin tone": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "flag of a country": "\U0001f1eb\U0001f1f7",
    "flag of England": ENGLAND,
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0646\u0645\u06cc\u200c\u0634\u0648\u062f",
    "Devanagari": "\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",
    "Malayalam": "\u0d05\u0d35\u0d28\u0d4d\u200d",
    "Sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "Khmer with spaces of no width": "\u1797\u17b6\u179f\u17b6\u200b\u1781\u17d2\u1798\u17c2\u179a",
    "Mongolian": "\u1820\u180b\u1821\u180e\u1820",
    "ideograph variant": "\u845b\U000e0100\u57ce",
    "operator variant": "\u222a\ufe00",
    "private use glyph of a prompt font": "\ue0b0 \uf418",
    "Hebrew and Arabic as such": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "Arabic sign that has a glyph": "\u0600\u0661\u06dd\u0662",
}
TRICKS = {
    "colour": ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    "clipboard by OSC 52": ("\x1b]52;c;aGk=\x07", r"\x1b]52;c;aGk=\x07"),
    "title by C1": ("\x9d0;title\x9c", r"\x9d0;title\x9c"),
    "C1 sequence introducer": ("\x9b2J", r"\x9b2J"),
    "next line": ("a\x85b", r"a\x85b"),
    "backspaces": ("safe\x08\x08", r"safe\x08\x08"),
    "DEL and NUL": ("\x7f\x00", r"\x7f\x00"),
    "overwritten line": ("rm -rf /\rls", r"rm -rf /\rls"),
    "DOS lines": ("a\r\nb\r\n", "a\nb\n"),
    "carriage return before a DOS line end": ("a\r\r\nb", "a\\r\nb"),
    "right-to-left override": ("gpj.\u202eexe", r"gpj.\u202eexe"),
    "isolates": ("\u2066x\u2069", r"\u2066x\u2069"),
    "direction marks": ("a\u200e\u200f\u061c", r"a\u200e\u200f\u061c"),
    "byte order mark in the text": ("\ufeffa", r"\ufeffa"),
    "zero-width space in a Latin word": ("pay\u200bpal", r"pay\u200bpal"),
    "joiners in a Latin word": ("pay\u200dpal\u200c", r"pay\u200dpal\u200c"),
    "joiner after an emoji, before a letter": ("\U0001f600\u200da", "\U0001f600\\u200da"),
    "word joiner and soft hyphen": ("a\u2060b\xad", r"a\u2060b\xad"),
    "line separators": ("a\u2028b\u2029", r"a\u2028b\u2029"),
    "hidden words in tags": ("hi\U000e0068\U000e0069", r"hi\U000e0068\U000e0069"),
    "tags after a flag that does not exist": (
        "\U0001f3f4\U000e0075\U000e0073\U000e007f",
        "\U0001f3f4\\U000e0075\\U000e0073\\U000e007f",
    ),
    "bytes in selectors": ("\U0001f600\ufe0f\ufe0f\ufe01", "\U0001f600\ufe0f\\ufe0f\\ufe01"),
    "selectors on letters": ("a\ufe0fb\U000e0101", r"a\ufe0fb\U000e0101"),
    "second joiner in Persian": ("\u06cc\u200c\u200c\u062e", "\u06cc\u200c\\u200c\u062e"),
    "letters without a glyph": ("\u3164\u115f\uffa0", r"\u3164\u115f\uffa0"),
    "lone surrogates": ("\ud800\udc9b", r"\ud800\udc9b"),
    "noncharacters": ("\ufffe\U0010ffff\ufdd0", r"\ufffe\U0010ffff\ufdd0"),
}
# Characters that matter to one another, so that generated texts are full of near misses.
DELICATE = st.text(
    st.sampled_from(
        "a1#\n\t\r\x1b\x9b\u200b\u200c\u200d\ufe0f\ufe00\u20e3\u2764\U0001f525\u06cc\u094d\u1797"
        "\u845b\U000e0100\u1820\u180b\u202e\ud800" + ENGLAND
    )
    | st.characters()
)
TEXTS = st.lists(DELICATE | st.sampled_from([*LEGITIMATE.values(), ENGLAND, "\r\n"])).map("".join)


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_ordinary_writing_survives(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(("text", "shown"), TRICKS.values(), ids=TRICKS)
def test_tricks_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_every_control_and_format_character_in_a_latin_word_is_shown() -> None:
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}")
    with_a_glyph = regex.compile(r"\p{Prepended_Concatenation_Mark}")
    obeyed = [
        f"U+{code:04X}"
        for code in range(0x110000)
        if (char := chr(code)) not in "\n\t"
        and (unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or ignorable.match(char))
        and not with_a_glyph.match(char)
        and not visible(f"a{char}b").isascii()
    ]
    assert obeyed == []


@given(TEXTS)
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    shown = visible(text)
    assert not regex.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\p{Cs}]", shown)
    shown.encode()


@given(TEXTS)
def test_visible_text_is_left_alone(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(TEXTS)
def test_a_line_is_one_line(text: str) -> None:
    shown = visible_line(text)
    assert len(f"{shown}|".splitlines()) == 1
    assert "\t" not in shown


def test_a_line_writes_newlines_out() -> None:
    assert visible_line("a\nb\r\nc\td\re") == r"a\nb\nc\td\re"


@given(TEXTS, st.data())
def test_pieces_add_up_to_the_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    stream = Visible()
    shown = [stream.feed(text[start:end]) for start, end in pairwise([0, *cuts, len(text)])]
    assert "".join(shown) + stream.flush() == visible(text)


@pytest.mark.parametrize("text", [*LEGITIMATE.values(), *(text for text, _ in TRICKS.values())])
def test_character_by_character_is_the_same(text: str) -> None:
    stream = Visible()
    assert "".join(map(stream.feed, text)) + stream.flush() == visible(text)


def test_only_what_depends_on_the_next_piece_is_held_back() -> None:
    stream = Visible()
    assert stream.feed("plain\x1b[3") == r"plain\x1b[3"
    assert stream.feed("1m\r") == "1m"
    assert stream.feed("\nnext") == "\nnext"
    assert stream.feed(ENGLAND[:3]) == ""
    assert stream.feed("x") == "\U0001f3f4\\U000e0067\\U000e0062x"


def test_a_flush_ends_the_text() -> None:
    stream = Visible()
    assert stream.feed("\u2764\r") == "\u2764"
    assert stream.flush() == r"\r"
    assert stream.feed("\ufe0f") + stream.flush() == r"\ufe0f"


def test_a_stream_of_held_characters_does_not_pile_up() -> None:
    stream = Visible()
    shown = "".join(stream.feed("\u200d") for _ in range(100_000))
    assert len(shown) == 99_999 * len(r"\u200d")
