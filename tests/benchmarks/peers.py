"""The programs agentmem is compared with, each in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.program import environment

HERE = Path(__file__).parent
PACKAGES = {"llm": "llm", "swarms": "swarms>=16,<17"}


@dataclass(frozen=True)
class Peers:
    """Where they are.

    Attributes:
        folder: holds one virtual environment each, named as in `PACKAGES`; None when there are none.
    """

    folder: Path | None

    def has(self, name: str) -> bool:
        """Whether a peer is installed."""
        return self.folder is not None and (self.folder / name / "bin" / "python").exists()

    def program(self, name: str, program: str = "python") -> str:
        """Return the path of a program of a peer."""
        assert self.folder
        return str(self.folder / name / "bin" / program)


def install(folder: Path) -> None:
    """Put the peers into environments of their own."""
    for name, requirement in PACKAGES.items():
        if not (folder / name / "bin" / "python").exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        pip = [str(folder / name / "bin" / "python"), "-m", "pip", "install", "-q", requirement]
        subprocess.run(pip, check=True)


def ours(workspace: Path, **more: str) -> dict[str, str]:
    """Return the environment for agentmem: this checkout, that workspace, no settings of the person."""
    return _bare(environment(WORKSPACE_DIR=str(workspace), **_home(workspace), **more))


def theirs(workspace: Path, **more: str) -> dict[str, str]:
    """Return the environment for a peer."""
    return _bare({**os.environ, "WORKSPACE_DIR": str(workspace), **_home(workspace), **more}, "PYTHONPATH")


def _home(workspace: Path) -> dict[str, str]:
    home = workspace.parent / "home"
    home.mkdir(exist_ok=True)
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "share"),
        "XDG_CACHE_HOME": str(home / "cache"),
    }


def _bare(env: dict[str, str], *unwanted: str) -> dict[str, str]:
    return {
        name: value
        for name, value in env.items()
        if name not in unwanted and not name.startswith("AGENTMEM_") and "proxy" not in name.lower()
    }
