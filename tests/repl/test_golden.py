"""A recorded session, screen by screen, compared with the text that was kept and reviewed.

`GOLDEN=write python -m pytest tests/repl/test_golden.py` keeps the screens as they are now.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.loopback import Answer, Gate
from tests.repl.states import talked_before
from tests.terminal import flowing

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
RAIN = Answer("April, **before** the heat.", reasoning="let me think of the weather")


class Record:
    """Screens of a session under their titles.

    Args:
        path: where they are kept.
        height: rows of a screen.
    """

    def __init__(self, path: Path, height: int) -> None:
        self._path = path
        lines = [] if WRITE else path.read_text(encoding="utf-8").split("\n")
        frame = height + 4  # a title, two rules, and the empty line after it
        self._kept = ["\n".join(lines[at : at + frame]) for at in range(0, len(lines), frame)]
        self.screens: list[str] = []

    def keep(self, title: str, terminal: Terminal, *shown: str) -> None:
        """Take the screen once it is the one that was kept; a new one, once it shows all of this."""
        kept = self._kept[len(self.screens)] if len(self.screens) < len(self._kept) else ""

        def complete() -> bool:
            rows = terminal.lines_unlocked()
            return all(any(text in row for row in rows) for text in shown) and (
                WRITE or _framed(title, rows, terminal.screen.columns) == kept
            )

        # What is there when the time is up goes into the comparison at the end, which shows the difference.
        with suppress(AssertionError):
            terminal.wait_until(complete)
        self.screens.append(_framed(title, terminal.lines(), terminal.screen.columns))

    def compare(self) -> None:
        """Check the screens, or keep them."""
        text = "\n".join(self.screens)
        if WRITE:
            self._path.write_text(text, encoding="utf-8")
        assert text == self._path.read_text(encoding="utf-8")


def _framed(title: str, lines: list[str], columns: int) -> str:
    """Return a screen under its title, without what differs from run to run."""
    rows = [re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", "<time>", row) for row in lines]
    rows = [re.sub(r"\d{4}-\d\d-\d\d[ _]\d\d[:-]\d\d(-\d\d(_\d)?)?", "<time>", row) for row in rows]
    rows = [re.sub(r"just now|\d+ min ago", "<ago>", row) for row in rows]
    # How much is streamed or counted at the moment of the look differs.
    rows = [re.sub(r"[█▏▎▍▌▋▊▉░]+│?[█▏▎▍▌▋▊▉░]* ~?\d+%", "<gauge>", row) for row in rows]
    rows = [re.sub(r"~?[\d.,]+k?(/4k| of 4,000| tokens| → )", r"<n>\1", row) for row in rows]
    rows = [row if "compacts at" in row else re.sub(r"~?[\d.]+%|\d+ s,", "<n>", row) for row in rows]
    rows = [re.sub(r"^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ", "⠋ ", row) for row in rows]
    rule = "=" * columns
    return "\n".join([title, rule, *rows, rule, ""])


def test_the_screens_of_a_session(chat: Chat, provider: Provider, size: tuple[int, int]) -> None:
    columns, rows = size
    record = Record(FOLDER / f"session_{columns}x{rows}.txt", rows)
    gate, second = Gate(len(REPLY.partition(" Then")[0].split(" "))), Gate(2)
    provider.answers += [
        Answer(REPLY, gate=gate, usage=(900, 80, 0)),
        Answer("one two three four", gate=second),
    ]
    narrow = columns < 60
    foot = "%" if narrow else "compacts at 90%"
    terminal = chat("--context-length", "4000")
    record.keep("The first prompt", terminal, "new agent", foot)
    terminal.send("/")
    record.keep("A slash", terminal, "/help", "/forget" if narrow else "/exit", foot)
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
    again = chat("--context-length", "4000")
    record.keep("The next session", again, "loaded", "just now", foot)
    record.compare()


def test_the_screens_of_every_key_and_command(  # noqa: PLR0915 - one session
    chat: Chat, provider: Provider, size: tuple[int, int], tmp_path: Path, workspace: Path
) -> None:
    talked_before(workspace / "agents" / "Ada")
    record = Record(FOLDER / f"commands_{size[0]}x{size[1]}.txt", size[1])
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf " and in the autumn" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    (tmp_path / "notes").mkdir()
    there = {"EDITOR": str(editor), "VISUAL": None, "HOME": str(tmp_path / "notes"), "DISPLAY": None}
    terminal = chat(
        "--context-length", "4000", folder=tmp_path / "notes", environment={**there, "WAYLAND_DISPLAY": None}
    )

    def times(text: str) -> int:
        return flowing(terminal.transcript()).count(text)

    def more_often(text: str, before: int) -> bool:
        return flowing([*terminal.screen.scrollback, *terminal.lines_unlocked()]).count(text) > before

    def step(
        title: str, keys: str, *shown: str, gone: str = "", answer: Answer | str = "", sends: bool = True
    ) -> None:
        if answer:
            provider.answers.append(answer)
        asked = len(provider.asked)
        before = [times(text) for text in shown]
        terminal.send(f"{keys}\r" if sends else keys)
        if answer:
            provider.wait_for(asked + 1)
        for text, often in zip(shown, before, strict=True):
            terminal.wait_until(partial(more_often, text, often))
        if gone:
            terminal.wait_gone(gone)
        terminal.wait_prompt()
        record.keep(title, terminal, "/4k")

    step("A message of two rows: Alt-Enter", "Rome in spring?\x1b\rMay or April?", "heat.", answer=RAIN)
    step("Ctrl-T", "\x14", "weather", sends=False)
    step("The last message again: Up", "\x1b[A", "April?", sends=False)
    step("Ctrl-X Ctrl-E", "\x18\x05", "autumn", sends=False)
    step("Ctrl-C", "\x03", gone="autumn", sends=False)
    step("Ctrl-R", "\x12spring", "backward", "spring", sends=False)
    step("Ctrl-G", "\x07\x03", gone="backward", sends=False)
    terminal.paste("And where\nto stay?")
    step("A paste", "", "stay?", sends=False)
    step("Sent", "", "rome", answer="Trastevere: `ls` it.\n\n```sh\nls -l rome\n```")
    step("Tab", "/to\t", "kens", sends=False)
    step("/tokens", "", "last cost")
    step("/help", "/help", "leave")
    step("/show 1", "/show 1", "#8")
    step("/search spring", "/search spring", "before")
    step("/copy", "/copy", "copied")
    step("/copy code", "/copy code", "copied 11 characters")
    step("/model", "/model", "context of 4,000 tokens")
    step("/system", "/system Answer in one word.", "is replaced")
    step("/retry", "/retry", "Monti.", answer="Monti.")
    step("/edit", "/edit", "it will replace", "stay?")
    step("/edit, sent", "\x17there?", "There.", answer="There.")
    step("/export", "/export rome.md", "wrote")
    step("/export again", "/export rome.md", "exists")
    step("/multiline", "/multiline", "Alt-Enter sends")
    step("/multiline off", "/multiline\x1b", "Enter sends,")
    step("/compact", "/compact the season", "details kept", answer="Rome: April.")
    step("/archives", "/archives", "kB")
    step("/archives latest", "/archives latest", "There.")
    step("/undo compaction", "/undo compaction", "again as in")
    step("/undo", "/undo", "took back")
    terminal.send("/forget spring\r")
    record.keep("/forget asks", terminal, "for good?")
    step("/forget", "y", "forgot 1 entry")
    step("An unknown command", "/nothing", "no command")
    terminal.send("/exit\r")
    assert terminal.wait_end() == 0
    record.compare()
