"""Which archives are older than the owner wants to keep them. Nothing goes before that was announced."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from agentmem.errors import StorageError
from agentmem.folders import Folder
from agentmem.workspace import PRIVATE_FOLDER, RETENTION_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from agentmem.memory import Archive


def due(archives: Iterable[Archive], keep: timedelta, now: datetime) -> list[Archive]:
    """Return the archives that were made longer ago than they are to be kept.

    Args:
        archives: all there are; one's age is that of the compaction its name tells of.
        keep: how long to keep them.
        now: the current time, aware.
    """
    return [each for each in archives if each.made and now - each.made > keep]


def announced(path: Path, keep: timedelta) -> bool:
    """Return whether the owner of an agent's folder was told that archives go after this long, or less."""
    with (
        suppress(OSError, StorageError, ValueError, OverflowError),
        Folder.open(path) as folder,
        folder.child(PRIVATE_FOLDER) as private,
    ):
        return timedelta() < timedelta(seconds=int(private.read(RETENTION_FILE))) <= keep
    return False


def announce(path: Path, keep: timedelta) -> None:
    """Put on record that they were told.

    Raises:
        StorageError: the folder cannot be used.
        OSError: the record cannot be written.
    """
    with Folder.open(path) as folder, folder.child(PRIVATE_FOLDER, create=True) as private:
        private.replace(RETENTION_FILE, [f"{int(keep.total_seconds())}\n".encode()])
