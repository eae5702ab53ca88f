"""A program on a real pseudo-terminal, seen as a person sees it: rows of text and a scrollback."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
import time
from typing import TYPE_CHECKING

import pexpect
import pyte
import pyte.modes

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

LIMIT = float(os.environ.get("TERMINAL_LIMIT", "60"))
"""Seconds to wait for anything; only a hang ever takes this long."""

BRACKETED_PASTE = 2004 << 5


class Screen(pyte.Screen):  # type: ignore[misc]  # pyte has no types
    """A screen that keeps what scrolls off its top and resizes as xterm does, without reflow."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        self.scrollback: list[str] = []
        self._answer = answer
        self.lines: int
        self.columns: int
        super().__init__(columns, rows)

    def write_process_input(self, data: str) -> None:
        """Answer a query, such as the one for the cursor's position."""
        self._answer(data)

    def index(self) -> None:
        """Move down a row; at the bottom the top row goes to the scrollback."""
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0:
            self.scrollback.append(self.row(0))
        super().index()

    def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
        """Erase; 3 is the scrollback."""
        if how == 3:
            self.scrollback.clear()
        super().erase_in_display(how, *args, **kwargs)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Take a new size: rows above go to the scrollback where the cursor would fall off the bottom."""
        lines, columns = lines or self.lines, columns or self.columns
        gone = max(0, self.cursor.y - (lines - 1))
        self.scrollback += [self.row(y) for y in range(gone)]
        kept = {y - gone: row for y, row in self.buffer.items() if gone <= y < gone + lines}
        self.buffer.clear()
        self.buffer.update(kept)
        for row in self.buffer.values():
            for x in [x for x in row if x >= columns]:
                del row[x]
        self.lines, self.columns = lines, columns
        self.cursor.y -= gone
        self.cursor.x = min(self.cursor.x, columns - 1)
        self.set_margins()

    def row(self, y: int) -> str:
        """Return a row's text without the blanks at its end."""
        # pyte keeps an empty cell behind each wide character, so joining the cells is the text.
        return "".join(self.buffer[y][x].data for x in range(self.columns)).rstrip()


class Terminal:
    """Run a command on a pseudo-terminal and look at its screen.

    Args:
        columns: the width in cells.
        rows: the height in cells.
        answers: reply to the cursor-position query, as most terminals do.
        environment: added to a clean one; a value of None removes a variable.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        answers: bool = True,
        environment: Mapping[str, str | None] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._answers = answers
        self._changed = threading.Condition()
        self._ended = False
        self.raw = bytearray()
        self.screen = Screen(columns, rows, self._answer)
        self._stream = pyte.ByteStream(self.screen)
        self._child = pexpect.spawn(
            command[0],
            list(command[1:]),
            dimensions=(rows, columns),
            env=clean_environment(environment or {}),
            cwd=str(folder) if folder else None,
            encoding=None,
        )
        self._child.delaybeforesend = None
        self.first_modes = self.modes()
        self._wake, self._woken = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return int(self._child.pid or 0)

    def modes(self) -> list[object]:
        """Return the terminal's modes, as `stty` shows them."""
        return termios.tcgetattr(self._child.child_fd)

    def lines(self) -> list[str]:
        """Return the screen's rows, without blanks at their ends."""
        with self._changed:
            return [self.screen.row(y) for y in range(self.screen.lines)]

    def transcript(self) -> list[str]:
        """Return everything written so far: the scrollback, then the screen without its empty end."""
        with self._changed:
            rows = [*self.screen.scrollback, *self.lines_unlocked()]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def lines_unlocked(self) -> list[str]:
        """Return the rows for a caller that already keeps the reader out."""
        return [self.screen.row(y) for y in range(self.screen.lines)]

    def __str__(self) -> str:
        return "\n".join(self.transcript())

    @property
    def cursor_hidden(self) -> bool:
        """Whether the cursor cannot be seen."""
        return pyte.modes.DECTCEM not in self.screen.mode

    @property
    def bracketed_paste(self) -> bool:
        """Whether pastes come in brackets: the sign of a prompt."""
        return BRACKETED_PASTE in self.screen.mode

    def send(self, keys: str | bytes) -> None:
        """Type."""
        self._child.send(keys if isinstance(keys, bytes) else keys.encode())

    def paste(self, text: str) -> None:
        """Paste as a terminal does when brackets are on."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self.pid, number)

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size."""
        with self._changed:
            self.screen.resize(rows, columns)
            self._child.setwinsize(rows, columns)

    def wait_until(self, true: Callable[[], object], limit: float = LIMIT) -> None:
        """Wait until `true()`, looked at whenever the screen changes.

        Raises:
            AssertionError: the limit passed or the process ended; the message shows the screen.
        """
        end = time.monotonic() + limit
        with self._changed:
            while not true():
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    why = "the program ended" if self._ended else f"nothing for {limit:g} s"
                    rows = [*self.screen.scrollback[-40:], "-" * 20, *self.lines_unlocked()]
                    raise AssertionError("\n".join([f"{why}; the screen:", *rows]))
                self._changed.wait(min(left, 1.0))

    def wait_for(self, text: str, limit: float = LIMIT) -> None:
        """Wait until the screen shows the text, in one row or wrapped between words."""
        self.wait_until(lambda: text in flowing(self.lines_unlocked()), limit)

    def wait_said(self, text: str, limit: float = LIMIT) -> None:
        """Wait until the screen shows the text or did before it went to the scrollback."""
        self.wait_until(
            lambda: text in flowing([*self.screen.scrollback, *self.lines_unlocked()]),
            limit,
        )

    def wait_gone(self, text: str, limit: float = LIMIT) -> None:
        """Wait until the screen does not show the text."""
        self.wait_until(lambda: text not in flowing(self.lines_unlocked()), limit)

    def wait_prompt(self, limit: float = LIMIT) -> None:
        """Wait until keys are wanted: brackets are on and the cursor is shown."""
        self.wait_until(lambda: self.bracketed_paste and not self.cursor_hidden, limit)

    def wait_end(self, limit: float = LIMIT) -> int:
        """Wait until the process ends and return its exit status, or minus the signal that ended it."""
        self._reader.join(limit)
        if self._reader.is_alive():
            raise AssertionError("\n".join(["still running; the screen:", *self.lines()]))
        self._child.wait()
        if self._child.signalstatus is not None:
            return -int(self._child.signalstatus)
        return int(self._child.exitstatus or 0)

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does."""
        self._stop_reading()
        os.close(self._child.child_fd)

    def _stop_reading(self) -> None:
        os.write(self._woken, b"\0")
        self._reader.join(LIMIT)

    def close(self) -> None:
        """End the process if it still runs."""
        self._stop_reading()
        with contextlib.suppress(OSError, pexpect.ExceptionPexpect):
            self._child.close(force=True)
        os.close(self._wake)
        os.close(self._woken)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, reply: str) -> None:
        if self._answers:
            with contextlib.suppress(OSError, ValueError):  # nobody is left to read it
                self._child.send(reply.encode())

    def _read(self) -> None:
        while True:
            # Not read alone: a read that is under way would keep the terminal open.
            ready, _, _ = select.select([self._child.child_fd, self._wake], [], [])
            if self._wake in ready:
                return
            try:
                piece = os.read(self._child.child_fd, 65536)
            except OSError:
                piece = b""
            with self._changed:
                if not piece:
                    self._ended = True
                else:
                    self.raw += piece
                    self._stream.feed(piece)
                self._changed.notify_all()
            if not piece:
                return


def flowing(rows: Iterable[str]) -> str:
    """Return rows as running text: as they stand, then with every wrap and gap a single blank."""
    shown = "\n".join(rows)
    return f"{shown}\n{' '.join(shown.split())}"


def clean_environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment without what would change how a program draws, then changed as asked."""
    drop = {"NO_COLOR", "COLUMNS", "LINES", "COLORTERM", "PAGER", "EDITOR", "VISUAL", "CI", "TMUX"}
    wanted: dict[str, str | None] = {key: value for key, value in os.environ.items() if key not in drop}
    wanted |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"}
    wanted |= changes
    return {key: value for key, value in wanted.items() if value is not None}
