"""What counts as a word: how text is put into the index, and how a query asks for it."""

from __future__ import annotations

import re
import unicodedata

WORDS = "porter unicode61 remove_diacritics 2 categories 'L* N* Co So'"
"""The tokenizer of words: stemmed, without accents; symbols such as emoji are words too."""

TRIGRAMS = "trigram"
"""The tokenizer for parts of words and for punctuation."""

TRIGRAM = 3

# No tokenizer takes it for part of a word, and unlike a space it can be taken out again.
BREAK = "\x1f"

# Scripts written without spaces, and Hangul, whose words carry their particles: every character is a
# word of its own, and a word is a phrase of them. The same for symbols, which stand next to each other.
_SINGLE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1980-\u19df\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f"
    "\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f"
    "\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff\U00020000-\U0003fffd]"
)
_UNCARRIED = re.compile("[\x00\x1f\ud800-\udfff]")


# ASCII that surrounds a word in a sentence; not + or #, which belong to C++ and C#.
_BEFORE, _AFTER = "([{<'`\"", ")]}>'`\".,;:!?"


def carried(text: str) -> str:
    """Return a text as SQLite can take it."""
    return _UNCARRIED.sub(" ", text)


def broken(text: str) -> str:
    """Return a text with a break around every character that is a word of its own."""
    if text.isascii():
        return text.replace("\x00", " ")
    return _SINGLE.sub(f"{BREAK}\\g<0>{BREAK}", carried(text))


def bare(word: str) -> str:
    """Take off the brackets, quotation marks and full stops of any script around a word."""
    start, end = 0, len(word)
    while start < end and (word[start] in _BEFORE or _is_mark(word[start])):
        start += 1
    while start < end and (word[end - 1] in _AFTER or _is_mark(word[end - 1])):
        end -= 1
    return word[start:end]


def _is_mark(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character) in {"Ps", "Pe", "Pi", "Pf", "Po"}


def phrase(text: str) -> str:
    """Return an FTS5 string that matches a text's words in their order, whatever is in it."""
    quoted = broken(text).replace('"', '""')
    return f'"{quoted}"'


def has_words(text: str) -> bool:
    """Return whether the tokenizer of words finds any in a text."""
    return any(character.isalnum() for character in text) or _SINGLE.search(text) is not None


def trigrams(text: str) -> str:
    """Return an FTS5 query for the texts that may contain another text; "" when it is too short."""
    clean = carried(text)
    parts = {clean[start : start + TRIGRAM] for start in range(len(clean) - TRIGRAM + 1)}
    escaped = (part.replace('"', '""') for part in sorted(parts))
    return " AND ".join(f'"{part}"' for part in escaped)
