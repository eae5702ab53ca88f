from __future__ import annotations

from typing import TYPE_CHECKING

from tests.loopback import Answer, Gate, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.loopback import Provider
    from tests.terminal import Terminal

    Chat = Callable[..., Terminal]
    Memory = Callable[[], str]

BAR = "Ada · gpt-4o · "


def bar(terminal: Terminal) -> str:
    return next((row for row in terminal.lines() if "Ada · " in row and "%" in row), "")


def row_below(terminal: Terminal, start: str) -> str:
    rows = iter(terminal.lines())
    return next(rows) if any(row.startswith(start) for row in rows) else ""


def test_a_reply_streams_with_the_bar_beneath_and_is_remembered(
    chat: Chat, provider: Provider, memory: Memory
) -> None:
    gate = Gate(3)
    provider.answers.append(Answer("one two three four five " * 300, gate=gate))
    terminal = chat("--context-length", "4000")
    before = bar(terminal)
    terminal.send("hello\r")
    terminal.wait_for("one two three")
    gate.wait_until_reached()
    terminal.wait_until(lambda: BAR in row_below(terminal, "one two"))
    early = bar(terminal)
    gate.allow(1000)
    terminal.wait_until(lambda: "~1.2k/4k" in bar(terminal))
    gate.open()
    terminal.wait_prompt()
    terminal.wait_until(lambda: bar(terminal).startswith(BAR))
    assert len({before[2:], early[2:], bar(terminal)[2:]}) == 3
    assert memory().count("one two three four five") == 300
    terminal.send("\x04")
    assert terminal.wait_end() == 0


def test_what_is_typed_ahead_is_not_lost(chat: Chat, provider: Provider) -> None:
    gate = Gate(1)
    provider.answers += [Answer("one two", gate=gate), "second reply"]
    terminal = chat()
    terminal.send("first\r")
    terminal.wait_for("one")
    terminal.send("typed ahead\rand this stays")
    terminal.paste("two\nlines")
    gate.open()
    terminal.wait_for("second reply")
    terminal.wait_for("and this staystwo")
    terminal.wait_for("lines")
    assert provider.asked[-1].messages[-1]["content"].endswith("typed ahead")


def test_ctrl_c_does_not_lose_what_was_typed_ahead(chat: Chat, provider: Provider) -> None:
    provider.answers.append(Answer("one two", gate=Gate(1)))
    terminal = chat()
    terminal.send("first\r")
    terminal.wait_for("one")
    terminal.send("kept")
    terminal.wait_for(" · 4 typed ahead")
    terminal.send("\x03")
    terminal.wait_for("interrupted")
    terminal.wait_for("\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} kept")


def test_the_next_session_says_what_it_loaded(chat: Chat, provider: Provider) -> None:
    provider.answers += ["noted", "your cat is Tom"]
    terminal = chat()
    terminal.wait_for("new agent")
    terminal.send("my cat is Tom\r")
    terminal.wait_for("noted")
    terminal.wait_prompt()
    terminal.send("\x04")
    assert terminal.wait_end() == 0
    again = chat()
    again.wait_for("2 entries loaded · ~")
    again.wait_for("last seen just now")
    again.send("who is my cat?\r")
    again.wait_for("your cat is Tom")
    assert "my cat is Tom" in provider.asked[-1].text


def test_an_error_is_one_line_and_the_talk_goes_on(chat: Chat, provider: Provider) -> None:
    provider.answers += [Refusal(401, "bad key"), "works now"]
    terminal = chat()
    terminal.send("hello\r")
    terminal.wait_for("error: ")
    terminal.wait_prompt()
    terminal.send("again\r")
    terminal.wait_for("works now")
    assert "Traceback" not in str(terminal)


def test_history_is_private_and_comes_back(chat: Chat, provider: Provider, workspace: Path) -> None:
    provider.answers.append("ok")
    terminal = chat()
    terminal.send("a line to find again\r")
    terminal.wait_for("ok")
    terminal.wait_prompt()
    terminal.send("\x04")
    terminal.wait_end()
    path = workspace / "agents" / "Ada" / ".agentmem" / "history"
    assert path.stat().st_mode & 0o777 == 0o600
    again = chat()
    again.send("\x12")  # Ctrl-R
    again.wait_for("search")
    again.send("find")
    again.wait_for("a line to find again")


def test_no_memory_keeps_no_history_either(chat: Chat, provider: Provider, workspace: Path) -> None:
    provider.answers.append("ok")
    terminal = chat("--no-memory")
    terminal.send("a secret\r")
    terminal.wait_for("ok")
    terminal.wait_prompt()
    terminal.send("\x04")
    terminal.wait_end()
    assert not (workspace / "agents").exists()
