"""Taking out of a summary what nobody said: identifiers and quotations that stand in no source. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentmem.compressor.facts import Fact, facts, folded, stands_in
from agentmem.compressor.words import names, quotations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER = re.compile(r"\d+(?:[.,'’ ]\d+)*")
_SEPARATED = re.compile(r"(?<=\d)[,.'’ \u202f](?=\d{3}(?!\d))")
_COUNTED = 100  # a smaller whole number with an ordinary word may be the summary's own count
_SPLIT = re.compile(r"(?<=[.!?;])\s+")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])?\s*")
_EMPTY_HEADING = re.compile(r"\A(?:#{1,6} |\*\*).*\Z")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?\s(?:of\s)?([A-Za-z]{3})[a-z]*\.?,?\s?(\d{4})?")
_MONTH_DAY = re.compile(r"([A-Za-z]{3})[a-z]*\.?\s(\d{1,2})(?:st|nd|rd|th)?\b,?\s?(\d{4})?")


def invented(summary: str, sources: Iterable[str]) -> list[Fact]:
    """Return the identifiers and quotations of a summary that no source holds.

    Args:
        summary: what a model wrote.
        sources: what it may have read; taken one after the other, only as far as needed.
    """
    claims = list(_claims(summary))
    remaining = iter(sources)
    while claims and (source := next(remaining, None)) is not None:
        whole = _Source(source)
        claims = [claim for claim in claims if not whole.holds(claim)]
    return claims


def _claims(summary: str) -> Iterator[Fact]:
    for fact in facts(summary):
        # PostgreSQL for what was called postgres is no invention, but `parseConfig` may be one.
        spelled = fact.kind == "id" and fact.text.isalpha() and summary[fact.start - 1 : fact.start] != "`"
        if not spelled and (fact.kind != "figure" or _is_exact(fact.text)):
            yield fact
    yield from quotations(summary)
    # A single capitalised word is too often only the summary's style.
    yield from (fact for fact, _ in names(summary) if " " in fact.text)


def _is_exact(figure: str) -> bool:
    number = _NUMBER.search(figure)
    if not number or not figure.endswith(tuple("abcdefghijklmnopqrstuvwxyz")):
        return True
    return not number[0].isdigit() or int(number[0]) >= _COUNTED or figure[number.end() :].strip() in _EXACT


_EXACT = frozenset(
    {"gb", "mb", "kb", "tb", "ms", "kg", "km", "eur", "usd", "gbp", "chf", "k", "m", "h", "s", "min"}
)


class _Source:
    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = folded(text)
        self._numbers: str | None = None
        self._days: set[str] | None = None

    def holds(self, claim: Fact) -> bool:
        words = folded(claim.text)
        if stands_in(words, self._folded):
            return True
        match claim.kind:
            case "figure":
                number = _NUMBER.search(words)
                if self._numbers is None:
                    self._numbers = _SEPARATED.sub("", self._folded)
                return number is not None and stands_in(_SEPARATED.sub("", number[0]), self._numbers)
            case "date":
                if self._days is None:
                    self._days = {day for _, day in _days(self._text)}
                return any(
                    day in self._days and (not year or stands_in(year, self._folded))
                    for year, day in _days(claim.text)
                )
            case "name":  # Title Case is a matter of style, as long as one of the words was said
                return any(stands_in(word, self._folded) for word in words.split())
            case "quotation" | "id":
                plain = words.strip(" .,;:!?…'\"")
                return bool(plain) and stands_in(plain, self._folded)
            case _:
                return False


def _days(text: str) -> Iterator[tuple[str, str]]:
    """Yield the days a text names: the year or "", and `MM-DD`."""
    found = [(match[3], match[2], match[1]) for match in _ISO.finditer(text)]
    found += [(match[1], match[2], match[3] or "") for match in _DAY_MONTH.finditer(text)]
    found += [(match[2], match[1], match[3] or "") for match in _MONTH_DAY.finditer(text)]
    for day, month, year in found:
        name = month.lower()
        number = int(month) if month.isdigit() else _MONTHS.index(name) + 1 if name in _MONTHS else 0
        yield year, f"{number:02}-{int(day):02}"


def without(summary: str, claims: Iterable[Fact]) -> str:
    """Return a summary without the sentences that hold the claims; headings left with nothing go too."""
    places = sorted(claim.start for claim in claims)
    if not places:
        return summary
    lines: list[str] = []
    offset = 0
    for line in summary.split("\n"):
        here = [place - offset for place in places if offset <= place <= offset + len(line)]
        offset += len(line) + 1
        kept = _sentences_without(line, here) if here else line
        if kept is not None:
            lines.append(kept)
    return _without_empty_headings(lines)


def _sentences_without(line: str, places: list[int]) -> str | None:
    """Return a line without the sentences at some places, or None when nothing is left of it."""
    kept, at = [], 0
    for sentence in [*_SPLIT.split(line)]:
        start = line.index(sentence, at)
        at = start + len(sentence)
        if not any(start <= place < at for place in places):
            kept.append(sentence)
    bullet = _BULLET.match(line)
    rest = " ".join(kept)
    if not _BULLET.sub("", rest).strip():
        return None
    lead = bullet[0] if bullet else ""
    return rest if rest.startswith(lead) else f"{lead}{rest}"


def _without_empty_headings(lines: list[str]) -> str:
    kept: list[str] = []
    for line in reversed(lines):
        following = next((each for each in reversed(kept) if each.strip()), "#")
        if line.startswith("#") and following.startswith("#") and _EMPTY_HEADING.match(line):
            continue
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(kept))).strip()
