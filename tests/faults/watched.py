"""Run one command with a shim that only looks: `python -m tests.faults.watched CALLS WORD…`.

The file CALLS gets the names of the calls. The two looks at files that do not exist mark the command in a trace.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

# The memory first: it looks at what the system's functions can do when it is imported.
from agentmem import cli, memory  # noqa: F401
from tests.faults.shim import Fault, Shim

if __name__ == "__main__":
    target, *words = sys.argv[1:]
    shim = Shim(Fault(), sync=True)
    look = os.stat
    shim.install()
    with suppress(FileNotFoundError):
        look("/command-begins")
    status = cli.main(words)
    with suppress(FileNotFoundError):
        look("/command-ends")
    Path(target).write_text("\n".join(shim.calls))
    sys.exit(status)
