"""What is written in a memory and its archives."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from agentmem.checkup.finding import Finding
from agentmem.entries import CUT_OFF, header_field, parse
from agentmem.stamps import is_stamp
from agentmem.workspace import ARCHIVE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem.entries import Document, Entry
    from agentmem.memory import Memory

_NULS = re.compile(rb"\x00{16,}")


def readable(memory: Memory) -> Iterator[Finding]:
    """Find what is damaged, torn or missing in MEMORY.md and the archives."""
    archives = {archive.path: memory.read_archive(archive.name)[1] for archive in memory.archives()}
    contents = dict(archives)
    if memory.exists():
        contents[memory.path] = memory.read().raw
    elif archives:
        newest = list(archives)[-1].name
        yield Finding(
            "no memory",
            memory.path,
            f"it is missing, and there are archives; `agentmem archives {memory.folder.name} {newest} "
            "--restore` brings the newest back",
        )
    for path, content in contents.items():
        yield from _written(memory, path, content)
    yield from _shelf(memory, archives, contents)


def _written(memory: Memory, path: Path, content: bytes) -> Iterator[Finding]:
    document = parse(content)
    yield from _torn(memory, path, content, document)
    seen: Counter[str] = Counter(entry.stamp for entry in document.entries)
    for stamp, count in seen.items():
        if count > 1:
            yield Finding("same id", path, f"{count} entries have the id {stamp}", grave=False)
    for number, entry in enumerate(document.entries, 1):
        if not is_stamp(entry.stamp):
            says = f"the id of entry #{number} is no time: {entry.stamp}"
            yield _at(entry, content, path, "bad id", says, grave=False)
    yield from _bytes(path, content)


def _torn(memory: Memory, path: Path, content: bytes, document: Document) -> Iterator[Finding]:
    for number, entry in enumerate(document.entries, 1):
        last = number == len(document.entries) and path == memory.path
        if entry.text.endswith(CUT_OFF):
            says = f"entry #{number} was cut off by a crash or an edit, and closed since"
            yield _at(entry, content, path, "cut entry", says, grave=False)
        elif not entry.terminated and last:
            yield Finding(
                "torn entry",
                path,
                f"entry #{number}, the last, has no end: it may be half of one",
                line=_line(content, entry.start),
                step="closes it, adding only what is missing",
                repair=memory.close_tail,
            )
        elif not entry.terminated:
            says = f"entry #{number} has no rule at its end"
            yield _at(entry, content, path, "open entry", says, grave=False)


def _bytes(path: Path, content: bytes) -> Iterator[Finding]:
    nuls = _NULS.search(content)
    if nuls:
        says = f"{len(nuls[0])} zero bytes in a row, as a crashed file system leaves them"
        yield Finding("zero bytes", path, says, _line(content, nuls.start()), grave=False)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        says = "bytes that are not UTF-8; they are kept as they are"
        yield Finding("not UTF-8", path, says, _line(content, error.start), grave=False)


def _shelf(memory: Memory, archives: dict[Path, bytes], contents: dict[Path, bytes]) -> Iterator[Finding]:
    by_digest: dict[bytes, Path] = {}
    for path, content in archives.items():
        twin = by_digest.setdefault(blake2b(content).digest(), path)
        if twin != path:
            yield Finding("duplicate archive", path, f"it has the same bytes as {twin.name}", grave=False)
        longer = [
            other.name
            for other, whole in contents.items()
            if len(whole) > len(content) and whole.startswith(content)
        ]
        if longer:
            says = f"it is only the beginning of {longer[0]}" if content else "it is empty"
            yield Finding("incomplete archive", path, says, grave=False)
    for path, content in contents.items():
        wanted = header_field(parse(content).header, "Continues").removeprefix(f"{ARCHIVE_FOLDER}/")
        if wanted and memory.folder / ARCHIVE_FOLDER / wanted not in archives:
            yield Finding(
                "missing archive", path, f"it continues {wanted}, which is not in {ARCHIVE_FOLDER}/"
            )


def _at(entry: Entry, content: bytes, path: Path, kind: str, says: str, *, grave: bool = True) -> Finding:
    return Finding(kind, path, says, _line(content, entry.start), grave=grave)


def _line(content: bytes, offset: int) -> int:
    return content.count(b"\n", 0, offset) + 1
