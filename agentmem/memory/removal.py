"""Removing entries from MEMORY.md and archives, and every trace of them from what is derived. Under the lock."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem import input_history
from agentmem.durable import ARCHIVE_MODE, FILE_MODE
from agentmem.entries import parse
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
    from collections.abc import Callable, Collection, Container

    from agentmem.durable import Folder
    from agentmem.entries import Document, Entry

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
        entries: the entries that are gone, or would go.
    """

    file: str
    entries: tuple[Entry, ...]


def forget(
    folder: Folder,
    chosen: Callable[[str, Entry], bool],
    *,
    dry_run: bool,
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
        dry_run: only say what would go.
        whole: archives that go altogether, header included, once all their entries are chosen.
        renewed: says what stands in an entry's place that is not chosen.
        typed: says which other lines of the input history go.

    Raises:
        OSError: the file being rewritten is as it was; those before it are done.
    """
    gone: list[Forgotten] = []
    if not dry_run:
        meant = forget(folder, chosen, dry_run=True)
        said = {entry.text.strip() for each in meant for entry in each.entries} - {""}
        # Before the files change, so that a failure leaves them as they were.
        drop_derived(folder, lambda line: repeats(line, said) or typed(line))
        bury(folder, (entry for each in meant for entry in each.entries))
    for name in [archive.name for archive in list_archives(folder)]:
        with folder.child(ARCHIVE_FOLDER) as shelf:
            document = parse(shelf.read(name))
            gone.append(_chosen_of(name, document, chosen))
            if dry_run:
                continue
            if name in whole and len(gone[-1].entries) == len(document.entries):
                shelf.remove(name)
                shelf.sync()
            else:
                _rewrite(shelf, name, document, gone[-1], renewed, ARCHIVE_MODE)
    if MEMORY_FILE in folder.names():
        document = parse(folder.read(MEMORY_FILE))
        gone.append(_chosen_of(MEMORY_FILE, document, chosen))
        if not dry_run:
            _rewrite(folder, MEMORY_FILE, document, gone[-1], renewed, FILE_MODE)
    found = [each for each in gone if each.entries]
    if not dry_run:
        try:
            drop_derived(folder, lambda line: repeats(line, said) or typed(line))
        except (OSError, AgentMemError):  # the files are done: one failure is not taken for an answer
            drop_derived(folder, lambda line: repeats(line, said) or typed(line))
    return found


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


def _chosen_of(name: str, document: Document, chosen: Callable[[str, Entry], bool]) -> Forgotten:
    return Forgotten(name, tuple(entry for entry in document.entries if chosen(name, entry)))


def _rewrite(
    folder: Folder, name: str, old: Document, gone: Forgotten, renewed: Callable[[Entry], Entry], mode: int
) -> None:
    ids = {id(entry) for entry in gone.entries}
    kept = [entry if id(entry) in ids else renewed(entry) for entry in old.entries]
    changed = gone.entries or any(one is not other for one, other in zip(kept, old.entries, strict=True))
    if changed:
        pieces = [entry.raw for entry in kept if id(entry) not in ids]
        folder.replace(name, [old.header, *pieces], mode=mode)
