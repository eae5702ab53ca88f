from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agentmem.entries import parse
from agentmem.errors import FolderLocked
from agentmem.folders import Folder
from agentmem.locking import locked
from agentmem.memory import Memory
from tests.program import environment, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITERS, EACH = 8, 500


def start(folder: Path, name: str, job: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.crowd", str(folder), name, job, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def test_many_writers_with_compactions_forgets_and_readers_lose_nothing(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    memory = Memory(tmp_path / "Ada")
    memory.ensure()
    began = time.monotonic()
    writers = [start(memory.folder, f"w{number}", "append", EACH) for number in range(WRITERS)]
    others = [
        start(memory.folder, "c", "compact", 12),
        start(memory.folder, "f", "forget", 8),
        start(memory.folder, "r", "read", 60),
        start(memory.folder, "s", "read", 60),
    ]
    ended = [process.communicate(timeout=280) for process in [*writers, *others]]
    for process, (_, errors) in zip([*writers, *others], ended, strict=True):
        assert process.returncode == 0, errors
    acknowledged = [stamp for (out, _), _ in zip(ended, writers, strict=False) for stamp in out.split()]
    assert len(acknowledged) == len(set(acknowledged)) == WRITERS * EACH
    found: dict[str, str] = {}
    for path in [memory.path, *(archive.path for archive in memory.archives())]:
        for entry in parse(path.read_bytes()).entries:
            if entry.role == "User":
                assert entry.terminated
                assert found.setdefault(entry.stamp, entry.text) == entry.text
                assert "doomed" not in entry.text
    assert sorted(found) == sorted(acknowledged)
    tell(
        f"{WRITERS} processes, {EACH} appends each, {len(memory.archives())} compactions: every id once, "
        f"{time.monotonic() - began:.0f} s"
    )


def test_a_folder_that_stays_locked_is_given_up_with_the_holders_pid(workspace: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada", lock_timeout=0.2)
    memory.append("User", "one")
    before = memory.path.read_bytes()
    with Folder.open(memory.folder) as folder, locked(folder, 1):
        with pytest.raises(FolderLocked, match=f"in use by process {os.getpid()}"):
            memory.append("User", "two")
        ran = run("compact", "Ada", "--undo", AGENTMEM_LOCK_TIMEOUT="0.1")
        assert ran.code == 75
        assert f"process {os.getpid()}" in ran.err
        assert run("show", "Ada").out.count("one") == 1
    assert memory.path.read_bytes() == before
