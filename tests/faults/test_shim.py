"""The shim is true: it sees what the kernel sees."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.faults.shim import CHANGING
from tests.program import COMMAND, environment
from tests.requires import needs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace is Linux's")

SAME = {
    "replace": "rename",
    "renameat": "rename",
    "renameat2": "rename",
    "fchmodat": "chmod",
    "mkdirat": "mkdir",
}
SAME |= {"linkat": "link", "unlinkat": "unlink", "fchmodat2": "chmod"}
WATCHED = {*CHANGING, *SAME, "openat", "create"} - {"open", "replace", "create"}
COMMANDS = {
    "compact": ("compact", "Ada", "--summary", "short", "--keep-tokens", "0"),
    "restore": ("archives", "Ada", "latest", "--restore", "--yes"),
    "forget": ("forget", "Ada", "--match", "two", "--summaries", "keep", "--yes"),
    "export": ("export", "Ada", "-o", "out.md"),
}


@pytest.fixture
def memory(workspace: Path) -> Memory:
    kept = Memory(workspace / "agents" / "Ada")
    for text in ("one", "two"):
        kept.append("User", text)
    kept.fold(kept.load()[1].snapshot(), "one, two")
    kept.append("User", "two again")
    return kept


@pytest.mark.parametrize("name", COMMANDS)
def test_the_shim_sees_what_strace_sees(name: str, memory: Memory, tmp_path: Path) -> None:
    root = memory.folder.parent.parent
    trace, seen = tmp_path / "trace", tmp_path / "seen"
    strace = [needs("strace"), "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=file,desc"]
    ended = subprocess.run(
        [*strace, sys.executable, "-m", "tests.faults.watched", str(seen), *COMMANDS[name]],
        env=environment(
            AGENTMEM_MODEL="gpt-4o", OPENAI_API_KEY="sk-loopback-01234", PYTHONDONTWRITEBYTECODE="1"
        ),
        cwd=root,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    told = trace.read_text(errors="replace").split('"/command-begins"')[1].split('"/command-ends"')[0]
    kernel = []
    for line in told.splitlines():
        found = re.match(r"\d+ +(\w+)\(", line)
        if found and found[1] in WATCHED and str(root) in line:
            opens = found[1] == "openat"
            if not opens or "O_CREAT" in line:
                kernel.append("create" if opens else SAME.get(found[1], found[1]))
    changing = {*CHANGING, "create"} - {"open"}
    shim = [SAME.get(call, call) for call in seen.read_text().split() if call in changing]
    assert kernel == shim
    assert {"create", "write", "fsync", "link", "unlink"} <= set(kernel)


@pytest.mark.parametrize("call", ["openat", "read", "write", "fsync", "flock", "fchmod", "close"])
def test_an_interrupted_call_is_made_again(call: str, memory: Memory) -> None:
    """EINTR from the kernel, at every second call in the agent's folder: Python calls again."""
    inside = ["", "MEMORY.md", "archive", ".agentmem", ".agentmem/lock"]
    strace = [needs("strace"), "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    strace += [word for name in inside for word in ("-P", str(memory.folder / name))]
    forget = ["forget", "Ada", "--match", "two again", "--summaries", "keep", "--yes"]
    ended = subprocess.run(
        [*strace, "-e", f"inject={call}:error=EINTR:when=1+2", *COMMAND, *forget],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert [entry.text for entry in memory.read().entries] == ["[Compressed Memory Summary]\n\none, two"]
