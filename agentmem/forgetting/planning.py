"""What a request to forget means, and doing it."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from agentmem.entries import Entry
from agentmem.errors import NotFound, UsageError
from agentmem.forgetting.summaries import made_from
from agentmem.memory import Forgotten
from agentmem.memory.removal import repeats
from agentmem.roles import USER
from agentmem.selection import Selection, any_of, key_of, pick_entry, pick_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentmem.forgetting.summaries import Contents
    from agentmem.memory import Memory

PATTERN_SECONDS = 10.0
"""Time that matching every entry with a user's pattern may take, before it is given up."""
_TRIES = 5
EVERY = "all"
"""Stands for the names of all archives."""


@dataclass(frozen=True)
class Wanted:
    """Conditions that all have to hold for what is to be forgotten.

    Attributes:
        entries: it is one of these: `#N` as `show` numbers them, an id, or a prefix of one.
        selection: what holds of the entry itself; `last` counts from the newest in MEMORY.md backwards
            through the archives.
        archives: it stands in one of these, by name, unambiguous prefix, `latest` or `all`.
    """

    entries: tuple[str, ...] = ()
    selection: Selection = field(default_factory=Selection)
    archives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What will go, as it was shown; carrying it out removes exactly this.

    Attributes:
        gone: the entries by file, archives first.
        whole: archives of which nothing stays.
        summaries: summaries, of those that stay, that were made from what goes, by file.
        lines: lines of the input history that go.
        scope: the files meant, or None for all of them.
        selection: what was asked for.
        counts: how many entries every file has.
        contents: what these are recognised by.
        keys: of the entries that go.
    """

    gone: tuple[Forgotten, ...]
    whole: frozenset[str]
    summaries: tuple[tuple[str, Entry], ...]
    lines: int
    scope: frozenset[str] | None
    selection: Selection
    counts: Mapping[str, int]
    contents: Contents = field(repr=False)
    keys: frozenset[bytes] = field(repr=False)

    @property
    def count(self) -> int:
        """How many entries go; copies in several files count once."""
        return len(self.keys)

    def covers(self, file: str, entry: Entry) -> bool:
        """Whether an entry of a file goes."""
        return (
            (entry.role, entry.stamp) in self._ids  # first, for it needs no reading of the text
            and (self.scope is None or file in self.scope)
            and key_of(entry) in self.keys
        )

    def covers_line(self, line: str) -> bool:
        """Whether a line of the input history goes."""
        return repeats(line, self.said) or _asked_for(self.selection, line)

    @cached_property
    def said(self) -> frozenset[str]:
        """The texts that go."""
        return frozenset(entry.text.strip() for each in self.gone for entry in each.entries) - {""}

    @cached_property
    def _ids(self) -> frozenset[tuple[str, str]]:
        return frozenset((entry.role, entry.stamp) for each in self.gone for entry in each.entries)


def plan(memory: Memory, wanted: Wanted, typed: Sequence[str]) -> Plan:
    """Find out what is meant; nothing is changed.

    Args:
        memory: the agent's.
        wanted: the conditions.
        typed: lines of the agent's input history.

    Raises:
        NotFound: there is no such entry or archive, or nothing is meant.
        UsageError: the pattern takes too long.
        MemoryUnreadable: a file cannot be read.
    """
    for _ in range(_TRIES):
        found = _looked_up(memory, wanted)
        # A compaction meanwhile may have moved entries to an archive that was not looked at.
        if [*found.contents] == memory.files():
            break
    lines = sum(found.covers_line(line) for line in typed)
    if not (found.gone or lines):
        raise NotFound("nothing in the memory or the archives is meant by that; nothing was removed")
    return dataclasses.replace(found, lines=lines)


def _looked_up(memory: Memory, wanted: Wanted) -> Plan:
    files = memory.files()
    scope = _scope(memory, wanted.archives) if wanted.archives else None
    meant = [file for file in files if scope is None or file in scope]
    chosen = _Chosen(wanted.selection, _named(memory, files, wanted.entries) if wanted.entries else None)
    counts: Counter[str] = Counter()
    contents: Contents = {}
    summaries: list[tuple[str, Entry]] = []
    for file in files:
        contents[file] = set()
        for entry in memory.walk(file):
            key = key_of(entry)
            contents[file].add(key)
            counts[file] += 1
            if entry.is_summary:
                summaries.append((file, entry))
            if file in meant:
                chosen.consider(key, entry)
    keys = chosen.keys()
    gone = [_gone(memory, file, keys) for file in meant]
    whole = frozenset(each.file for each in gone if scope and not contents[each.file] - keys)
    return Plan(
        tuple(each for each in gone if each.entries or each.file in whole),
        whole,
        tuple(made_from(contents, summaries, keys, meant.__contains__)),
        0,
        scope,
        wanted.selection,
        counts,
        contents,
        keys,
    )


def _scope(memory: Memory, names: Iterable[str]) -> frozenset[str]:
    """Return the archives that are meant."""
    if EVERY in names:
        found = [archive.name for archive in memory.archives()]
        if not found:
            raise NotFound("there are no archives; nothing was removed")
        return frozenset(found)
    return frozenset(memory.find_archive(name).name for name in names)


def _named(memory: Memory, files: Iterable[str], names: Sequence[str]) -> Callable[[Entry], bool]:
    """Return a condition: the entry is one of those with these numbers, or prefixes of ids."""
    positions = {pick_number(memory.tail(0)[1], name) for name in names if name.startswith("#")}
    found = [entry for at, entry in enumerate(memory.walk() if positions else ()) if at in positions]
    prefixes = [name for name in names if not name.startswith("#")]
    if prefixes:
        begun = [
            Entry(entry.role, entry.stamp, entry.note, b"")  # a short prefix may be that of all
            for file in files
            for entry in memory.walk(file)
            if entry.stamp.startswith(tuple(prefixes))
        ]
        found += [pick_entry(begun, prefix) for prefix in prefixes]
    return any_of(found)


class _Chosen:
    """What is meant of all entries, the newest last."""

    def __init__(self, selection: Selection, named: Callable[[Entry], bool] | None) -> None:
        self._selection = selection
        self._named = named
        self._deadline = time.monotonic() + PATTERN_SECONDS
        self._keys: dict[bytes, None] = {}

    def consider(self, key: bytes, entry: Entry) -> None:
        """Take an entry in, if it is meant."""
        selection = self._selection
        if selection.pattern and time.monotonic() > self._deadline:
            raise UsageError(f"the pattern takes more than {PATTERN_SECONDS:g} s; nothing was removed")
        if (selection.since or selection.before) and entry.when.timestamp() == 0:
            return  # it has no readable date, so nobody can say whether it is meant
        if (self._named is None or self._named(entry)) and selection.accepts(entry):
            # An entry in several files stands where it stands last, as `show --last` counts.
            self._keys.pop(key, None)
            self._keys[key] = None

    def keys(self) -> frozenset[bytes]:
        """Return their keys."""
        last = self._selection.last
        return frozenset(list(self._keys)[-last if last else 0 :])


def _gone(memory: Memory, file: str, keys: frozenset[bytes]) -> Forgotten:
    # Without what was derived from their bytes: there may be many.
    entries = (dataclasses.replace(entry) for entry in memory.walk(file) if key_of(entry) in keys)
    return Forgotten(file, tuple(entries))


def _asked_for(selection: Selection, line: str) -> bool:
    """Whether a line of the input history is what was asked for by its text."""
    if not (selection.match or selection.pattern) or selection.role.casefold() not in {"", USER.casefold()}:
        return False
    return (not selection.match or selection.match.casefold() in line.casefold()) and (
        not selection.pattern or selection.matches(line)
    )


def carry_out(
    memory: Memory,
    decided: Plan,
    *,
    drop: Iterable[tuple[str, Entry]] = (),
    renewed: Mapping[bytes, Entry] | None = None,
) -> list[Forgotten]:
    """Remove what was planned, and nothing else; returns what went, by file.

    Args:
        memory: the agent's.
        decided: the plan.
        drop: summaries that go too.
        renewed: what takes the place of summaries that stay, by their keys.

    Raises:
        StorageError: a file could not be rewritten; that file is as it was.
        FolderLocked: another process keeps the folder.
    """
    dropped = {key_of(entry) for _, entry in drop}
    news = renewed or {}
    return memory.forget(
        lambda file, entry: decided.covers(file, entry) or (bool(dropped) and key_of(entry) in dropped),
        whole=decided.whole,
        renewed=lambda entry: news.get(key_of(entry), entry) if news else entry,
        typed=decided.covers_line,
    )
