"""What Ctrl-C and the signals that end or stop a program do while no prompt is open."""

from __future__ import annotations

import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from agentmem.interruptions import stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_IMPATIENT = 3
"""Ctrl-C this often ends a turn that does not stop."""


class Ended(BaseException):
    """The program is to end: SIGTERM, or SIGHUP for a terminal that was closed.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Signals:
    """Handlers for the length of a session.

    The first Ctrl-C of a turn interrupts it; while an entry is being written, once that is done (see
    `agentmem.interruptions`). The second is ignored, for what came is being saved; the third interrupts
    that too.

    Args:
        pause: called before the program stops for Ctrl-Z.
        resume: called when it goes on.
        leave_prompt: ends an open prompt with an error; returns False where none is open.
    """

    def __init__(
        self,
        pause: Callable[[], None],
        resume: Callable[[], None],
        leave_prompt: Callable[[BaseException], bool],
    ) -> None:
        self._leave_prompt = leave_prompt
        self._pause = pause
        self._resume = resume
        self._presses = 0
        self._ending = 0  # the signal's number

    def begin_turn(self) -> None:
        """Let the next Ctrl-C interrupt."""
        self._presses = 0

    def end_if_asked(self) -> None:
        """Raise `Ended` for a signal that came as the prompt was closing, too late to end it."""
        if self._ending:
            raise Ended(self._ending)

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle signals while the context lasts."""
        wanted = {"SIGINT": self._interrupt, "SIGTERM": self._end, "SIGHUP": self._end, "SIGTSTP": self._stop}
        before = {}
        for name, handler in wanted.items():
            number = getattr(signal, name, None)
            # Someone who ignores a signal, such as nohup, meant it.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
        try:
            yield
        finally:
            for number, previous in before.items():
                signal.signal(number, previous)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._presses += 1
        if self._presses == 1 or self._presses >= _IMPATIENT:
            raise KeyboardInterrupt

    def _end(self, number: int, _frame: FrameType | None) -> None:
        if not self._ending:
            self._ending = number
            if not self._leave_prompt(Ended(number)):
                raise Ended(number)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._pause()
        stop()
        with suppress(OSError):
            self._resume()
