"""Taking entries out of a memory, and writing them where nothing is lost by it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentmem import durable
from agentmem.errors import MemoryUnwritable, UsageError
from agentmem.formats.exported import exported
from agentmem.selection import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem.formats.exported import Exported
    from agentmem.memory import Memory
    from agentmem.selection import Selection


def selected(memory: Memory, selection: Selection, *, archives: bool) -> Iterable[Exported]:
    """Return the chosen entries, oldest source first; one in several files comes once, with the newest."""
    names = [archive.name for archive in memory.archives()] if archives else []
    newest = {key_of(entry): name for name in [*names, ""] for entry in (memory.walk(name) if names else ())}
    chosen = (
        exported(entry, name)
        for name in [*names, ""]
        for entry in memory.walk(name)
        if (not names or newest[key_of(entry)] == name) and selection.accepts(entry)
    )
    return chosen if selection.last is None else deque(chosen, maxlen=selection.last)


def write_file(target: Path, pieces: Iterator[str], *, force: bool = False) -> None:
    """Write an export, for its owner alone.

    Args:
        target: the file.
        pieces: what an exporter gives.
        force: replace a file that exists.

    Raises:
        UsageError: the file exists.
        MemoryUnwritable: it cannot be written; what was there stands.
    """
    try:
        durable.write_file(target, (piece.encode() for piece in pieces), overwrite=force)
    except MemoryUnwritable as error:
        if isinstance(error.__cause__, FileExistsError):
            raise UsageError(f"{target} exists; --force overwrites it") from None
        raise
