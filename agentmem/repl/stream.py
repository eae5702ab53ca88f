"""A reply as it arrives: finished blocks once, the last few rows redrawn, the token bar beneath.

A thread of its own draws, so that Ctrl-C never tears a frame, a slow terminal never slows the model, and
the rows are up to date although no further piece comes. How often it draws follows from what drawing costs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from agentmem.display import Visible, visible
from agentmem.repl.region import HIDE_CURSOR, SHOW_CURSOR, Region
from agentmem.repl.rows import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from agentmem.repl.flow import Flow
    from agentmem.repl.markdown import Canvas
    from agentmem.repl.region import Line

_FRAME = 0.066
"""Seconds from one frame to the next, at least."""
_BUSY = 0.1
"""Share of the time that drawing may take."""
_BYTES_PER_BYTE = 2.3
"""Bytes sent for each byte of the text from which frames come more rarely."""
_BYTES_AT_ONCE = 2000
_RARE_FRAME = 0.5
_THOUGHT_ROWS = 3
"""Rows of reasoning that are shown while it goes on."""


class Reply(Protocol):
    """Where a reply is shown."""

    def text(self, piece: str) -> None:
        """Take a piece of the reply."""

    def thought(self, piece: str) -> None:
        """Take a piece of what the model thinks aloud."""

    def note(self, text: str) -> None:
        """Show one line that is not part of the reply, such as a tool call."""

    def close(self, ending: str = "") -> None:
        """Show what is left, and one dim line at the end."""


class PlainReply:
    """A reply as plain text: for pipes, files and terminals that cannot move their cursor."""

    def __init__(self, out: TextIO, notices: TextIO) -> None:
        self._out = out
        self._notices = notices
        self._visible = Visible()
        self._open = False

    def text(self, piece: str) -> None:
        """Write a piece of the reply."""
        self._write(self._visible.feed(piece))

    def thought(self, piece: str) -> None:
        """Leave out what the model thinks aloud."""

    def note(self, text: str) -> None:
        """Write a line to the notices."""
        self._end_line()
        print(visible(text), file=self._notices, flush=True)

    def close(self, ending: str = "") -> None:
        """End the line, and write the ending to the notices."""
        self._write(self._visible.flush())
        self._end_line()
        if ending:
            print(visible(ending), file=self._notices, flush=True)

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._open = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._open:
            self._write("\n")


class LiveReply:
    """A reply drawn on a terminal while it arrives.

    Args:
        out: the terminal.
        canvas: gives the Markdown renderer; called by the drawing thread, for loading it takes a while.
        status: the row beneath, such as the bar, for a width and a number of the frame.
        size: columns and rows of the terminal.
    """

    def __init__(
        self,
        out: TextIO,
        canvas: Callable[[], Canvas],
        status: Callable[[int, int], Line],
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self._out = out
        self._make_canvas = canvas
        self._status = status
        self._size = size or (lambda: terminal_size(out))
        self._region = Region(self._write)
        self._visible = Visible()
        self._changed = threading.Condition()
        self._drawing = threading.RLock()
        self._pauses = 0
        self._said: list[str] = []
        self._failed = False
        self._pieces: list[tuple[str, str]] = []
        self._closed = False
        self._flow: Flow | None = None
        self._thoughts = ""
        self._thinking_since = 0.0
        self._taken = 0  # bytes of text so far
        self.cpu = 0.0
        self._thread = threading.Thread(target=self._run, name="reply", daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        """Bytes sent to the terminal."""
        return self._region.written

    def text(self, piece: str) -> None:
        """Take a piece of the reply."""
        self._said.append(piece)
        self._take("text", piece)

    def thought(self, piece: str) -> None:
        """Take a piece of what the model thinks aloud."""
        self._take("thought", piece)

    def note(self, text: str) -> None:
        """Take a line that is not part of the reply."""
        self._take("note", text)

    def close(self, ending: str = "") -> None:
        """Draw what is left and remove the bar; the cursor is below the reply."""
        if self._closed:
            return
        with self._changed:
            if ending:
                self._pieces.append(("note", ending))
            self._closed = True
            self._changed.notify()
        while self._thread.is_alive():
            # A Ctrl-C this late has nothing left to interrupt, and the next prompt must not be drawn into.
            with suppress(KeyboardInterrupt):
                self._thread.join()
        if self._failed:
            self._region.erase()
            self._write("".join(f"{text}\n" for text in visible("".join(self._said)).split("\n")))

    def pause(self) -> None:
        """Take the bar and the open rows off the screen, and draw no more until `resume`; both nest."""
        self._pauses += 1
        with self._drawing:
            self._region.erase()
            self._write(SHOW_CURSOR)

    def draw_now(self) -> None:
        """Draw at once what has been taken."""
        with self._drawing:
            if not self._pauses and not self._failed:
                try:
                    self._frame(0)
                except Exception:  # noqa: BLE001 - as in the thread, which then says it whole
                    self._failed = True

    def resume(self) -> None:
        """Draw again."""
        self._pauses -= 1
        if not self._pauses:
            self._write(HIDE_CURSOR)

    def _take(self, kind: str, text: str) -> None:
        with self._changed:
            self._pieces.append((kind, text))
            self._changed.notify()

    # Drawing, in the thread

    def _run(self) -> None:
        self._write(HIDE_CURSOR)
        try:
            frame = 0
            while True:
                with self._drawing:
                    # The end is drawn even where an interruption left a pause without its `resume`.
                    if self._failed or ((self._closed or not self._pauses) and self._frame(frame)):
                        break
                frame += 1
                self._wait(self._interval())
        except Exception:  # noqa: BLE001 - whatever the text did to the renderer, it must be readable
            self._failed = True
        finally:
            self._write(SHOW_CURSOR)

    def _wait(self, seconds: float) -> None:
        """Wait for the next frame's time, or the end."""
        end = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)
            # Nothing new: the spinner turns a few times a second.
            if not self._closed and not self._pieces:
                self._changed.wait_for(
                    lambda: self._closed or self._pieces, max(0.0, end + 0.2 - time.monotonic())
                )

    def _interval(self) -> float:
        pause = max(_FRAME, self._cost / _BUSY)
        if self._region.written > _BYTES_PER_BYTE * self._taken + _BYTES_AT_ONCE:
            return max(pause, _RARE_FRAME)
        return pause

    def _frame(self, number: int) -> bool:
        """Draw once; returns whether it was the last frame."""
        started = time.thread_time()
        with self._changed:
            pieces, self._pieces = self._pieces, []
            last = self._closed
        size = self._size()
        finished = self._settle(pieces, size, last=last)
        live: list[Line] = []
        if not last:
            live = self._live(size)
            live.append(self._status(size[0], number))
        self._region.draw(finished, live, size)
        self._cost = time.thread_time() - started
        self.cpu += self._cost
        return last

    def _settle(self, pieces: Sequence[tuple[str, str]], size: tuple[int, int], *, last: bool) -> list[Line]:
        """Take the pieces in and return the rows that became final."""
        rows: list[Line] = []
        for kind, piece in pieces:
            self._taken += len(piece.encode("utf-8", "replace"))
            if kind == "thought":
                if not self._thoughts:
                    self._thinking_since = time.monotonic()
                self._thoughts += piece
                continue
            rows += self._end_thought()
            if kind == "text":
                self._reply(size).feed(self._visible.feed(piece))
            else:
                rows += self._end_reply(size)
                for line in visible(piece).split("\n"):
                    rows += wrapped((("2", line),), size[0])
        if self._flow:
            self._flow.width = size[0]
            rows += self._flow.take()
        if last:
            rows += self._end_thought()
            rows += self._end_reply(size)
        return rows

    def _reply(self, size: tuple[int, int]) -> Flow:
        if self._flow is None:
            from agentmem.repl.flow import Flow

            self._flow = Flow(self._make_canvas(), size[0])
        return self._flow

    def _end_reply(self, size: tuple[int, int]) -> list[Line]:
        if self._flow is None:
            return []
        self._flow.width = size[0]
        self._flow.feed(self._visible.flush())
        rows = self._flow.close()
        self._flow = None
        return rows

    def _end_thought(self) -> list[Line]:
        if not self._thoughts:
            return []
        words = len(self._thoughts.split())
        self._thoughts = ""
        return [(("2", f"(thought for {time.monotonic() - self._thinking_since:.0f} s, {words} words)"),)]

    def _live(self, size: tuple[int, int]) -> list[Line]:
        columns, rows = size
        room = max(1, rows - 2)
        if self._thoughts:
            shown = _wrapped(visible(self._thoughts), columns)[-min(_THOUGHT_ROWS, room) :]
            return [(("2;3", row),) for row in shown]
        live = self._flow.live() if self._flow else []
        if len(live) > room:
            # Move in steps: each move redraws every row.
            step = max(1, room // 2)
            live = live[-(-(len(live) - room) // step) * step :]
        return live

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):
            # The terminal is gone; what is said is kept all the same.
            self._out = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the reply

    _cost = 0.0


def terminal_size(out: TextIO) -> tuple[int, int]:
    """Return columns and rows of the terminal, and 80 by 24 for what has none; `COLUMNS` can ask for fewer."""
    try:
        columns, rows = os.get_terminal_size(out.fileno())
    except (OSError, ValueError):
        columns, rows = 0, 0
    wanted = os.environ.get("COLUMNS", "")
    columns = columns or 80
    return min(columns, max(1, int(wanted))) if wanted.isdecimal() else columns, rows or 24


def _wrapped(text: str, width: int) -> list[str]:
    """Return the text's rows, cut at the width in cells."""
    from prompt_toolkit.utils import get_cwidth

    rows: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        row, taken = "", 0
        for character in line:
            cells = get_cwidth(character)
            if taken + cells > width:
                rows.append(row)
                row, taken = "", 0
            row, taken = row + character, taken + cells
        rows.append(row)
    return rows


def can_redraw(out: TextIO) -> bool:
    """Return whether the stream is a terminal whose cursor can be moved."""
    return (
        out.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}
        if sys.platform != "win32"
        else out.isatty()
    )
