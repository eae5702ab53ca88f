"""The archive folder: byte copies of MEMORY.md, written once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from agentmem import spelling
from agentmem.durable import ARCHIVE_MODE, writing
from agentmem.errors import MemoryUnreadable, NotFound
from agentmem.figures import some
from agentmem.folders import TEMP_PREFIX, Folder
from agentmem.workspace import ARCHIVE_FOLDER, ARCHIVE_NAME, is_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_TIME = "%Y-%m-%d_%H-%M-%S"


@dataclass(frozen=True)
class Archive:
    """One archived MEMORY.md.

    Attributes:
        name: its file name, `history_….md`.
        path: where it is.
        size: in bytes.
    """

    name: str
    path: Path
    size: int

    @property
    def made(self) -> datetime | None:
        """When it was made, as its name tells in local time; None where that is no time."""
        found = ARCHIVE_NAME.fullmatch(self.name)
        with suppress(ValueError, OverflowError, OSError):
            return datetime.strptime(found[1], _TIME).astimezone() if found else None
        return None


def list_archives(folder: Folder) -> list[Archive]:
    """List an agent's archives, oldest first."""
    try:
        with folder.child(ARCHIVE_FOLDER) as shelf:
            names = [name for name in shelf.names() if is_archive(name)]
            return [
                Archive(name, shelf.path / name, shelf.stat(name).st_size)
                for name in sorted(names, key=_order)
            ]
    except MemoryUnreadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return []
        raise


def _order(name: str) -> tuple[str, int]:
    found = ARCHIVE_NAME.fullmatch(name)
    return (found[1], int(found[2] or 1)) if found else (name, 0)


def pick_archive(archives: Sequence[Archive], wanted: str) -> Archive:
    """Return the archive meant by a name, an unambiguous prefix, or `latest`.

    Raises:
        NotFound: none fits, or several do.
    """
    if wanted == "latest" and archives:
        return archives[-1]
    bare = wanted.removeprefix(f"{ARCHIVE_FOLDER}/")
    exact = [archive for archive in archives if archive.name in {bare, f"{bare}.md"}]
    found = exact or [
        archive
        for archive in archives
        if bare and (archive.name.startswith(bare) or archive.name.startswith(f"history_{bare}"))
    ]
    if len(found) == 1:
        return found[0]
    if not archives:
        raise NotFound("no archives: this agent's memory was never compacted")
    if found:
        raise NotFound(f"{len(found)} archives begin with {wanted!r}: {some([each.name for each in found])}")
    names = [archive.name for archive in reversed(archives)]
    hint = spelling.hint(bare, ["latest", *names]) or f"; there are: {some(names)}"
    raise NotFound(f"no archive {wanted!r}{hint}")


def add_archive(folder: Folder, content: bytes, when: datetime) -> str:
    """Put a byte copy into the archive, durably, and return its name.

    The copy appears under its name only once it is complete. Nothing that exists is overwritten.

    Raises:
        StorageError: nothing was archived.
    """
    return shelve(folder, f"history_{when:{_TIME}}.md", [content])


def shelve(folder: Folder, wanted: str, pieces: Iterable[bytes]) -> str:
    """Put a new file into the archive, durably, and return its name: the wanted one or the next that is free.

    Raises:
        StorageError: nothing was archived.
    """
    stem = wanted.removesuffix(".md")
    with folder.child(ARCHIVE_FOLDER, create=True) as shelf:
        taken = set(shelf.names())
        number = 1
        while (name := f"{stem}.md" if number == 1 else f"{stem}_{number}.md") in taken:
            number += 1
        with writing(shelf.path):
            shelf.publish(name, pieces, mode=ARCHIVE_MODE)
    return name


def sweep(folder: Folder) -> list[str]:
    """Delete temporary files that a crash left behind; call it under the lock, where none can be in use.

    Returns:
        What was deleted, relative to the folder.
    """
    swept = []
    for name in folder.names():
        if name.startswith(TEMP_PREFIX):
            folder.remove(name)
            swept.append(name)
    if ARCHIVE_FOLDER in folder.names():
        with folder.child(ARCHIVE_FOLDER) as shelf:
            for name in shelf.names():
                if name.startswith(TEMP_PREFIX):
                    shelf.remove(name)
                    swept.append(f"{ARCHIVE_FOLDER}/{name}")
    return swept
