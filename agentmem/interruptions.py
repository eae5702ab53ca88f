"""Signals at awkward moments: put off while something must not be left half done, or obeyed and made good."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that the program handles wait for the end of the block.

    Blocking them for this thread would not do: another thread then receives them, and Python runs the
    handler in the main one all the same. Threads other than the main one are never interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            handled[signal.Signals(number)](number, frame)


def stop() -> None:
    """Stop the program as Ctrl-Z does, from the handler of its signal; returns when it goes on."""
    ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        signal.raise_signal(signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, ours)


@contextmanager
def resumed(again: Callable[[], None]) -> Iterator[None]:
    """Call this whenever the program goes on after Ctrl-Z, for the length of the block."""
    if not hasattr(signal, "SIGTSTP") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(_number: int, _frame: FrameType | None) -> None:
        stop()
        again()

    before = signal.getsignal(signal.SIGTSTP)
    # Someone who ignores the signal meant it.
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
