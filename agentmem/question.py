"""A question on a terminal, which the person answers with a line."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.display import visible_line
from agentmem.interruptions import resumed

if TYPE_CHECKING:
    from typing import TextIO

_ANSWER_CELLS = 8
_PIECE = 4096


def ask(question: str, out: TextIO, *, at_end: str = "") -> str:
    """Ask, and ask again when the program goes on after Ctrl-Z.

    Args:
        question: what to ask; wrapped between words where the terminal is narrow.
        out: the terminal.
        at_end: what is returned when the input ends instead.

    Returns:
        The answer in lower case.

    Raises:
        KeyboardInterrupt: Ctrl-C, or the terminal was closed.
    """
    width = max(_ANSWER_CELLS, shutil.get_terminal_size().columns - _ANSWER_CELLS)
    shown = textwrap.fill(visible_line(question), width, break_long_words=False, break_on_hyphens=False)

    def show() -> None:
        # Straight to the terminal: a signal's handler must not use a stream that is being written to.
        os.write(out.fileno(), f"{shown} ".encode(out.encoding, "replace"))

    out.flush()
    line = ""
    try:
        with resumed(show):
            show()
            line = read_line()
    except OSError:
        raise KeyboardInterrupt from None
    finally:
        if not line:
            _end_row(out)
    return line.strip().casefold() if line else at_end


def _end_row(out: TextIO) -> None:
    with suppress(OSError):  # the terminal is gone
        os.write(out.fileno(), b"\n")


def read_line() -> str:
    """Return a line that is typed, with its end; "" when the input ends.

    Raises:
        OSError: the terminal was closed.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    line = b""
    # Keys typed while a shell had the terminal, before `fg`, come as they were typed: Enter as a carriage
    # return, for which `readline` would wait in vain.
    while not line.endswith((b"\n", b"\r")):
        piece = os.read(sys.stdin.fileno(), _PIECE)
        if not piece:
            break
        line += piece
    return line.decode(sys.stdin.encoding, "replace").replace("\r", "\n")
