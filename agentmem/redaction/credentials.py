"""Credentials known by where they stand: addresses, headers, command lines, assignments."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ADDRESS = re.compile(
    r"://(?P<user>[^\s:/?#@\"'<>`\\]{0,200}):(?P<secret>[^\s/?#\"'<>`\\]{1,200})@(?=[\w\[.-])", re.ASCII
)
_TOKEN_ADDRESS = re.compile(r"(?<!ssh)://(?P<secret>[\w-]{20,200})@(?=[\w\[])", re.ASCII)
_HEADER = re.compile(
    r"authorization\\?[\"']?\s{0,4}[:=,]\s{0,4}\\?[\"']?"
    r"(?:bearer|basic|token|apikey|api-key|bot|ssws|key|negotiate)\s{1,4}(?P<secret>[\w.~+/=:-]{8,})",
    re.ASCII | re.IGNORECASE,
)
_BEARER = re.compile(r"\bbearer[ \t]{1,4}(?P<secret>[\w.~+/=-]{20,})", re.ASCII | re.IGNORECASE)
_CURL = re.compile(
    r"\bcurl\b[^\n|;]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'/]{1,100}:(?P<secret>[^\s\"'@]{3,200})",
    re.ASCII,
)
# Tokens that name a place in a list or a request, and give access to nothing.
_CURSOR = r"(?:next|start|starting|page|continuation|request|client|update|creation|change|idempotency|public_?key|lock|action|forward|backward)"
_CURSOR_NAME = re.compile(rf"{_CURSOR}[_-]?$", re.IGNORECASE)
# A piece of a path with colons, such as arn:…:secret:… or AWS::ApiGateway::ApiKey.
_PATH = re.compile(r"::?[A-Za-z]*$")
_OPTION = re.compile(
    rf"--(?!{_CURSOR}-)(?:[a-z]{{1,20}}-)?(?:password|passphrase|token|secret|api-key|key)\s"
    r"(?P<secret>[^\s\"'`,;&<>(){}\[\]\\|]{8,400})"
)
_FOR_PEOPLE = r"passw(?:or)?ds?|passwort|passphrase|pwd|(?<![A-Za-z])(?:pass|pw)"
_FOR_MACHINES = (
    r"secrets?|tokens?|api[_ -]?keys?|(?:access|secret|private|auth|account|shared|master|signing|encryption"
    r"|subscription|license|service|admin|app|application|deploy|session)[_-]?key|(?-i:[A-Z0-9]_KEY)|credentials?"
)
_ASSIGNMENT = re.compile(
    rf"(?:(?P<password>{_FOR_PEOPLE})|(?:{_FOR_MACHINES}))(?:_(?:base64|value|prod|live|dev|test|v?\d))?"
    r"(?P<separator>\\?[\"'`*]{0,3}\]?\s{0,4}(?:=>|:=|=|:|,(?=\s?\\?[\"'])|\bis(?: now)?\b:?)\*{0,2}\s{0,4})"
    r"(?:(?P<quote>\\?[\"'`])(?P<quoted>[^\"'`\s\\]{4,400})(?=(?P=quote))"
    r"|(?P<bare>[^\s\"'`,;&<>(){}\[\]\\|]{4,400}))",
    re.IGNORECASE,
)
_NAMES = ("pass", "pwd", "pw", "secret", "token", "key", "credential")
# A connection string, a query or a form: there even a plain word is the password.
_IN_CONNECTION = re.compile(
    r"(?:[;?&]\s?|\b(?:host|user|uid|user id|username|dbname|server|database|data source)=[^\s,;()]{1,80}[ ;]"
    r"(?:[\w ]{1,20}=[^\s,;()]{0,80}[ ;]){0,3})$",
    re.IGNORECASE,
)

# What stands in for a value: a variable, a template, dots and stars, or a word that says so.
_STAND_IN = re.compile(
    r"\$\{|\$\(|\{\{|%\(|%[sdr]\b|<[A-Za-z]|\*{3}|\.{3}|x{4}|…|•|^[{\[<%]+\w*[}\]>%]+$|^\$\w+$|^\[redacted"
    r"|^os\.environ|^your[_-]|_here$|^(?-i:[A-Z]+(?:_[A-Z]+)+)$"
    r"|^(?:(?:your|my|the|some|an?|new|old|example|sample|test|fake|dummy|db|user|root|admin)[_-]?)*"
    r"(?:passw(?:or)?d|pass|pwd|pw|secret|token|key|value|placeholder|changeme|example|redacted|none|null|undefined"
    r"|true|false|string|here)s?(?:[_-]?(?:here|value|\d{1,3}))?$",
    re.IGNORECASE,
)
_TECHNICAL = re.compile(
    r"(?:base|sha|md|utf|rs|hs|es|ps|aes|rsa|http|oauth|ssl|tls|iso|latin|cp|ipv|win|python|py|u?int|float)"
    r"[_-]?\d+(?:[_./-]\w+)*$|v?\d+[a-z]{0,6}$|[a-z_]\w*(?:\.[a-z_]\w*)+$|(?:[a-z]+_)+[a-z0-9]*$|[./~]|\w+://",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_SYMBOLS = frozenset("!@#$%^&*?+=~")
_LEAST_RANDOM = 16
_LEAST_PASSWORD = 6
_LEAST_ENTROPY = 3.0
_LEAST_TURNS = 0.2


def credentials(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each credential; only the secret part of what names it."""
    lowered = text.lower()
    for marker, kind, pattern, accepts in _PLACES:
        if marker in lowered:
            for found in pattern.finditer(text):
                if accepts(found["secret"]):
                    yield (kind, *found.span("secret"))
    if any(name in lowered for name in _NAMES):
        yield from _assignments(text)


def _assignments(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _ASSIGNMENT.finditer(text):
        group = "quoted" if found["quoted"] else "bare"
        value, (start, end) = found[group], found.span(group)
        if group == "bare":
            value = value.rstrip(".:")
            end = start + len(value)
        if not found["password"]:
            if _is_key(found, value):
                yield ("secret", start, end)
        elif "," not in found["separator"] and _is_password(found, value, text[end : end + 1]):
            yield ("password", start, end)


def _is_password(found: re.Match[str], value: str, following: str) -> bool:
    """Return whether what a password's name is assigned looks like one, rather than like code or prose."""
    if not _given(value):
        return False
    separator = found["separator"].strip()
    if separator == "=" and _IN_CONNECTION.search(found.string, max(0, found.start() - 200), found.start()):
        return following not in {"(", "[", ",", ")"}
    if len(value) < _LEAST_PASSWORD or _TECHNICAL.match(value) or not any(map(str.isalpha, value)):
        return False
    strong = _random(value) or (not _SYMBOLS.isdisjoint(value) and any(map(str.isdigit, value)))
    if strong or found["quoted"]:
        return strong or any(map(str.isdigit, value)) or not _SYMBOLS.isdisjoint(value)
    # A name with a digit may as well be a variable, unless nothing that code has comes after it.
    return any(map(str.isdigit, value)) and (not following or following in " \n\r\t;&\"'")


def _is_key(found: re.Match[str], value: str) -> bool:
    """Return whether what a key's name is assigned looks like one, rather than like code or a cursor."""
    if not _random(value) or (found["bare"] and _DOTTED.fullmatch(value)):
        return False
    start = found.start()
    if _PATH.search(found.string, max(0, start - 40), start) and found["separator"].lstrip("\"'").startswith(
        ":"
    ):
        return False
    return not (
        found.string.startswith(("T", "t"), start)
        and _CURSOR_NAME.search(found.string, max(0, start - 20), start)
    )


def _given(value: str) -> bool:
    """Return whether a value is meant as one, not as a stand-in for it."""
    return not _STAND_IN.search(value)


def _random(value: str) -> bool:
    """Return whether a value looks drawn by a machine: letters and digits that keep taking turns."""
    if len(value) < _LEAST_RANDOM or not _given(value) or "://" in value:
        return False
    classes = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in value if char.isalnum()]
    if "d" not in classes or not {"u", "l"} & {*classes}:
        return False
    # A capital that begins a word is no turn, so that CamelCase with a digit counts as words.
    turns = sum(before != after and (before, after) != ("u", "l") for before, after in pairwise(classes))
    return turns > _LEAST_TURNS * len(classes) and _entropy(value) >= _LEAST_ENTROPY


def _entropy(value: str) -> float:
    """Return bits a character, by how often each occurs."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


_PLACES: tuple[tuple[str, str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("://", "url password", _ADDRESS, _given),
    ("://", "url token", _TOKEN_ADDRESS, _random),
    ("authorization", "authorization header", _HEADER, _given),
    ("bearer", "bearer token", _BEARER, _random),
    ("curl", "password", _CURL, _given),
    ("--", "command line secret", _OPTION, _random),
)
"""Marker that every match contains, in lower case; kind; where it stands; whether a value is a secret."""
