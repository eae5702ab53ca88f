"""An agent on a terminal, with the provider on loopback behind it."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.program import agree
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.loopback import Provider

    Chat = Callable[..., Terminal]

SHELL = "SHELL>"
"""The prompt of the shell beneath."""


def wait_shell(terminal: Terminal, count: int) -> None:
    """Wait until the shell has asked for a command that often."""

    def asked_often() -> bool:
        rows = [*terminal.screen.scrollback, *terminal.lines_unlocked()]
        return sum(row.startswith(SHELL) for row in rows) == count

    terminal.wait_until(asked_often)


@pytest.fixture(params=["80x24", "40x10"])
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Give columns and rows of a terminal."""
    columns, _, rows = request.param.partition("x")
    return int(columns), int(rows)


@pytest.fixture
def chat(open_chat: Chat, size: tuple[int, int]) -> Chat:
    """Start `agentmem chat Ada` on a terminal of each size."""
    return partial(open_chat, columns=size[0], rows=size[1])


@pytest.fixture
def open_chat(provider: Provider, workspace: Path) -> Iterator[Chat]:
    """Start `agentmem chat Ada` on a terminal and wait for its prompt."""
    del provider
    agree(workspace)
    with ExitStack() as stack:

        def start(
            *options: str,
            columns: int,
            rows: int,
            ready: bool = True,
            shell: bool = False,
            environment: Mapping[str, str | None] | None = None,
            folder: Path | None = None,
            answers: bool = True,
        ) -> Terminal:
            command = [sys.executable, "-m", "agentmem", "chat", "Ada", "-m", "gpt-4o", *options]
            terminal = stack.enter_context(
                Terminal(
                    ["bash", "--norc", "--noprofile", "-i"] if shell else command,
                    columns=columns,
                    rows=rows,
                    answers=answers,
                    environment={"PS1": f"{SHELL} ", **(environment or {})},
                    folder=folder,
                )
            )
            if shell:
                wait_shell(terminal, 1)
                terminal.send(f"{shlex.join(command)}\r")
                terminal.wait_for("%")
            terminal.wait_prompt()
            if ready:
                terminal.wait_for("compacts at" if columns > 70 else "%")
            return terminal

        yield start


@pytest.fixture
def memory(workspace: Path) -> Callable[[], str]:
    """Give Ada's MEMORY.md as text."""
    return lambda: (workspace / "agents" / "Ada" / "MEMORY.md").read_text(encoding="utf-8")
