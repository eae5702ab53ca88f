"""One of many processes at one agent: `python -m tests.faults.crowd FOLDER NAME JOB COUNT`.

Prints the ids it was told of, one a line.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from agentmem.entries import CUT_OFF, Entry
from agentmem.errors import MemoryChanged
from agentmem.memory import Memory

RULED = "\n\n---\n\n"


def append(memory: Memory, name: str, count: int) -> None:
    """Append so many entries, each with a rule in it, so that half of one could pass for a whole."""
    for number in range(count):
        entry = memory.append("User", f"{name} {number}{RULED}{'x' * (number % 7 * 999)} {name} {number}")
        print(entry.stamp)


def compact(memory: Memory, name: str, count: int) -> None:
    """Fold so many times; what was folded away stays in the archives."""
    for number in range(count):
        _, cursor = memory.load()
        with suppress(MemoryChanged):
            memory.fold(cursor.snapshot(), f"{name} {number}")


def forget(memory: Memory, name: str, count: int) -> None:
    """Append something and forget it again, so many times."""
    for number in range(count):
        entry = memory.append("User", f"{name} {number} doomed")

        def doomed(_file: str, each: Entry, stamp: str = entry.stamp) -> bool:
            return each.stamp == stamp

        gone = memory.forget(doomed)
        assert sum(len(each.entries) for each in gone) >= 1


def read(memory: Memory, _name: str, count: int) -> None:
    """Look at the memory over and over: whole, its end, what changed. Never is half an entry a whole one."""
    _, cursor = memory.load()
    for _ in range(count):
        changes = memory.changes(cursor)
        cursor = changes.cursor
        for entry in [*changes.document.entries, *memory.tail(3)[0]]:
            if entry.role == "User" and entry.terminated and "doomed" not in entry.text:
                begins, _, ends = entry.text.partition(RULED)
                assert ends.endswith(f" {begins}"), entry
                assert CUT_OFF not in entry.text


if __name__ == "__main__":
    folder, job_name, job, times = sys.argv[1:]
    {"append": append, "compact": compact, "forget": forget, "read": read}[job](
        Memory(Path(folder), lock_timeout=120), job_name, int(times)
    )
