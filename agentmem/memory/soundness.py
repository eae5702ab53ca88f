"""Whether the files of a memory are whole, and what is odd about them."""

from __future__ import annotations

import re
import stat
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from agentmem.durable import ARCHIVE_MODE
from agentmem.entries import CUT_OFF, header_field
from agentmem.memory.rewriting import SUMMARY_NOTE
from agentmem.stamps import is_stamp
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE, is_archive

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from agentmem.entries import Document, Entry
    from agentmem.memory.reader import MemoryReader

_NULS = re.compile(rb"\x00{16,}")
_REFERS = frozenset({"missing archive", "edited entry"})
_NOT_WHOLE = _REFERS | {"kind", "mode", "no entries", "open entry", "zero bytes", "not UTF-8"}


@dataclass(frozen=True)
class Flaw:
    """Something odd about a file of a memory.

    Attributes:
        file: `MEMORY.md` or the archive's name.
        kind: one word or two that stay the same.
        says: what is the matter.
        line: the line in the file, counted from 1, or None.
        grave: whether something is wrong; the rest is good to know.
    """

    file: str
    kind: str
    says: str
    line: int | None = None
    grave: bool = False


def verify(memory: MemoryReader) -> dict[str, list[str]]:
    """Return what is wrong with each archive, and with MEMORY.md where it refers to them; [] is nothing.

    Raises:
        MemoryUnreadable: a file cannot be read.
    """
    names = [archive.name for archive in memory.archives()]
    found: dict[str, list[str]] = {name: [] for name in [*names, *([MEMORY_FILE] if memory.exists() else [])]}
    for flaw in flaws(memory):
        if flaw.kind in (_REFERS if flaw.file == MEMORY_FILE else _NOT_WHOLE):
            found[flaw.file].append(flaw.says)
    return found


def flaws(memory: MemoryReader) -> Iterator[Flaw]:
    """Look at every file of a memory, archives first, oldest first.

    Raises:
        MemoryUnreadable: a file cannot be read.
    """
    archives = {archive.name: archive.size for archive in memory.archives()}
    texts: dict[int, tuple[int, str]] = {}
    begins: dict[str, _Beginnings] = {}
    for file in [*archives, *([MEMORY_FILE] if memory.exists() else [])]:
        if file != MEMORY_FILE:
            mode = (memory.folder / ARCHIVE_FOLDER / file).lstat().st_mode
            if not stat.S_ISREG(mode):
                yield Flaw(file, "kind", "it is not a regular file")
                continue
            if stat.S_IMODE(mode) & ~ARCHIVE_MODE:
                yield Flaw(file, "mode", f"its mode is {stat.S_IMODE(mode):04o}, not {ARCHIVE_MODE:04o}")
        begins[file] = _Beginnings(sorted(set(archives.values())))
        yield from _Look(file, archives, texts).through(begins[file].of(memory.documents(file)))
    yield from _copies({file: size for file, size in archives.items() if file in begins}, begins)


class _Beginnings:
    """Digests of a file's first bytes, by how many they are; gathered while it is read for something else."""

    def __init__(self, sizes: list[int]) -> None:
        self.size = 0
        self.digests: dict[int, bytes] = {}
        self._wanted = sizes

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Pass on what a file is made of."""
        digest = blake2b()
        for document in documents:
            raw, start = document.raw, self.size
            self.size += len(raw)
            for size in self._wanted[len(self.digests) :]:
                if size > self.size:
                    break
                digest.update(raw[start - self.size + len(raw) : size - self.size + len(raw)])
                start = size
                self.digests[size] = digest.digest()
            digest.update(raw[start - self.size + len(raw) :])
            yield document


def _copies(archives: dict[str, int], begins: dict[str, _Beginnings]) -> Iterator[Flaw]:
    """Find archives that are all of another one, or only the beginning of another file."""
    known: dict[tuple[int, bytes | None], str] = {}
    for file, size in archives.items():
        own = begins[file].digests.get(size)
        twin = known.setdefault((size, own), file)
        if twin != file:
            yield Flaw(file, "duplicate archive", f"it has the same bytes as {twin}")
        longer = [name for name, each in begins.items() if each.size > size and each.digests[size] == own]
        if longer:
            says = f"it is only the beginning of {longer[0]}" if size else "it is empty"
            yield Flaw(file, "incomplete archive", says)


class _Look:
    """One walk through a file."""

    def __init__(self, file: str, archives: Collection[str], texts: dict[int, tuple[int, str]]) -> None:
        """Begin.

        Args:
            file: `MEMORY.md` or an archive's name.
            archives: the names of all there are.
            texts: of earlier walks, by the hash of role and id: the hash of an entry's text, and the file.
        """
        self._file = file
        self._archives = archives
        self._texts = texts
        self._own: set[int] = set()
        self._told: set[str] = set()

    def through(self, documents: Iterable[Document]) -> Iterator[Flaw]:
        """Yield what is odd, in the order of the file."""
        line = 1
        number = 0
        ids: Counter[int] = Counter()
        repeated: dict[str, int] = {}
        unclosed: list[Flaw] = []  # at most the last entry's
        for document in documents:
            yield from self._header(document.header)
            line += document.header.count(b"\n")
            for entry in document.entries:
                number += 1
                yield from unclosed
                unclosed = (
                    []
                    if entry.terminated
                    else [Flaw(self._file, "open entry", f"entry #{number} has no rule at its end", line)]
                )
                yield from self._entry(entry, number, line)
                ids[hash(entry.stamp)] += 1
                if ids[hash(entry.stamp)] > 1:
                    repeated[entry.stamp] = ids[hash(entry.stamp)]
                line += entry.raw.count(b"\n")
        if self._file == MEMORY_FILE:
            says = f"entry #{number}, the last, has no end: it may be half of one"
            unclosed = [replace(each, kind="torn entry", says=says, grave=True) for each in unclosed]
        yield from unclosed
        if not number:
            yield Flaw(self._file, "no entries", "it has no entries")
        for stamp, count in repeated.items():
            yield Flaw(self._file, "same id", f"{count} entries have the id {stamp}")

    def _header(self, header: bytes) -> Iterator[Flaw]:
        continued = header_field(header, "Continues").removeprefix(f"{ARCHIVE_FOLDER}/")
        yield from self._reference(continued)
        yield from self._bytes(header, 1)

    def _entry(self, entry: Entry, number: int, line: int) -> Iterator[Flaw]:
        if entry.text.endswith(CUT_OFF):
            says = f"entry #{number} was cut off by a crash or an edit, and closed since"
            yield Flaw(self._file, "cut entry", says, line)
        if not is_stamp(entry.stamp):
            yield Flaw(self._file, "bad id", f"the id of entry #{number} is no time: {entry.stamp}", line)
        if entry.note.startswith(SUMMARY_NOTE):
            yield from self._reference(entry.note.removeprefix(SUMMARY_NOTE))
        yield from self._bytes(entry.raw, line)
        yield from self._edited(entry, line)

    def _reference(self, archive: str) -> Iterator[Flaw]:
        if archive and is_archive(archive) and archive not in self._archives and self._first(archive):
            yield Flaw(
                self._file, "missing archive", f"it continues {archive}, which is not there", grave=True
            )

    def _bytes(self, raw: bytes, line: int) -> Iterator[Flaw]:
        nuls = _NULS.search(raw)
        if nuls and self._first("zero bytes"):
            says = f"{len(nuls[0])} zero bytes in a row, as a crashed file system leaves them"
            yield Flaw(self._file, "zero bytes", says, line + raw.count(b"\n", 0, nuls.start()))
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            if self._first("not UTF-8"):
                says = "bytes that are not UTF-8; they are kept as they are"
                yield Flaw(self._file, "not UTF-8", says, line + raw.count(b"\n", 0, error.start))

    def _edited(self, entry: Entry, line: int) -> Iterator[Flaw]:
        """Find an entry that another file has with another text: one of the two was edited."""
        key, text = hash((entry.role, entry.stamp)), hash(entry.text)
        other, where = self._texts.setdefault(key, (text, self._file))
        if other != text and where != self._file and key not in self._own:
            yield Flaw(
                self._file, "edited entry", f"entry {entry.stamp} differs from the one in {where}", line
            )
        self._own.add(key)

    def _first(self, what: str) -> bool:
        """Whether this is said of the file for the first time."""
        known = what in self._told
        self._told.add(what)
        return not known
