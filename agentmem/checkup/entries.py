"""What is written in a memory and its archives."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agentmem.checkup.finding import Finding
from agentmem.memory.soundness import flaws
from agentmem.workspace import ARCHIVE_FOLDER, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.memory import Memory

_ELSEWHERE = frozenset({"kind", "mode"})  # what every file is looked at for
_ALLOWED = "no entries"  # what `forget` may leave


def readable(memory: Memory) -> Iterator[Finding]:
    """Find what is damaged, torn or missing in MEMORY.md and the archives."""
    archives = memory.archives()
    if archives and not memory.exists():
        yield Finding(
            "no memory",
            memory.path,
            f"it is missing, and there are archives; `agentmem archives {shlex.quote(memory.folder.name)} "
            f"{archives[-1].name} --restore` brings the newest back",
        )
    for flaw in flaws(memory):
        if flaw.kind in _ELSEWHERE or flaw.kind == _ALLOWED:
            continue
        path = memory.path if flaw.file == MEMORY_FILE else memory.folder / ARCHIVE_FOLDER / flaw.file
        torn = flaw.kind == "torn entry"
        yield Finding(
            flaw.kind,
            path,
            flaw.says,
            flaw.line,
            flaw.grave,
            step="closes it, adding only what is missing" if torn else "",
            repair=memory.close_tail if torn else None,
        )
