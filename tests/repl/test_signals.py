from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from agentmem.interruptions import uninterrupted
from agentmem.memory import Memory
from agentmem.repl.signals import Ended, Signals

if TYPE_CHECKING:
    from pathlib import Path


def quiet() -> Signals:
    return Signals(lambda: None, lambda: None, lambda _error: False)


def press(number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to ourselves and let its handler run."""
    os.kill(os.getpid(), number)
    threading.Event().wait(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_while_an_entry_is_written_a_signal_waits(tmp_path: Path, number: signal.Signals) -> None:
    came = []

    def redact(text: str) -> str:  # called in the midst of an append
        press(number)
        came.append(number)
        return text

    memory = Memory(tmp_path / "Ada", redact=redact)
    signals = quiet()
    signals.begin_turn()
    with signals.handled(), pytest.raises((KeyboardInterrupt, Ended)), uninterrupted():
        memory.append("User", "hello")
    assert came
    assert [each.text for each in memory.read().entries] == ["hello"]


def test_the_second_ctrl_c_is_ignored_and_the_third_is_not() -> None:
    signals = quiet()
    with signals.handled():
        for _ in range(2):
            signals.begin_turn()
            with pytest.raises(KeyboardInterrupt):
                press()
            press()
            with pytest.raises(KeyboardInterrupt):
                press()


def test_handlers_are_put_back_and_an_ignored_signal_stays_ignored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with quiet().handled():
            assert signal.getsignal(signal.SIGTERM) != before
            press(signal.SIGHUP)
        assert signal.getsignal(signal.SIGTERM) == before
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, ignored)


def test_a_signal_that_comes_as_the_prompt_closes_is_not_lost() -> None:
    signals = Signals(lambda: None, lambda: None, lambda _error: True)  # a prompt that no longer ends
    with signals.handled():
        press(signal.SIGTERM)
        with pytest.raises(Ended) as ended:
            signals.end_if_asked()
    assert ended.value.number == signal.SIGTERM
