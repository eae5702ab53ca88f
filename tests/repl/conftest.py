"""An agent on a terminal, with the provider on loopback behind it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.program import agree
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.loopback import Provider

    Chat = Callable[..., Terminal]


@pytest.fixture
def chat(provider: Provider, workspace: Path) -> Iterator[Chat]:
    """Start `agentmem chat Ada` on a terminal and wait for its prompt."""
    del provider
    agree(workspace)
    with ExitStack() as stack:

        def start(
            *options: str, columns: int = 80, rows: int = 24, ready: bool = True, **more: object
        ) -> Terminal:
            command = [sys.executable, "-m", "agentmem", "chat", "Ada", "-m", "gpt-4o", *options]
            terminal = stack.enter_context(
                Terminal(command, columns=columns, rows=rows, **more)  # type: ignore[arg-type]  # as given
            )
            terminal.wait_prompt()
            if ready:
                terminal.wait_for("compacts at" if columns > 70 else "%")
            return terminal

        yield start


@pytest.fixture
def memory(workspace: Path) -> Callable[[], str]:
    """Give Ada's MEMORY.md as text."""
    return lambda: (workspace / "agents" / "Ada" / "MEMORY.md").read_text(encoding="utf-8")
