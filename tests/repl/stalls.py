"""Type while the agent is loading and measure how late each key appears: `python -m tests.repl.stalls`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from agentmem.consent import record
from tests.loopback import Provider
from tests.terminal import Terminal

KEYS = "abcdefghijklmnopqrstuvwxyz0123456789"
PACE = 0.03


def delays(model: str = "gpt-4o") -> list[float]:
    """Return for each key the seconds until it is on the screen, beginning with the first prompt."""
    with tempfile.TemporaryDirectory() as folder, Provider() as provider:
        record(Path(folder), datetime.now().astimezone(), agreed=True)
        environment = {"WORKSPACE_DIR": folder, "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": provider.url}
        environment |= {"XDG_CONFIG_HOME": folder, "PYTHONPATH": os.getcwd()}
        command = [sys.executable, "-m", "agentmem", "chat", "Ada", "-m", model]
        with Terminal(command, environment=environment) as terminal:
            terminal.wait_prompt()
            found = []
            for number, key in enumerate(KEYS, 1):
                sent = time.monotonic()
                terminal.send(key)
                terminal.wait_for(KEYS[:number])
                found.append(time.monotonic() - sent)
                time.sleep(max(0.0, sent + PACE - time.monotonic()))
            return found


if __name__ == "__main__":
    late = sorted(delays(*sys.argv[1:]))
    sys.stdout.write(
        f"keys {len(late)}, median {1000 * late[len(late) // 2]:.0f} ms, longest {1000 * late[-1]:.0f} ms\n"
    )
