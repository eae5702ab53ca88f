"""What a request to forget means, what else it touches, and what may remain. Nothing here asks or prints."""

from __future__ import annotations

import dataclasses
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from agentmem.entries import parse
from agentmem.errors import NotFound, UsageError
from agentmem.memory import Forgotten
from agentmem.memory.removal import repeats
from agentmem.memory.rewriting import SUMMARY_NOTE
from agentmem.roles import USER
from agentmem.selection import Selection, any_of, pick_entry
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentmem.entries import Document, Entry
    from agentmem.memory import Memory

PATTERN_SECONDS = 10.0
"""Time that matching every entry with a user's pattern may take, before it is given up."""
_QUOTE = 12
"""Characters from which a text is looked for in what is left; a shorter one says nothing."""
_QUOTES = 50
_LARGEST = 64 << 20
EVERY = "all"
"""Stands for the names of all archives."""

Key = tuple[str, str, str]
"""What an entry is recognised by in every file that has a copy of it: role, id, text."""


def key_of(entry: Entry) -> Key:
    """Return what an entry is recognised by in every file."""
    return (entry.role, entry.stamp, entry.text)


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
        documents: every file as it was read, archives first.
    """

    gone: tuple[Forgotten, ...]
    whole: frozenset[str]
    summaries: tuple[tuple[str, Entry], ...]
    lines: int
    scope: frozenset[str] | None
    selection: Selection
    documents: Mapping[str, Document] = field(repr=False)
    keys: frozenset[Key] = field(repr=False)

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
        return repeats(line, self._said) or _asked_for(self.selection, line)

    @cached_property
    def _ids(self) -> frozenset[tuple[str, str]]:
        return frozenset((role, stamp) for role, stamp, _ in self.keys)

    @cached_property
    def _said(self) -> frozenset[str]:
        return frozenset(text.strip() for _, _, text in self.keys) - {""}


def read_all(memory: Memory) -> dict[str, Document]:
    """Return every file of an agent, archives first, oldest first.

    Raises:
        MemoryUnreadable: one cannot be read.
    """
    found = {each.name: parse(memory.read_archive(each.name)[1]) for each in memory.archives()}
    found[MEMORY_FILE] = memory.read()
    return found


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
    documents = read_all(memory)
    scope = _scope(memory, wanted.archives) if wanted.archives else None
    places = [
        (file, entry)
        for file, document in documents.items()
        if scope is None or file in scope
        for entry in document.entries
    ]
    keys = frozenset(_chosen(places, wanted, documents))
    gone = tuple(
        Forgotten(file, tuple(entry for entry in document.entries if key_of(entry) in keys))
        for file, document in documents.items()
        if scope is None or file in scope
    )
    whole = frozenset(
        each.file for each in gone if scope and len(each.entries) == len(documents[each.file].entries)
    )
    found = Plan(
        tuple(each for each in gone if each.entries or each.file in whole),
        whole,
        tuple(made_from(documents, keys, lambda file: scope is None or file in scope)),
        0,
        scope,
        wanted.selection,
        documents,
        keys,
    )
    lines = sum(found.covers_line(line) for line in typed)
    if not (found.gone or lines):
        raise NotFound("nothing in the memory or the archives is meant by that; nothing was removed")
    return dataclasses.replace(found, lines=lines)


def _scope(memory: Memory, names: Iterable[str]) -> frozenset[str]:
    """Return the archives that are meant."""
    if EVERY in names:
        found = [archive.name for archive in memory.archives()]
        if not found:
            raise NotFound("there are no archives; nothing was removed")
        return frozenset(found)
    return frozenset(memory.read_archive(name)[0].name for name in names)


def _chosen(
    places: Sequence[tuple[str, Entry]], wanted: Wanted, documents: Mapping[str, Document]
) -> list[Key]:
    named = _named(wanted.entries, documents) if wanted.entries else None
    selection = wanted.selection
    timed = selection.since or selection.before
    deadline = time.monotonic() + PATTERN_SECONDS
    # An entry in several files stands where it stands last, as `show --last` counts.
    chosen: dict[Key, None] = {}
    for _, entry in places:
        if selection.pattern and time.monotonic() > deadline:
            raise UsageError(f"the pattern takes more than {PATTERN_SECONDS:g} s; nothing was removed")
        if timed and entry.when.timestamp() == 0:
            continue  # it has no readable date, so nobody can say whether it is meant
        if (named is None or named(entry)) and selection.accepts(entry):
            chosen.pop(key_of(entry), None)
            chosen[key_of(entry)] = None
    keys = list(chosen)
    return keys if selection.last is None else keys[-selection.last :]


def _named(names: Iterable[str], documents: Mapping[str, Document]) -> Callable[[Entry], bool]:
    numbered = documents[MEMORY_FILE].entries
    every = [entry for document in documents.values() for entry in document.entries]
    return any_of(pick_entry(numbered if name.startswith("#") else every, name) for name in names)


def _asked_for(selection: Selection, line: str) -> bool:
    """Whether a line of the input history is what was asked for by its text."""
    if not (selection.match or selection.pattern) or selection.role.casefold() not in {"", USER.casefold()}:
        return False
    return (not selection.match or selection.match.casefold() in line.casefold()) and (
        not selection.pattern or selection.matches(line)
    )


def made_from(
    documents: Mapping[str, Document], keys: Iterable[Key], removed_from: Callable[[str], bool]
) -> list[tuple[str, Entry]]:
    """Return the summaries, by file, that were made from entries, or from such a summary in turn.

    An entry of the archive that also stands beside the summary was kept word for word, not summarised. A
    summary that does not say what it was made from may have been made from anything.

    Args:
        documents: every file, archives first, oldest first.
        keys: the entries.
        removed_from: says of which files they are removed.
    """
    touched = set(keys)
    found = []
    for file, document in documents.items():
        beside = {key_of(entry) for entry in document.entries}
        for entry in document.entries:
            if not entry.is_summary or (key_of(entry) in touched and removed_from(file)):
                continue
            sources = _sources(entry, file, documents)
            if any(key_of(each) in touched - beside for source in sources for each in source.entries):
                touched.add(key_of(entry))
                found.append((file, entry))
    return found


def _sources(summary: Entry, file: str, documents: Mapping[str, Document]) -> list[Document]:
    if summary.note.startswith(SUMMARY_NOTE):
        source = documents.get(summary.note.removeprefix(SUMMARY_NOTE))
        return [source] if source else []
    return [document for name, document in documents.items() if name not in {file, MEMORY_FILE}]


def redone(
    decided: Plan,
    summarise: Callable[[Sequence[Entry]], str],
    stored: Callable[[Entry, str], Entry],
) -> tuple[dict[Key, Entry], list[tuple[str, Entry]]]:
    """Make the summaries anew from what stays of their sources, oldest first; nothing is written.

    Args:
        decided: the plan.
        summarise: gives the text of a summary of entries.
        stored: gives the entry that a new text of a summary makes, in the old one's place.

    Returns:
        What takes their places, by key, and those of which nothing is left to summarise.
    """
    news: dict[Key, Entry] = {}
    empty: list[tuple[str, Entry]] = []
    gone = set(decided.keys)
    for file, summary in decided.summaries:
        key = key_of(summary)
        if key in news or key in gone:
            continue
        beside = {key_of(entry) for entry in decided.documents[file].entries}
        sources = _sources(summary, file, decided.documents)
        left = {key_of(entry): entry for source in sources for entry in source.entries}
        head = [news.get(each, entry) for each, entry in left.items() if each not in gone | beside]
        if head:
            news[key] = stored(summary, summarise(head))
        else:
            gone.add(key)
            empty.append((file, summary))
    return news, empty


@dataclass(frozen=True)
class Remains:
    """What still says the same after a forget.

    Attributes:
        entries: entries that quote a forgotten one, by file.
        files: other files of the agent's folder with such a text in them, relative to it.
    """

    entries: tuple[tuple[str, Entry], ...]
    files: tuple[str, ...]


def remains(memory: Memory, decided: Plan) -> Remains:
    """Look for what was forgotten in what is left of the agent's folder."""
    telling = sorted(
        {text.strip() for _, _, text in decided.keys if len(text.strip()) >= _QUOTE}, key=len, reverse=True
    )[:_QUOTES]
    if decided.selection.match:
        telling.append(decided.selection.match)
    sought = [text.encode("utf-8", "surrogateescape") for text in telling]
    quoting = [
        (file, entry)
        for file, document in read_all(memory).items()
        if _has_any(document.raw, sought)
        for entry in document.entries
        if _has_any(entry.raw, sought)
    ]
    files = [name for name, path in _others(memory) if _has_any(_read(path), sought)]
    return Remains(tuple(quoting), tuple(files))


def _has_any(content: bytes, sought: Iterable[bytes]) -> bool:
    return any(text in content for text in sought)


def _others(memory: Memory) -> Iterator[tuple[str, str]]:
    """Yield the files of the agent's folder that `forget` leaves alone; links are not followed."""
    known = {MEMORY_FILE, *(os.path.join(ARCHIVE_FOLDER, each.name) for each in memory.archives())}
    for folder, _, names in os.walk(memory.folder):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, memory.folder)
            if relative not in known and os.path.isfile(path) and not os.path.islink(path):
                yield relative, path


def _read(path: str) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(_LARGEST)
    return b""


def carry_out(
    memory: Memory,
    decided: Plan,
    *,
    drop: Iterable[tuple[str, Entry]] = (),
    renewed: Mapping[Key, Entry] | None = None,
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
