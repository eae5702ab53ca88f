"""What is remembered of forgotten entries: a hash of role and id, nothing of the text.

A process that still has such an entry in its context must be able to tell that it was forgotten, not lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.errors import MemoryUnreadable
from agentmem.workspace import FORGOTTEN_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem.entries import Entry
    from agentmem.folders import Folder


def tombstone(entry: Entry) -> str:
    """Return what a forgotten entry is recognised by."""
    import hashlib

    name = f"{entry.role}\n{entry.stamp}".encode("utf-8", "surrogateescape")
    return hashlib.blake2b(name, digest_size=16).hexdigest()


def forgotten(folder: Folder) -> set[str]:
    """Return the tombstones there are.

    Raises:
        OSError: they cannot be read.
    """
    try:
        with folder.child(PRIVATE_FOLDER) as private:
            return set(private.read(FORGOTTEN_FILE).decode("ascii", "replace").split())
    except FileNotFoundError:
        return set()
    except MemoryUnreadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return set()
        raise


def bury(folder: Folder, entries: Iterable[Entry]) -> None:
    """Add tombstones; call it before the entries go, so that no crash makes them look lost.

    Raises:
        OSError: they were not added.
    """
    known = forgotten(folder)
    stones = known | {tombstone(entry) for entry in entries}
    if stones != known:
        with folder.child(PRIVATE_FOLDER, create=True) as private:
            private.replace(FORGOTTEN_FILE, ["\n".join([*sorted(stones), ""]).encode()])
