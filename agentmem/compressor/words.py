"""Names, quotations, and what the user asks for: details that are told by words rather than by shape. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import regex

from agentmem.compressor.facts import SENTENCE, Fact, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_RULE = 200  # characters

_QUOTED = regex.compile(
    r"(?<!\w)\"([^\"\n]{2,160})\"(?!\w)|“([^”\n]{2,160})”|«\s?([^»\n]{2,160}?)\s?»|„([^“\n]{2,160})“"
)
_NAME = regex.compile(
    r"(?<![\w'’@/.\\#`-])(?:\p{Lu}[\p{L}\p{M}'’&]{0,40}(?:-\p{L}{1,40}){0,3})"
    r"(?:(?:\s|\s(?:of|de|von|van|der|du|la|le)\s)\p{Lu}[\p{L}\p{M}'’&]{0,40}(?:-\p{L}{1,40}){0,3}){0,4}"
)
_OPENS = regex.compile(r"(?:^|[.!?:;|>–—\n]|^\s*(?:[-*+•]|\d{1,3}[.)]))[\s\"'“”‘’(*_>\[-]*\Z")
_COMMON = frozenset(
    re.findall(
        r"\S+",
        "a an the this that these those i i'm i'll i've i'd we we'll we've you your he she it it's its they my our his her "
        "and or but so if then else when while where what which who whom whose why how in on at to of for from by with as "
        "is are was were be do does did have has had can could will would shall should may might must not no yes ok okay "
        "please thanks thank hi hello hey dear let let's also note see use using here there now today tomorrow yesterday "
        "after before once every each all any some only just first second third next last never always don't todo ps "
        "however therefore because since until make sure remember tool user system assistant agent result error none",
    )
)

_RULE = regex.compile(
    r"\b(?:must(?:n['’]t)?|never|always|prefer(?:s|red|ably|ence)?|avoid|should(?:n['’]t|\s(?:not|never|always|only))|shall|forbidden"
    r"|don['’]t|do\snot|not\sallowed|at\smost|at\sleast|no\smore\sthan|no\sless\sthan|make\ssure|ensure|remember"
    r"|from\snow\son|required?|only\suse|use\sonly|under\sno\scircumstances|insist|no\sway"
    r"|niemals|nie|immer|muss|müssen|darf|dürfen|bitte\s(?:kein|nicht|nur)\w*|bevorzug\w*|jamais|toujours|doit|doivent"
    r"|préf[eé]r\w*|nunca|siempre|deben?|prefier\w*|sempre|nunca|deve|никогда|всегда|долж(?:ен|на|но|ны)|нельзя)\b"
    r"|必须|不要|不得|总是|絶対|必ず|ないで|항상|절대|반드시",
    regex.IGNORECASE,
)
_NO_RULE = regex.compile(
    r"\b(?:don['’]t|do\snot)\s(?:know|think|understand|see|remember|get|mind|worry|care|have)\b",
    regex.IGNORECASE,
)
_FIRM = regex.compile(r"\b(?:never|always|don['’]t|please|prefer)\b", regex.IGNORECASE)


def quotations(text: str) -> list[Fact]:
    """Return what stands between double quotation marks, two words or more."""
    found = []
    for match in _QUOTED.finditer(text):
        group = next(number for number in range(1, 5) if match[number] is not None)
        if " " in match[group].strip():
            found.append(Fact("quotation", match[group], match.start(group), match.end(group)))
    return found


def names(text: str) -> Iterator[tuple[Fact, bool]]:
    """Yield capitalised words and sequences of them, and whether each could owe its capital to a sentence's start."""
    for match in _NAME.finditer(text):
        start, words = match.start(), match[0].split(" ")
        opens = bool(_OPENS.search(text, max(0, start - 24), start)) or not start
        while words and words[0].casefold().replace("’", "'") in _COMMON:
            start += len(words[0]) + 1
            words, opens = words[1:], False
        while words and words[-1].casefold() in _COMMON:
            words.pop()
        name = " ".join(words).rstrip("'’&")
        name = name.removesuffix("'s").removesuffix("’s")
        after = text[start + len(name) : start + len(name) + 2]
        if len(name) < 2 or after.startswith((":", "*", "`", "(")) or _in_heading(text, start):  # noqa: PLR2004
            continue
        yield Fact("name", name, start, start + len(name)), opens and len(words) == 1


def _in_heading(text: str, at: int) -> bool:
    line = text.rfind("\n", 0, at) + 1
    return text.startswith("#", line)


def rules(text: str) -> list[Fact]:
    """Return the sentences in which the user says what must, must not, or should rather be."""
    found = []
    for match in SENTENCE.finditer(text):
        sentence = match[0].strip()
        trigger = _RULE.search(sentence)
        if not trigger or (_NO_RULE.search(sentence) and not _FIRM.search(_NO_RULE.sub("", sentence))):
            continue
        if sentence.endswith("?") and not _FIRM.search(sentence):
            continue
        sentence = regex.sub(r"^(?:[-*+•>]\s+|\d{1,3}[.)]\s+)+", "", sentence)
        if len(sentence) > _LONGEST_RULE:
            sentence = clipped(sentence, trigger.start(), _LONGEST_RULE)
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        found.append(Fact("rule", sentence, start, match.end()))
    return found
