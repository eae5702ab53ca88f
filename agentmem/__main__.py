"""`python -m agentmem` and the console script."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line on the process's arguments and exit with its status."""
    from agentmem.cli import main

    sys.exit(main())


if __name__ == "__main__":
    run()
