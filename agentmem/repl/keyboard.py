"""The keyboard while no prompt is open: nothing is echoed, nothing typed ahead is lost."""

from __future__ import annotations

import array
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from agentmem.repl.region import SHOW_CURSOR

if sys.platform != "win32":
    import fcntl
    import termios

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TextIO

PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"


class Keyboard:
    """A terminal's input, which the next prompt will read.

    Keys stay in the terminal's queue as they were typed, Enter as Enter. Only Ctrl-C and Ctrl-Z act at once,
    and do not throw the queue away.
    """

    def __init__(self, keys: TextIO, screen: TextIO) -> None:
        self._keys = keys
        self._screen = screen
        self._before: list[Any] | None = None
        self._holds = False

    def hold(self) -> None:
        """Stop the echo and begin to collect."""
        self._holds = True
        if sys.platform == "win32":
            return
        with suppress(termios.error, ValueError, OSError):
            mode = termios.tcgetattr(self._keys)
            self._before = list(mode)
            mode[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
            mode[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
            mode[3] |= termios.ISIG | termios.NOFLSH
            # TCSANOW keeps what was typed before.
            termios.tcsetattr(self._keys, termios.TCSANOW, mode)

    def release(self, *, forget: bool = False) -> bool:
        """Put the terminal back as it was; what was typed waits for whoever reads next.

        Args:
            forget: throw it away instead.

        Returns:
            Whether anything had been held.
        """
        if not self._holds:
            return False
        self._holds = False
        self.write(PASTE_OFF + SHOW_CURSOR)
        if sys.platform != "win32" and self._before is not None:
            with suppress(termios.error, ValueError, OSError):
                termios.tcsetattr(self._keys, termios.TCSAFLUSH if forget else termios.TCSANOW, self._before)
        return True

    def waiting(self) -> int:
        """Return how many bytes were typed and not yet read."""
        if sys.platform == "win32" or not self._holds:
            return 0
        found = array.array("i", [0])
        with suppress(OSError, ValueError):
            fcntl.ioctl(self._keys, termios.FIONREAD, found)
        return found[0]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Collect keys for as long as the context lasts."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    def write(self, switch: str) -> None:
        """Switch something on or off; a terminal that is gone does not mind."""
        with suppress(OSError, ValueError):
            # Not through the stream, which a signal's handler may have interrupted in the midst of a write.
            os.write(self._screen.fileno(), switch.encode())
