"""An agent with the same secret in every place that keeps text, and a search for it in every byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from agentmem import input_history
from agentmem.entries import parse
from agentmem.memory import Memory
from agentmem.search import Search

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem.entries import Entry

CANARY = "zanzibarquokka"
INNOCENT = "the weather is fine"


class Clock:
    """Moves on by a minute whenever it is asked."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 10, 12, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        self.time += timedelta(minutes=1)
        return self.time

    def go_to(self, month: int) -> None:
        self.time = datetime(2026, month, 10, 12, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Planted:
    """The agent's memory, and the entries that have the canary in them."""

    memory: Memory
    entries: tuple[Entry, ...]


def fold(memory: Memory, summary: str, keep: int = 0) -> str:
    """Compact as a conversation does; the last `keep` entries stay word for word."""
    document, cursor = memory.load()
    kept = document.entries[len(document.entries) - keep :]
    return memory.fold(cursor.snapshot(), summary, kept).archive


def plant(workspace: Path, canary: str = CANARY) -> Planted:
    """Put the canary into user text, reply, tool result, summaries, two archives, index, history, leftovers.

    Whatever has it in it is from March 2026, the rest from January and May.
    """
    clock = Clock()
    memory = Memory(workspace / "agents" / "Ada", clock=clock)
    memory.append("User", f"in January {INNOCENT}")
    clock.go_to(3)
    memory.append("User", f"The code word is {canary}.")
    memory.append("Ada", f"I note {canary}.")
    memory.append("Tool (look)", json.dumps({"found": canary}))
    fold(memory, f"The user said {canary}.")
    memory.append("User", f"Again: {canary.upper()}, in capitals.")
    fold(memory, f"Twice {canary}.", keep=1)
    memory.append("Ada", f"Still {canary}.")
    clock.go_to(5)
    memory.append("User", f"in May {INNOCENT}")
    for line in (f"The code word is {canary}.", f"Again: {canary.upper()}, in capitals.", INNOCENT):
        input_history.keep(memory.folder, line)
    assert Search(memory.folder).find([canary])
    private = memory.folder / ".agentmem"
    (private / "parts").mkdir(mode=0o700)
    for leftover in (
        private / "parts" / "3.txt",
        private / "summaries.json",
        private / ".tmp-1234",
        memory.folder / ".tmp-5678",
        memory.folder / "archive" / ".tmp-9abc",
    ):
        leftover.write_text(f"left over: {canary}")
    files = [memory.read().raw, *(memory.read_archive(each.name)[1] for each in memory.archives())]
    entries = {
        entry.raw: entry
        for content in files
        for entry in parse(content).entries
        if canary in entry.text.casefold()
    }
    assert len(entries) == 7
    assert len(traces(workspace, canary)) >= 10
    return Planted(memory, tuple(entries.values()))


def traces(folder: Path, text: str) -> list[str]:
    """Return the files, hidden ones too, with the text in a byte or a name of them, whatever its case."""
    found = []
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if text.casefold().encode() in content.lower() or text.casefold() in path.name.casefold():
            found.append(str(path.relative_to(folder)))
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file's bytes but those of locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "lock" not in path.name
    }


def memories(memory: Memory) -> dict[str, bytes]:
    """Return the bytes of MEMORY.md and the archives."""
    kept = contents(memory.folder)
    return {name: content for name, content in kept.items() if name.endswith(".md")}
