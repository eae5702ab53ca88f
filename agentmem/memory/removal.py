"""Removing entries from MEMORY.md and archives, and every trace of them from what is derived. Under the lock."""

from __future__ import annotations

import stat
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentmem import input_history
from agentmem.durable import ARCHIVE_MODE, FILE_MODE
from agentmem.entries import parse_pieces
from agentmem.errors import AgentMemError
from agentmem.memory.archives import list_archives
from agentmem.memory.tombstones import bury
from agentmem.workspace import (
    ARCHIVE_FOLDER,
    FORGOTTEN_FILE,
    INPUT_HISTORY,
    MEMORY_FILE,
    PRIVATE_FOLDER,
    RETENTION_FILE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator

    from agentmem.entries import Entry
    from agentmem.folders import Folder

_TELLING = 8
"""Characters from which a text that stands inside another says the same thing."""
_FEW = 500
"""Texts up to which each is looked for inside every line."""
_TEXTLESS = frozenset({"lock", RETENTION_FILE, FORGOTTEN_FILE, INPUT_HISTORY})
"""What `.agentmem` has without any text of the conversation, and the input history, which is scrubbed."""
_LOCK_SUFFIX = ".lock"


@dataclass(frozen=True)
class Forgotten:
    """What a forget removed from one file.

    Attributes:
        file: `MEMORY.md` or the archive's name.
        entries: the entries that are gone, or are to go.
    """

    file: str
    entries: tuple[Entry, ...]


def forget(
    folder: Folder,
    chosen: Callable[[str, Entry], bool],
    *,
    whole: Container[str] = (),
    renewed: Callable[[Entry], Entry] = lambda entry: entry,
    typed: Callable[[str], bool] = lambda _line: False,
) -> list[Forgotten]:
    """Remove the chosen entries from MEMORY.md and every archive; all other bytes stay identical.

    What is derived from them goes first, so that no crash leaves it behind, and again at the end, should
    somebody have derived it anew meanwhile. Lines of the input history that say what a removed entry says
    go too.

    Args:
        folder: the agent's folder.
        chosen: told the file's name and an entry, says whether it goes.
        whole: archives that go altogether, header included, once all their entries are chosen.
        renewed: says what stands in an entry's place that is not chosen.
        typed: says which other lines of the input history go.

    Raises:
        OSError: the file being rewritten is as it was; those before it are done.
    """
    files = _files(folder, chosen, renewed)
    found = [Forgotten(each.name, each.gone) for each in files if each.gone]
    said = {entry.text.strip() for each in found for entry in each.entries} - {""}

    def line_goes(line: str) -> bool:
        return repeats(line, said) or typed(line)

    # Before the files change, so that a failure leaves them as they were.
    drop_derived(folder, line_goes)
    bury(folder, (entry for each in found for entry in each.entries))
    for file in files:
        with _shelf_of(folder, file.name) as shelf:
            if file.name in whole and file.name != MEMORY_FILE and file.emptied:
                shelf.remove(file.name)
                shelf.sync()
            elif file.changed:
                mode = FILE_MODE if file.name == MEMORY_FILE else ARCHIVE_MODE
                shelf.replace(file.name, _what_stays(shelf, file.name, chosen, renewed), mode=mode)
    try:
        drop_derived(folder, line_goes)
    except (OSError, AgentMemError):  # the files are done: one failure is not taken for an answer
        drop_derived(folder, line_goes)
    return found


@dataclass(frozen=True)
class _File:
    """What becomes of a file.

    Attributes:
        name: `MEMORY.md` or the archive's name.
        gone: the entries that go.
        emptied: whether none stays.
        changed: whether its bytes will be others.
    """

    name: str
    gone: tuple[Entry, ...]
    emptied: bool
    changed: bool


def _files(
    folder: Folder, chosen: Callable[[str, Entry], bool], renewed: Callable[[Entry], Entry]
) -> list[_File]:
    """Look at every file, archives first."""
    names = [archive.name for archive in list_archives(folder)]
    found = []
    for name in [*names, *({MEMORY_FILE} & set(folder.names()))]:
        gone: list[Entry] = []
        stays = changed = False
        with _shelf_of(folder, name) as shelf:
            for entry in (
                entry for document in parse_pieces(shelf.pieces(name)) for entry in document.entries
            ):
                if chosen(name, entry):
                    gone.append(replace(entry))  # without what was derived from its bytes
                else:
                    stays = True
                    changed = changed or renewed(entry) is not entry
        found.append(_File(name, tuple(gone), not stays, bool(gone) or changed))
    return found


def _what_stays(
    shelf: Folder, name: str, chosen: Callable[[str, Entry], bool], renewed: Callable[[Entry], Entry]
) -> Iterator[bytes]:
    """Yield the rest of a file, some at a time."""
    for document in parse_pieces(shelf.pieces(name)):
        rest = [renewed(entry).raw for entry in document.entries if not chosen(name, entry)]
        yield document.header + b"".join(rest)


@contextmanager
def _shelf_of(folder: Folder, name: str) -> Iterator[Folder]:
    """Open the folder that a file stands in."""
    if name == MEMORY_FILE:
        yield folder
    else:
        with folder.child(ARCHIVE_FOLDER) as shelf:
            yield shelf


def repeats(line: str, said: Collection[str]) -> bool:
    """Return whether a line of the input history is one of these texts, a command with one, or quotes one."""
    bare = line.strip()
    # A slash stands before a command, and doubled before a text that begins with one.
    forms = {bare, bare[1:], bare.partition(" ")[2].strip()} if bare.startswith("/") else {bare}
    if any(form in said for form in forms):
        return True
    return len(said) <= _FEW and any(len(text) >= _TELLING and text in bare for text in said)


def drop_derived(folder: Folder, typed: Callable[[str], bool] = lambda _line: False) -> None:
    """Delete everything in `.agentmem` that may hold text, and lines of the input history.

    The search index goes as a whole: SQLite keeps deleted words in its file, so only a new one is free of
    them. The same holds for whatever else is kept there to save work. Links are deleted, not followed.
    """
    if PRIVATE_FOLDER in folder.names():
        with folder.child(PRIVATE_FOLDER) as private:
            for name in private.names():
                if name not in _TEXTLESS and not name.endswith(_LOCK_SUFFIX):
                    _remove_tree(private, name)
            input_history.scrub(private, typed)


def _remove_tree(folder: Folder, name: str) -> None:
    if not stat.S_ISDIR(folder.stat(name).st_mode):
        folder.remove(name)
        return
    with folder.child(name) as inner:
        for each in inner.names():
            _remove_tree(inner, each)
    folder.remove_folder(name)
