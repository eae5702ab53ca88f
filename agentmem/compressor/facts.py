"""What in a text must survive word for word: addresses, ids, dates, figures, names, the user's rules. Pure.

The patterns are built to be linear: each is anchored where it may begin and bounded in length, so that a
megabyte without a space costs no more than a megabyte of prose.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

import regex

Kind = Literal["rule", "url", "email", "path", "id", "date", "figure", "name", "quotation"]

_IDEOGRAPHS = "\u2e80"
_DIGITS = 3  # a bare number with as many digits is worth keeping


@dataclass(frozen=True)
class Fact:
    """Something said that must be kept as it stands.

    Attributes:
        kind: what it is.
        text: its words.
        start: where it begins in the text, in characters.
        end: just past its end.
    """

    kind: Kind
    text: str
    start: int
    end: int


_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_UNITS = (
    r"[kMGTP]?i?[Bb](?:it|yte)?s?(?:/s|ps)?|[kMG]?Hz|[kmµun]?s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ours?|rs?)?|d(?:ays?)?"
    r"|[kMG]?Wh?|[mk]?[AV]|[kcmµn]?m[²³23]?|km/h|mph|[kmµ]?g|lbs?|oz|[mc]?[lL]|ft|mi|°\s?[CFK]?|[kmM]|bn|rpm|px|pt|dpi"
    r"|USD|EUR|GBP|CHF|JPY|INR|[$€£¥₹%‰]|k?tokens?|million|billion|thousand"
)
_NO_UNIT = (
    r"(?:the|and|for|with|from|that|this|then|than|was|were|are|has|have|had|but|not|you|our|all|any|can|will"
    r"|into|when|where|which|who|how|why|its|his|her|their|said|says"
    r"|here|there|now|today|left|per|total|each|only|more|less|used|via|until|since|after|before|because|while|also"
    r"|just|please|must|may|might|should|would|could|does|did|seems|looks|went|goes|came|comes|made|makes)\b"
)
_FILES = (
    r"py|pyi|ipynb|md|rst|txt|csv|tsv|json|jsonl|toml|ya?ml|ini|cfg|conf|env|lock|log|xml|html?|css|scss|js|jsx|ts|tsx"
    r"|mjs|vue|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|pl|lua|r|jl|sh|bash|zsh|fish|ps1|bat|sql|db|sqlite|parquet"
    r"|pdf|docx?|xlsx?|pptx?|odt|png|jpe?g|gif|svg|webp|mp[34]|wav|mov|zip|gz|tgz|tar|7z|whl|gguf|bin|exe|iso|pem|key|crt"
)

# In the order in which they win where they begin at the same place.
_PATTERNS: tuple[tuple[Kind, str, regex.Pattern[str]], ...] = (
    (
        "url",
        "://",
        regex.compile(r"(?<!\w)[A-Za-z][A-Za-z0-9+.-]{0,14}://[^\s<>\"'`|\\^{}]{2,1000}"),
    ),
    ("url", "www.", regex.compile(r"(?<!\w)www\.[^\s<>\"'`|\\^{}]{2,500}")),
    ("email", "@", regex.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")),
    (
        "path",
        "/",
        regex.compile(
            r"(?<![\w/.:~@-])(?:~|\.{1,2})?(?:/[\w.@+%=,~-]{1,255}){1,40}/?"
            r"|(?<![\w/.~-])[\w.-]{1,100}(?:/[\w.@+-]{1,100}){1,40}"
        ),
    ),
    ("path", "\\", regex.compile(r"(?<!\w)[A-Za-z]:\\[^\s\"'<>|*?]{1,255}")),
    (
        "path",
        ".",
        regex.compile(rf"(?<![\w/.@-])[\w-]{{1,80}}(?:\.[\w-]{{1,40}}){{0,3}}\.(?:{_FILES})(?![\w/])"),
    ),
    (
        "date",
        "",
        regex.compile(
            r"(?<![\w.])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\w)"
            r"|(?<![\w./-])\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)(?![\w/])"
            rf"|(?<!\w)\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?{_MONTH}\b(?:\.?,?\s\d{{4}}\b)?"
            rf"|(?<!\w){_MONTH}\.?\s(?:\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?|\d{{4}}\b)"
            r"|(?<![\w:.])\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?(?![\w:])"
            r"|(?<![\w.])\d{1,2}\s?[ap]m\b"
            r"|(?<!\w)Q[1-4]\s\d{4}\b"
        ),
    ),
    (
        "id",
        "",
        regex.compile(
            r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|/\d{1,2})?(?![\w])"
            r"|(?<![\w.])v?\d{1,6}(?:\.\d{1,6}){2,4}(?:[-+][\w.-]{1,40}\w)?(?!\w)"
            r"|(?<![\w.-])(?:\d{3,8}(?:-\d{2,8}){1,5}|\d{2}(?:-\d{2,8}){2,5})(?![\w-])"
            r"|(?<![\w#&])\#\d{1,9}\b"
            r"|(?<!\w)\+\d[\d ()/-]{6,18}\d\b"
            r"|(?<![\w@.])@[A-Za-z][\w-]{1,38}"
        ),
    ),
    (
        "figure",
        "",
        regex.compile(
            r"(?<![\w.,])(?:(?:[$€£¥₹]|(?:USD|EUR|GBP|CHF)(?=\s))\s?)?(?:(?<=\s)[-−])?\d{1,15}(?:[.,'’]\d{1,15}){0,6}"
            rf"(?:\s?(?:{_UNITS})(?![\w])|[\s-](?!{_NO_UNIT})[^\W\d_]{{3,20}}\b)?"
        ),
    ),
    (
        "id",
        "",
        regex.compile(
            r"(?<![\w-])(?=[^\W\d_-][\w-]{0,60}[\d_]|\d{1,20}[\w-]{0,40}[^\W\d_]|[a-z]{1,30}[A-Z]|[A-Z][a-z]{1,30}[A-Z])"
            r"\w(?:\w|[-:.](?=\w)){1,120}"
        ),
    ),
)
_BACKTICKS = regex.compile(r"(?<!`)`([^`\n]{2,100})`(?!`)")
_BULLETS = regex.compile(r"(?:\s*(?:[-*+•>]|\d{1,3}[.)])\s+)*")
_ORDINAL = regex.compile(r"\d+(?:st|nd|rd|th|x)?")
_TRAILING = ".,;:!?)]}*_'’"

# Never inside an abbreviation, a number or an address: only before white space.
SENTENCE = regex.compile(r"(?:[^\n.!?。！？]|[.!?](?!\s|$))+[.!?。！？]*", regex.MULTILINE)


def facts(text: str) -> list[Fact]:
    """Return the addresses, ids, dates and figures in a text, in order; none overlaps another."""
    found: list[tuple[int, int, int, Kind]] = []
    for rank, (kind, needle, pattern) in enumerate(_PATTERNS):
        if needle and needle not in text:
            continue
        for match in pattern.finditer(text):
            start, end = match.span()
            end = start + len(match[0].rstrip(_TRAILING))
            if end > start and _counts(kind, text[start:end]):
                found.append((start, rank, end, kind))
    found.sort()
    kept: list[Fact] = []
    for start, _, end, kind in found:
        if kept and start < kept[-1].end:
            # An id may begin like a figure or a date, and goes on.
            if start == kept[-1].start and end > kept[-1].end and kind == "id":
                kept[-1] = Fact(kind, text[start:end], start, end)
            continue
        kept.append(Fact(kind, text[start:end], start, end))
    kept += [
        Fact("id", match[1], match.start(1), match.end(1))
        for match in _BACKTICKS.finditer(text)
        if match[1].strip() == match[1]
    ]
    return kept


def _counts(kind: Kind, text: str) -> bool:
    """Whether what a pattern found is worth keeping."""
    if kind == "figure":
        digits = sum(character.isdigit() for character in text)
        return digits >= _DIGITS or not text.isdigit()
    if kind == "id":
        return not _ORDINAL.fullmatch(text) and len(text) > 1
    if kind == "path" and not text.startswith(("/", "~", ".")) and "\\" not in text and "/" in text:
        # "and/or", "km/h" and "yes/no" are no paths.
        return text.count("/") > 1 or any(character in "._-" or character.isdigit() for character in text)
    return not (kind == "path" and not any(character.isalnum() for character in text))


def context(text: str, start: int, end: int, longest: int = 160) -> str:
    """Return the sentence around a fact on one line, cut at word borders where it is long."""
    left = max(text.rfind("\n", 0, start) + 1, start - 4 * longest)
    right = text.find("\n", end)
    right = min(right if right >= 0 else len(text), end + 4 * longest)
    for match in SENTENCE.finditer(text, left, right):
        if match.start() <= start and end <= match.end():
            left, right = match.span()
            break
    # Without its bullet; a fact may begin like one.
    if bullets := _BULLETS.match(text, left, right):
        left = min(start, bullets.end())
    return " ".join(clipped(text[left:right], start - left, longest, end - start).split())


def clipped(text: str, at: int, longest: int, size: int = 0) -> str:
    """Return up to `longest` characters of a text around a place, cut between words."""
    if len(text) <= longest:
        return text.strip()
    spare = max(0, longest - size) // 2
    left, right = max(0, at - spare), min(len(text), at + size + spare)
    if left:
        border = text.find(" ", left, at)
        left = border + 1 if border >= 0 else at
    if right < len(text):
        border = text.rfind(" ", at + size, right)
        right = border if border >= 0 else at + size
    return f"{'… ' if left else ''}{text[left:right].strip()}{' …' if right < len(text) else ''}"


_FOLDED = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "−": "-", "\u00a0": " ", "\u202f": " "}
)


def folded(text: str) -> str:
    """Return a text as it is compared: case, kinds of space and quotation mark make no difference."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_FOLDED).casefold().split())


def stands_in(needle: str, text: str) -> bool:
    """Whether a folded text holds another as whole words: `42 GB` does not stand in `142 GB`."""
    at = text.find(needle)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(needle) : at + len(needle) + 1]
        if not (_joins(before, needle[:1]) or _joins(needle[-1:], after)):
            # 1.5 is not in 1.52 (a word border), nor in 31.5, nor 5 in 1.5.
            return True
        at = text.find(needle, at + 1)
    return False


def _joins(left: str, right: str) -> bool:
    # Chinese and Japanese put no space between words.
    return left.isalnum() and right.isalnum() and max(left, right) < _IDEOGRAPHS
