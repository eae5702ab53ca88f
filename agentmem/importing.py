"""Bringing a conversation in: read the whole file first, leave out what is here already, then store the rest."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO, TYPE_CHECKING

from agentmem.errors import AgentMemError
from agentmem.formats.registry import Left, open_import
from agentmem.stamps import TICK, format_stamp, parse_stamp
from agentmem.turns import IMPORTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.formats.registry import Taken
    from agentmem.memory import Memory


@dataclass
class Report:
    """What an import took, and what not.

    Attributes:
        format: what the file was.
        taken: entries that are new here.
        known: entries that were here already.
        left: how many of what else the file has, by kind.
        first: the time of the oldest entry taken, or None.
        last: the time of the newest.
    """

    format: str
    taken: int = 0
    known: int = 0
    left: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True)
class _Waiting:
    """An entry that waits in the temporary file."""

    when: datetime
    start: int
    length: int
    archive: str


def import_file(memory: Memory, path: Path, agent: str, *, dry_run: bool = False) -> Report:
    """Take a file's entries into a memory: all that are new, or none at all.

    The file is read to its end before anything is stored; until then the entries wait in a temporary
    file that has no name.

    Args:
        memory: where to.
        path: the file, of any kind `formats` knows.
        agent: the name of the agent, which becomes the role of its replies.
        dry_run: only read, and count.

    Raises:
        ImportRefused: the file cannot be read; the message says where it is wrong.
        StorageError: MEMORY.md is untouched.
    """
    opened = open_import(path, agent)
    report = Report(opened.format)
    present = _Present(memory)
    waiting: list[_Waiting] = []
    with _spool() as spool:
        for result in opened.results:
            if isinstance(result, Left):
                report.left[result.what] += 1
                continue
            entry = present.new(memory, result, report, exact=opened.exact)
            if entry:
                waiting.append(_Waiting(entry.when, spool.tell(), len(entry.raw), result.archive))
                spool.write(entry.raw)
        report.taken = len(waiting)
        times = [each.when for each in waiting]
        report.first, report.last = min(times, default=None), max(times, default=None)
        if waiting and not dry_run:
            if not opened.exact:
                waiting.sort(key=lambda each: each.when)
            _store(memory, waiting, spool)
    return report


def _spool() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise AgentMemError(f"cannot make a temporary file: {error.strerror}") from error


def _store(memory: Memory, waiting: list[_Waiting], spool: IO[bytes]) -> None:
    def raw(each: _Waiting) -> bytes:
        spool.seek(each.start)
        return spool.read(each.length)

    def shelved(name: str) -> Iterator[bytes]:
        return (raw(each) for each in waiting if each.archive == name)

    names = dict.fromkeys(each.archive for each in waiting if each.archive)
    memory.join(
        ((each.when, raw(each)) for each in waiting if not each.archive),
        ((name, shelved(name)) for name in names),
    )


class _Present:
    """What a memory holds already, and what has been taken in so far."""

    def __init__(self, memory: Memory) -> None:
        self._texts: dict[str, set[bytes]] = {}
        self._roles: set[tuple[str, str]] = set()
        for file in memory.files():
            for entry in memory.walk(file):
                self._texts.setdefault(entry.stamp, set()).add(_digest(entry))
                self._roles.add((entry.role, entry.stamp))

    def new(self, memory: Memory, taken: Taken, report: Report, *, exact: bool) -> Entry | None:
        """Return an entry as it is to be stored; None when it is here already, which is counted."""
        # Whoever reads it, a model too, shall see that it was not said here.
        note = taken.note if exact else taken.note or f"{IMPORTED} {report.format}"
        entry = memory.stored(taken.role, taken.stamp, taken.text, note)
        key = _digest(entry)
        if exact:
            if key in self._texts.get(entry.stamp, ()):
                report.known += 1
                return None
            if (entry.role, entry.stamp) in self._roles:
                report.left["entries that are here with another text"] += 1
                return None
        else:
            # Timestamps of other programs need not be unique: the next free one, if nothing says the same.
            while entry.stamp in self._texts:
                if key in self._texts[entry.stamp]:
                    report.known += 1
                    return None
                stamp = format_stamp(parse_stamp(entry.stamp) + TICK)
                entry = memory.stored(taken.role, stamp, taken.text, note)
        self._texts.setdefault(entry.stamp, set()).add(key)
        return entry


def _digest(entry: Entry) -> bytes:
    said = f"{entry.role}\n{entry.text}".encode("utf-8", "surrogateescape")
    return blake2b(said, digest_size=16).digest()
