from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from agentmem.mounts import mount_of
from tests.program import COMMAND, Ran, environment
from tests.requires import missing, needs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace and mounts are Linux's")


def started(how: str, *words: str, **env: str) -> subprocess.Popen[str]:
    """Start agentmem with lock calls that the kernel answers otherwise."""
    strace = [
        needs("strace"),
        "-f",
        "-qq",
        "-o",
        os.devnull,
        "-e",
        "trace=flock",
        "-e",
        f"inject=flock:{how}",
    ]
    return subprocess.Popen(
        [*strace, *COMMAND, *words],
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def traced(how: str, *words: str, **env: str) -> Ran:
    """Run agentmem to its end, as `started`."""
    with started(how, *words, **env) as process:
        out, err = process.communicate(timeout=120)
    return Ran(process.returncode, out, err)


@pytest.mark.parametrize("error", ["ENOLCK", "EOPNOTSUPP"])
def test_a_file_system_without_locks_is_refused_with_the_way_out(workspace: Path, error: str) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    memory.append("User", "one secret")
    before = memory.path.read_bytes()
    refused = traced(f"error={error}", "forget", "Ada", "--match", "secret", "--yes")
    assert refused.code == 74
    mount = mount_of(str(memory.folder))
    assert f"{mount.kind} at {mount.point}" in refused.err
    assert 'lock = "none"' in refused.err
    assert memory.path.read_bytes() == before
    assert traced(f"error={error}", "show", "Ada").out.count("one secret") == 1
    allowed = traced(f"error={error}", "forget", "Ada", "--match", "secret", "--yes", AGENTMEM_LOCK="none")
    assert allowed.code == 0, allowed.err
    assert memory.read().entries == ()


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[Path]:
    """A file system of a kind that is not known to be local."""
    point = tmp_path / "strange"
    point.mkdir()
    mounted = subprocess.run(["mount", "-t", "ramfs", "ramfs", str(point)], capture_output=True, check=False)
    if mounted.returncode:
        missing("no right to mount a file system")
    yield point
    subprocess.run(["umount", "-l", str(point)], check=True)


def test_a_lock_call_that_hangs_is_given_up(workspace: Path, strange: Path) -> None:
    assert workspace
    memory = Memory(strange / "agents" / "Ada")
    memory.append("User", "one secret")
    began = time.monotonic()
    words = ("forget", "Ada", "--match", "secret", "--yes", "--workspace", str(strange))
    with started("delay_enter=30000000", *words, AGENTMEM_LOCK_TIMEOUT="0.5") as hung:
        assert hung.stderr
        said = next(line for line in hung.stderr if "cannot" in line)
        took = time.monotonic() - began
        # strace itself waits for the end of the delay.
        assert hung.wait(timeout=120) == 74
        hung.communicate()
    assert took < 29  # the call itself takes 30 seconds
    assert f"ramfs at {strange}" in said
    assert "does not answer the lock call" in said
    assert "AGENTMEM_LOCK=none" in said
    assert [entry.text for entry in memory.read().entries] == ["one secret"]
