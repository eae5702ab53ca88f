"""What the fault tests share: a server that forks commands, and a small workspace to break."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.faults.shim import Fault
from tests.program import environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """How a forked command ended.

    Attributes:
        status: exit status, -9 when it was killed.
        calls: the system calls it made, unless it was killed.
        acknowledged: ids of the entries whose `append` returned.
        output: stdout and stderr.
    """

    status: int
    calls: list[str]
    acknowledged: list[str]
    output: str


class Commands:
    """Runs agentmem's commands in forked children, with faults if wanted."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *words: str, root: Path, fault: Fault | None = None, uid: int = 0, **env: str) -> Ran:
        assert self._process.stdin
        assert self._process.stdout
        which = fault or Fault()
        request = {
            "words": list(words),
            "fault": [which.kind, which.at, which.part],
            "uid": uid,
            "env": {"WORKSPACE_DIR": str(root), **({"XDG_CONFIG_HOME": "/nowhere"} if uid else {}), **env},
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the server ended"
        return Ran(**json.loads(answer))


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    home = tmp_path_factory.mktemp("home")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    env = {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONPATH": environment()["PYTHONPATH"],
        "OPENAI_API_KEY": "sk-loopback-0123456789",
        "AGENTMEM_MODEL": "gpt-4o",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        assert process.stdout
        yield Commands(process)
        assert process.stdin
        process.stdin.close()
