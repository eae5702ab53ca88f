"""Modes, kinds and names of what is in a workspace."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from agentmem.checkup.finding import Finding
from agentmem.durable import ARCHIVE_MODE, FILE_MODE, FOLDER_MODE
from agentmem.figures import counted
from agentmem.folders import TEMP_PREFIX
from agentmem.workspace import (
    AGENT_SETTINGS,
    ARCHIVE_FOLDER,
    DELETED_PREFIX,
    MEMORY_FILE,
    PRIVATE_FOLDER,
    fold_name,
    is_archive,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentmem.memory import Memory

_OTHERS = 0o077
# How synchronisers and editors name the copy they could not merge or have not put back.
_COPY = re.compile(
    r"conflict|\bcopy\b|~$|\.(orig|rej|bak|swp|swo)$|\(\d+\)|^(?:MEMORY|agent|history_[\d_-]+) \d+\.",
    re.IGNORECASE,
)
_OURS = frozenset({MEMORY_FILE, ARCHIVE_FOLDER, PRIVATE_FOLDER, AGENT_SETTINGS})


def twins(agents: Path) -> Iterator[Finding]:
    """Find folders that some file systems would confuse, and deletions that were broken off."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(os.listdir(agents)) if agents.is_dir() else []:
        alike[fold_name(name)].append(name)
        if name.startswith(DELETED_PREFIX):
            yield Finding(
                "broken deletion",
                agents / name,
                "an agent was being deleted when the process ended",
                step="finishes the deletion",
                repair=partial(shutil.rmtree, agents / name),
            )
    for names in alike.values():
        if len(names) > 1:
            yield Finding(
                "twin",
                agents / names[1],
                f"{' and '.join(map(repr, names))} differ only by case or normalisation: some systems take "
                "them for one; rename all but one",
            )


def looks(memory: Memory) -> Iterator[Finding]:
    """Find wrong kinds, wide modes, and files that are not of agentmem's making in an agent's folder."""
    for path in (memory.folder, *_contents(memory.folder)):
        status = path.lstat()
        relative = path.relative_to(memory.folder)
        wanted = _wanted(relative.parts)
        if wanted is None:
            yield from _stranger(memory, path)
        elif not wanted(status.st_mode):
            yield Finding("kind", path, f"it is {_kind(status.st_mode)}, so it is not used; put it elsewhere")
            continue
        if stat.S_ISLNK(status.st_mode):
            continue
        yield from _mode(path, status, relative.parts)


def _contents(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        yield path
        if path.name in {ARCHIVE_FOLDER, PRIVATE_FOLDER} and path.is_dir() and not path.is_symlink():
            yield from sorted(path.iterdir())


def _wanted(parts: tuple[str, ...]) -> Callable[[int], bool] | None:
    """Return the test for the kind a file has to be of, or None where anything may be."""
    if not parts or parts in {(ARCHIVE_FOLDER,), (PRIVATE_FOLDER,)}:
        return stat.S_ISDIR
    known = parts[0] == PRIVATE_FOLDER or parts in {(MEMORY_FILE,), (AGENT_SETTINGS,)}
    return stat.S_ISREG if known or is_archive(parts[-1]) else None


def _kind(mode: int) -> str:
    kinds = {stat.S_ISLNK: "a symbolic link", stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe"}
    return next((words for test, words in kinds.items() if test(mode)), "no regular file")


def _mode(path: Path, status: os.stat_result, parts: tuple[str, ...]) -> Iterator[Finding]:
    if not hasattr(os, "getuid"):
        return
    if status.st_uid != os.getuid():
        yield Finding("owner", path, f"it belongs to user {status.st_uid}, not to you", grave=False)
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS:
        archived = parts[:1] == (ARCHIVE_FOLDER,) and len(parts) > 1
        narrow = FOLDER_MODE if path.is_dir() else ARCHIVE_MODE if archived else FILE_MODE
        yield Finding(
            "mode",
            path,
            f"its mode {mode:04o} lets others in",
            step=f"sets its mode to {narrow:04o}",
            repair=partial(path.chmod, narrow),
        )


def _stranger(memory: Memory, path: Path) -> Iterator[Finding]:
    if path.name.startswith(TEMP_PREFIX):
        yield Finding(
            "orphan temp",
            path,
            "left by a process that ended in the middle of a write that it never reported as done",
            step="deletes it, under the lock",
            repair=memory.sweep,
        )
    elif _COPY.search(path.name) and path.is_file():
        yield Finding("conflict copy", path, _copy(memory, path), grave=False)


def _copy(memory: Memory, path: Path) -> str:
    missing = len(memory.unknown_in(path.read_bytes()))
    command = shlex.join(["agentmem", "import", memory.folder.name, str(path)])
    if not missing:
        return "a copy that an editor or a synchroniser left; all its entries are in the memory or an archive"
    return (
        f"a copy that an editor or a synchroniser left, with {counted(missing, 'entry')} "
        f"that {'is' if missing == 1 else 'are'} nowhere else; `{command}` "
        "takes them in"
    )
