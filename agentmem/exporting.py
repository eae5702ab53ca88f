"""Taking entries out of a memory, and writing them where nothing is lost by it."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.durable import write_all, writing
from agentmem.errors import UsageError
from agentmem.folders import TEMP_PREFIX, outside
from agentmem.formats.exported import exported
from agentmem.selection import key_of
from agentmem.workspace import MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem.formats.exported import Exported
    from agentmem.memory import Memory
    from agentmem.selection import Selection

_TEMPORARY = re.compile(re.escape(TEMP_PREFIX) + r"[0-9a-f]{16}")
_HOUR = 3600  # seconds


def selected(memory: Memory, selection: Selection, *, archives: bool) -> Iterable[Exported]:
    """Return the chosen entries, oldest source first; one in several files comes once, with the newest."""
    files = memory.files() if archives else [MEMORY_FILE]
    several = len(files) > 1
    newest = {key_of(entry): file for file in files for entry in (memory.walk(file) if several else ())}
    chosen = (
        exported(entry, "" if file == MEMORY_FILE else file)
        for file in files
        for entry in memory.walk(file)
        if (not several or newest[key_of(entry)] == file) and selection.accepts(entry)
    )
    return chosen if selection.last is None else deque(chosen, maxlen=selection.last)


def write_file(target: Path, pieces: Iterator[str], *, force: bool = False) -> None:
    """Write an export, for its owner alone: whole, or not at all.

    Args:
        target: the file; with `force`, links are followed.
        pieces: what an exporter gives.
        force: replace a file that exists. A device or a pipe is written to.

    Raises:
        UsageError: the file exists.
        MemoryUnwritable: it cannot be written; what was there stands.
    """
    place = os.path.realpath(target) if force else os.path.abspath(target)
    content = (piece.encode() for piece in pieces)
    with writing(target):
        if force and os.path.exists(place) and not os.path.isfile(place):
            with open(place, "wb", buffering=0) as device:
                for piece in content:
                    write_all(device.fileno(), piece)
            return
        parent, name = os.path.split(place)
        with outside(parent) as folder:
            try:
                (folder.replace if force else folder.publish)(name, content)
            except FileExistsError:
                raise UsageError(f"{target} exists; --force overwrites it") from None


def orphans_beside(path: Path) -> list[str]:
    """Return the names of what killed processes left of exports to the same folder.

    Nothing tells a file of ours from a stranger's with such a name for certain, so that it is the owner who
    removes it; one that was written to within the hour may be in the making.
    """
    found = []
    with suppress(OSError), os.scandir(os.path.dirname(os.path.realpath(path))) as entries:
        for entry in entries:
            ours = _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            if ours and entry.stat(follow_symlinks=False).st_mtime < time.time() - _HOUR:
                found.append(entry.name)
    return sorted(found)
