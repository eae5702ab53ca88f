"""Choosing entries: by number, id, role, time and text. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agentmem.converting import parse_duration
from agentmem.errors import NotFound, UsageError
from agentmem.figures import some
from agentmem.roles import is_user, tool_of
from agentmem.stamps import read_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import regex

    from agentmem.entries import Entry

_ID = "2026-04-20T18:33:15.120001+00:00"

REGEX_SECONDS = 2.0
"""Time one search with a user's pattern may take in all, before it is given up."""


@dataclass(frozen=True)
class Selection:
    """Conditions that all have to hold; the default chooses everything.

    Attributes:
        last: only the newest so many.
        since: not before this time.
        before: before this time.
        role: said by this role, whatever its case; `tool` means every tool.
        match: contains this text, whatever its case.
        pattern: contains a match of this pattern.
    """

    last: int | None = None
    since: datetime | None = None
    before: datetime | None = None
    role: str = ""
    match: str = ""
    pattern: regex.Pattern[str] | None = None

    def accepts(self, entry: Entry) -> bool:
        """Whether the conditions hold that an entry can be asked about by itself, `last` left out.

        Raises:
            UsageError: the pattern takes too long.
        """
        return (
            (self.since is None or entry.when >= self.since)
            and (self.before is None or entry.when < self.before)
            and (not self.role or _has_role(entry, self.role))
            and (not self.match or self.match.casefold() in entry.content.casefold())
            and self.matches(entry.content)
        )

    def matches(self, text: str) -> bool:
        """Whether the pattern, if there is one, is found in a text.

        Raises:
            UsageError: the pattern takes too long.
        """
        return self.pattern is None or _found(self.pattern, text)

    def choose(self, entries: Iterable[Entry], first: int = 1) -> list[tuple[int, Entry]]:
        """Return the chosen entries with their numbers.

        Args:
            entries: in order.
            first: the number of the first of them.
        """
        chosen = [(number, entry) for number, entry in enumerate(entries, first) if self.accepts(entry)]
        return chosen if self.last is None else chosen[-self.last :] if self.last else []

    @property
    def only_last(self) -> bool:
        """Whether nothing but the number of entries is asked for, so that the file's end is enough."""
        return self.last is not None and self == Selection(last=self.last)


def _has_role(entry: Entry, role: str) -> bool:
    names = [entry.role, "user" if is_user(entry.role) else ""]
    if (tool := tool_of(entry.role)) is not None:
        names += ["tool", tool]
    return role.casefold() in {name.casefold() for name in names}


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a user's pattern.

    Raises:
        UsageError: it is no regular expression.
    """
    import regex

    try:
        return regex.compile(pattern, regex.MULTILINE)
    except regex.error as error:
        raise UsageError(f"not a regular expression: {pattern!r}: {error}") from None


def _found(pattern: regex.Pattern[str], text: str) -> bool:
    try:
        return pattern.search(text, timeout=REGEX_SECONDS) is not None
    except TimeoutError:
        raise UsageError(
            f"the pattern {pattern.pattern!r} takes more than {REGEX_SECONDS:g} s on one entry; simplify it"
        ) from None


def parse_when(text: str, now: datetime) -> datetime:
    """Read a time: ISO 8601 (a date alone is its midnight), `today`, `yesterday`, or a span ago such as `2h`.

    Args:
        text: what the user wrote.
        now: the current time, aware.

    Raises:
        UsageError: it is no time.
    """
    word = text.strip()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word.casefold() in {"today", "yesterday"}:
        return midnight - timedelta(days=word.casefold() == "yesterday")
    try:
        return now - parse_duration(word.removesuffix("ago").strip())
    except (ValueError, OverflowError):
        pass
    try:
        return read_time(word)
    except ValueError:
        raise UsageError(
            f"not a time: {text!r}; write 2026-04-20, 2026-04-20T18:30, today, yesterday, or a span such as 2h or 30d"
        ) from None


def pick_entry(entries: Sequence[Entry], wanted: str) -> Entry:
    """Return the entry meant by `#N` or by an unambiguous prefix of its id.

    Raises:
        NotFound: there is none, or several begin like that.
    """
    if wanted.startswith("#"):
        return entries[pick_number(len(entries), wanted)]
    found = {entry.stamp: entry for entry in entries if wanted and entry.stamp.startswith(wanted)}
    if wanted in found or len(found) == 1:
        return found.get(wanted) or next(iter(found.values()))
    if found:
        raise NotFound(f"{len(found)} entries begin with {wanted!r}: {some(list(found))}")
    hint = f"numbers are written '#{wanted}'" if wanted.isdecimal() else f"an id is a time such as {_ID}"
    raise NotFound(f"no entry {wanted!r}; {hint}")


def pick_number(count: int, wanted: str) -> int:
    """Return the position, from 0, of the entry meant by `#N` among so many.

    Raises:
        NotFound: there is none.
    """
    number = int(wanted[1:]) if wanted[1:].isdecimal() else 0
    if 0 < number <= count:
        return number - 1
    raise NotFound(f"no entry {wanted}; {f'the last is #{count}' if count else 'there are none'}")


def key_of(entry: Entry) -> bytes:
    """Return what an entry is recognised by in every file that has a copy of it: role, id and text."""
    from hashlib import blake2b

    said = f"{entry.role}\n{entry.stamp}\n{entry.text}".encode("utf-8", "surrogateescape")
    return blake2b(said, digest_size=16).digest()


def any_of(wanted: Iterable[Entry]) -> Callable[[Entry], bool]:
    """Return a condition: the entry is one of these, wherever a copy of it stands."""
    known = {(entry.role, entry.stamp) for entry in wanted}
    return lambda entry: (entry.role, entry.stamp) in known
