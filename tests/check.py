"""Every check of the project, one after the other: `python -m tests.check`.

Ends with the first check that fails; the last lines are pytest's summary.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent

CHECKS = [
    [str(BIN / "ruff"), "format", "--check", "."],
    [str(BIN / "ruff"), "check", "."],
    [sys.executable, "-m", "mypy"],
    [str(BIN / "lint-imports")],
    [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"],
]


def main() -> int:
    """Run the checks; returns the exit status of the first that fails."""
    for command in CHECKS:
        print("$", Path(command[0]).name, *command[1:], flush=True)
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
