"""A recorded session, screen by screen, compared with the text that was kept and reviewed.

`GOLDEN=write python -m pytest tests/repl/test_golden.py` keeps the screens as they are now.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, Gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loopback import Provider
    from tests.terminal import Terminal

    Chat = Callable[..., Terminal]

WRITE = os.environ.get("GOLDEN") == "write"  # read now: the fixtures clean the environment
FOLDER = Path(__file__).parent / "golden"
REPLY = (
    "`eu-west` is **cheapest**:\n\n| Region | Price |\n|---|--:|\n| eu-west | 41 |\n| eu-north | 46 |\n\n"
    "1. Move the jobs.\n2. Then the rest, when the replica has caught up.\n\n```python\nmin(prices)  # eu-west\n```\n"
)


class Record:
    """Screens of a session under their titles."""

    def __init__(self) -> None:
        self.screens: list[str] = []

    def keep(self, title: str, terminal: Terminal, *shown: str) -> None:
        """Keep the screen once it shows all of this and, but while a reply streams, the bar at its foot."""

        def complete() -> bool:
            rows = terminal.lines_unlocked()
            return all(any(text in row for row in rows) for text in shown)

        terminal.wait_until(complete)
        rows = [re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", "<time>", row) for row in terminal.lines()]
        # How much is streamed or counted at the moment of the look differs from run to run.
        rows = [re.sub(r"[█▏▎▍▌▋▊▉░]+│?[█▏▎▍▌▋▊▉░]* ~?\d+%", "<gauge>", row) for row in rows]
        rows = [re.sub(r"~?[\d.]+k?(/4k| tokens| → )", r"<n>\1", row) for row in rows]
        rows = [re.sub(r"^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ", "⠋ ", row) for row in rows]
        rule = "=" * terminal.screen.columns
        self.screens.append("\n".join([f"{title}", rule, *rows, rule, ""]))


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10)])
def test_the_screens_of_a_session(chat: Chat, provider: Provider, columns: int, rows: int) -> None:
    record = Record()
    gate, second = Gate(len(REPLY.partition(" Then")[0].split(" "))), Gate(2)
    provider.answers += [
        Answer(REPLY, gate=gate, usage=(900, 80, 0)),
        Answer("one two three four", gate=second),
    ]
    narrow = columns < 60
    foot = "%" if narrow else "compacts at 90%"
    terminal = chat("--context-length", "4000", columns=columns, rows=rows)
    record.keep("The first prompt", terminal, "new agent", foot)
    terminal.send("/")
    record.keep("A slash", terminal, "/help", "/tokens", foot)
    terminal.send("\x03")
    terminal.wait_gone("/help")
    terminal.send("Which region?\r")
    gate.wait_until_reached()
    record.keep("A reply arrives", terminal, "eu-west", "Move", foot)
    gate.open()
    terminal.wait_for("min(prices)")
    terminal.wait_prompt()
    record.keep("It is whole", terminal, "min(prices)", foot)
    terminal.send("count\r")
    terminal.wait_for("one two")
    terminal.send("\x03")
    terminal.wait_for("interrupted")
    terminal.wait_prompt()
    record.keep("Ctrl-C", terminal, "one two", "interrupted", foot)
    terminal.send("\x03")
    record.keep("Ctrl-C at the empty prompt", terminal, "Ctrl-D leaves")
    terminal.send("/show 2\r")
    terminal.wait_for("#4")
    terminal.wait_prompt()
    record.keep("/show 2", terminal, "#4", foot)
    terminal.send("/nope\r")
    terminal.wait_for("no command")
    terminal.wait_prompt()
    record.keep("An unknown command", terminal, "no command", foot)
    terminal.send("\x04")
    assert terminal.wait_end() == 0
    again = chat("--context-length", "4000", columns=columns, rows=rows)
    record.keep("The next session", again, "loaded", "just now", foot)
    path = FOLDER / f"session_{columns}x{rows}.txt"
    text = "\n".join(record.screens)
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
