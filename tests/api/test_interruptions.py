"""A signal that arrives while something is being saved waits until it is."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from agentmem import Agent
from agentmem.interruptions import uninterrupted
from agentmem.memory import store

if TYPE_CHECKING:
    from tests.loopback import Provider


def test_ctrl_c_while_a_reply_is_saved_keeps_it_whole_and_once(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.answers.append("a whole reply")
    synced = []

    def interrupted_sync(fd: int) -> None:
        synced.append(fd)
        if len(synced) == 2:  # the message is the first entry, the reply the second
            os.kill(os.getpid(), signal.SIGINT)
        os.fsync(fd)

    with Agent("Ada", "gpt-4o") as agent:
        monkeypatch.setattr(store, "sync", interrupted_sync)
        with pytest.raises(KeyboardInterrupt):
            agent.run("hi")
        memory = agent.short_memory.memory
        assert memory
        entries = memory.read().entries
        assert [(entry.text, entry.note) for entry in entries] == [("hi", ""), ("a whole reply", "")]
        assert [turn.content for turn in agent.short_memory.turns] == ["hi", "a whole reply"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_does_not_swallow_the_signal() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, uninterrupted():  # noqa: PT012 - both happen inside
        os.kill(os.getpid(), signal.SIGINT)
        raise OSError("disk full")
    assert isinstance(caught.value.__context__, OSError)
