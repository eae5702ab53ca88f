"""The check-up behind `agentmem doctor`: looks at a workspace and says what is the matter.

Looking changes nothing. A repair never removes bytes that could be somebody's words.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import quote

from agentmem.checkup.entries import readable
from agentmem.checkup.files import looks, twins
from agentmem.checkup.finding import Finding
from agentmem.errors import AgentMemError, FolderLocked
from agentmem.folders import Folder
from agentmem.leaks import secrets_in
from agentmem.locking import locked
from agentmem.workspace import INDEX_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem.memory import Memory

__all__ = ["Finding", "examine", "twins"]


def examine(memory: Memory) -> Iterator[Finding]:
    """Look at one agent's folder."""
    try:
        yield from looks(memory)
        yield from readable(memory)
        yield from _secrets(memory.folder)
        yield from _lock(memory)
        yield from _index(memory.folder / PRIVATE_FOLDER / INDEX_FILE)
    except AgentMemError as error:
        yield Finding("unreadable", memory.folder, str(error))
    except OSError as error:
        yield Finding("unreadable", memory.folder, f"cannot look at {error.filename}: {error.strerror}")


def _secrets(path: Path) -> Iterator[Finding]:
    for leak in secrets_in(path):
        what = f"entry {leak.entry}" if leak.entry else "it"
        advice = "; `agentmem forget` removes entries" if leak.entry else ""
        says = f"{what} seems to hold a secret ({leak.kind}){advice}"
        yield Finding("secret", path / leak.file, says, leak.line, grave=False)


def _lock(memory: Memory) -> Iterator[Finding]:
    try:
        with Folder.open(memory.folder) as folder, locked(folder, 0, create=False):
            return
    except FolderLocked as error:
        yield Finding("in use", memory.folder, str(error), grave=False)
    except AgentMemError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            yield Finding("lock", memory.folder, str(error))


def _index(path: Path) -> Iterator[Finding]:
    if not path.is_file() or path.is_symlink():
        return
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        try:
            said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        said = str(error)
    if said != "ok":
        yield Finding(
            "index",
            path,
            f"the search index is damaged: {said}",
            step="deletes it; the next search makes a new one",
            repair=path.unlink,
        )
