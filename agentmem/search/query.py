"""Reading what a person typed: words, "phrases", prefixes*; nothing is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.search.words import bare, has_words, phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_TERMS = 32
"""Terms of a query that are looked at; a pasted page is cut here."""

_PARTS = re.compile(r'"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+)|"')
_POSSESSIVE = re.compile(r"(?<=\w)(?:'s|\u2019s|'|\u2019)\Z", re.IGNORECASE)
_SYMBOLIC = re.compile(r"[^\w\s]|_|[^\W_]\d|\d[^\W_]|[a-z][A-Z]")


@dataclass(frozen=True)
class Term:
    """One thing to look for.

    Attributes:
        text: as it was typed, without quotes and the star.
        required: a phrase in quotes: what does not have it is no hit.
        prefix: words that begin like this.
    """

    text: str
    required: bool = False
    prefix: bool = False

    @property
    def match(self) -> str:
        """What FTS5 is asked, or "" when there is no word in it."""
        if not has_words(self.text):
            return ""
        return phrase(self.text) + (" *" if self.prefix else "")

    @property
    def symbolic(self) -> bool:
        """Whether its punctuation, digits or case make it an identifier, a path or a version."""
        return _SYMBOLIC.search(self.text) is not None

    @property
    def searchable(self) -> bool:
        """Whether the index can be asked for it at all."""
        return bool(self.match) or len(self.text) > 1


@dataclass(frozen=True)
class Query:
    """What to look for; its terms are in the order they were typed."""

    terms: tuple[Term, ...]


def parse_query(text: str | Sequence[str]) -> Query:
    """Read a query; an argument of several words, as a shell passes it on from quotes, is a phrase.

    Args:
        text: a line as typed, or the arguments of a command line.
    """
    if not isinstance(text, str):
        text = " ".join(text) if len(text) == 1 else " ".join(map(_quoted, text))
    terms: dict[Term, None] = {}
    for found in _PARTS.finditer(text):
        term = (
            Term((found["phrase"] or "").strip(), required=True) if found["phrase"] else _word(found["word"])
        )
        if term and term.searchable:
            terms.setdefault(term)
        if len(terms) == MOST_TERMS:
            break
    return Query(tuple(terms))


def _quoted(argument: str) -> str:
    return f'"{argument}"' if re.search(r"\s", argument) and '"' not in argument else argument


def _word(typed: str | None) -> Term | None:
    word = _POSSESSIVE.sub("", bare(typed or ""))
    if word.endswith("*") and has_words(word):
        return Term(word.rstrip("*"), prefix=True)
    return Term(word) if word else None
