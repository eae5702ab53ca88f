"""Compaction as a person at the prompt meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loopback import Provider
    from tests.terminal import Terminal

    Chat = Callable[..., Terminal]


def test_a_system_prompt_larger_than_the_trigger_is_said_once_and_the_chat_goes_on(
    chat: Chat, provider: Provider
) -> None:
    provider.answers += ["first of all", "second of all", "third of all"]
    terminal = chat("-s", "You are a lighthouse. " * 300, "--threshold", "0.1", "--context-length", "8000")
    for said in ("first", "second", "third"):
        terminal.send("and now?\r")
        terminal.wait_for(f"{said} of all")
        terminal.wait_prompt()
    shown = " ".join(" ".join(terminal.transcript()).split())
    assert shown.count("there is nothing it could do") == 1
    assert len(provider.asked) == 3


def test_a_system_prompt_larger_than_the_window_is_refused_each_time_without_a_call(
    chat: Chat, provider: Provider
) -> None:
    terminal = chat("-s", "You are a lighthouse. " * 300, "--context-length", "1000", ready=False)
    terminal.send("and now?\r")
    terminal.wait_for("shorten them")
    terminal.wait_prompt()
    assert provider.asked == []
