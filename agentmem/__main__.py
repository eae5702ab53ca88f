"""`python -m agentmem` and the console script."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress


def run() -> None:
    """Run the command line on the process's arguments and exit with its status."""
    _open_standard_streams()
    # What the imports make stays for good: looking through it for garbage is a twentieth of a short command.
    gc.disable()
    from agentmem.cli import main

    gc.freeze()
    gc.enable()
    status = main()
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            sys.stderr.write(f"agentmem: cannot write to stdout: {error.strerror}\n")
        # The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or 1
    sys.exit(status)


def _open_standard_streams() -> None:
    """Give a process that was started with closed standard streams (`<&-`) empty ones.

    Otherwise the next file opened, a MEMORY.md perhaps, would take the place of stdout.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is the missing one
            setattr(sys, name, os.fdopen(opened, mode, encoding="utf-8"))


if __name__ == "__main__":
    run()
