"""Running the program as its users do: another process, real pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agentmem.consent import record

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "agentmem"]


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment, in which `python -m agentmem` is this checkout."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    return {**os.environ, "PYTHONPATH": path, **more}


def run(*words: str, stdin: str | bytes = b"", cwd: Path | None = None, **more: str) -> Ran:
    """Run agentmem and wait for its end; `more` are environment variables."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    ended = subprocess.run(
        [*COMMAND, *words],
        input=given,
        capture_output=True,
        env=environment(**more),
        cwd=cwd,
        timeout=240,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def agree(workspace: Path) -> None:
    """Put on record that the owner of a workspace was asked and said yes, so that nobody is asked again."""
    record(workspace, datetime.now().astimezone(), agreed=True)
