from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.loopback import Answer, Gate
from tests.program import agree
from tests.repl.stalls import delays
from tests.terminal import LIMIT, Terminal, clean_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loopback import Provider

    Chat = Callable[..., Terminal]

ROOT = Path(__file__).parent.parent.parent
SIGN = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} "


def asked(provider: Provider, number: int = -1) -> str:
    content: str = provider.asked[number].messages[-1]["content"]
    return content.partition("] ")[2]


@pytest.mark.parametrize("newline", ["\x1b\r", "\n"], ids=["Alt-Enter", "Ctrl-J"])
def test_a_new_line_does_not_send(chat: Chat, provider: Provider, newline: str) -> None:
    provider.answers.append("both")
    terminal = chat()
    terminal.send(f"one{newline}two\r")
    terminal.wait_for("both")
    assert asked(provider) == "one\ntwo"


def test_a_paste_never_sends(chat: Chat, provider: Provider) -> None:
    provider.answers.append("seen")
    terminal = chat()
    terminal.paste("one\r\ntwo\rthree\n")
    terminal.wait_for("three")
    terminal.send("end\r")
    terminal.wait_for("seen")
    assert asked(provider) == "one\ntwo\nthree\nend"


def test_ctrl_c_clears_the_line_and_then_hints(chat: Chat) -> None:
    terminal = chat()
    terminal.send("never sent")
    terminal.wait_for("never sent")
    terminal.send("\x03")
    terminal.wait_gone("never sent")
    terminal.send("\x03")
    terminal.wait_for("Ctrl-D leaves")
    terminal.send("x")
    terminal.wait_gone("Ctrl-D leaves")
    terminal.send("\x03\x04")
    assert terminal.wait_end() == 0


def test_ctrl_d_on_text_deletes_a_character(chat: Chat) -> None:
    terminal = chat()
    terminal.send("abc\x01\x04")
    terminal.wait_for(f"{SIGN}bc")
    terminal.send("\x03\x04")
    assert terminal.wait_end() == 0


def test_an_editor_opens_the_message(chat: Chat, provider: Provider, tmp_path: Path) -> None:
    provider.answers.append("edited")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    terminal = chat(environment={"EDITOR": str(editor), "VISUAL": None})
    terminal.send("draft \x18\x05")
    terminal.wait_for("from the editor")
    terminal.wait_prompt()
    terminal.send("\r")
    terminal.wait_for("edited")
    assert asked(provider) == "draft from the editor"


def test_the_up_key_brings_the_last_message_back(chat: Chat, provider: Provider) -> None:
    provider.answers.append("ok")
    terminal = chat()
    terminal.send("say it again\r")
    terminal.wait_for("ok")
    terminal.wait_prompt()
    terminal.send("\x1b[A")
    terminal.wait_until(lambda: terminal.lines().count(f"{SIGN}say it again") == 2)


def test_ctrl_t_shows_what_was_thought(chat: Chat, provider: Provider) -> None:
    gate = Gate(1)
    provider.answers.append(Answer("the answer", reasoning="let me see about this", gate=gate))
    terminal = chat()
    terminal.send("why?\r")
    terminal.wait_for("let me see")
    gate.open()
    terminal.wait_for("the answer")
    terminal.wait_for("(thought for ")
    terminal.wait_gone("let me see")
    terminal.wait_prompt()
    terminal.send("\x14")
    terminal.wait_for("let me see about this")


def wait_prompts(shell: Terminal, count: int) -> None:
    """Wait until a shell has asked that often."""

    def asked_often() -> bool:
        rows = [*shell.screen.scrollback, *shell.lines_unlocked()]
        return sum(row.startswith("SHELL") for row in rows) == count

    shell.wait_until(asked_often)


def test_ctrl_z_stops_and_fg_goes_on(provider: Provider, workspace: Path) -> None:
    agree(workspace)
    gate = Gate(1)
    provider.answers.append(Answer("one two three", gate=gate))
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(shell, environment={"PS1": "SHELL "}) as terminal:
        terminal.wait_for("SHELL")
        terminal.send(f"{sys.executable} -m agentmem chat Ada -m gpt-4o\r")
        terminal.wait_for("compacts at")
        terminal.send("count\r")
        terminal.wait_for("one")
        for times in (1, 2):
            terminal.send("\x1a")
            wait_prompts(terminal, times + 1)
            assert not terminal.cursor_hidden
            assert not any("Ada ·" in row for row in terminal.lines())
            terminal.send("stty -a | tr ';' '\\n' | grep -w -o -e '-\\?echo' -e '-\\?icanon'; fg\r")
            terminal.wait_until(lambda: terminal.cursor_hidden)
            terminal.wait_for("Ada · gpt-4o")
        gate.open()
        terminal.wait_for("one two three")
        terminal.wait_prompt()
        terminal.send("\x1a")
        wait_prompts(terminal, 4)
        terminal.send("fg\r")
        terminal.wait_for("compacts at")
        terminal.send("\x04")
        wait_prompts(terminal, 5)
        assert "-echo" not in str(terminal)


@pytest.mark.parametrize("leaving", ["\x04", "/exit\r", "kill", "interrupt"])
def test_the_terminal_is_left_as_it_was(provider: Provider, workspace: Path, leaving: str) -> None:
    agree(workspace)
    script = f"stty -a; {sys.executable} -m agentmem chat Ada -m gpt-4o; stty -a; echo END"
    with Terminal(["bash", "-c", script], columns=90, rows=60) as terminal:
        terminal.wait_for("compacts at")
        if leaving in {"kill", "interrupt"}:
            provider.answers.append(Answer("one two three", gate=Gate(1)))
            terminal.send("count\r")
            terminal.wait_for("one")
            if leaving == "interrupt":
                terminal.send("\x03")
                terminal.wait_for("interrupted")
                terminal.wait_prompt()
                terminal.send("\x04")
            else:
                import psutil

                (child,) = psutil.Process(terminal.pid).children()
                child.send_signal(signal.SIGTERM)
        else:
            terminal.send(leaving)
        terminal.wait_end()
        rows = terminal.transcript()
        size = next(number for number, row in enumerate(rows) if row.startswith("speed"))
        length = next(number for number, row in enumerate(rows[size:]) if "echoke" in row) + 1
        again = max(number for number, row in enumerate(rows) if row.startswith("speed"))
        assert again > size
        assert rows[again : again + length] == rows[size : size + length]
        assert not terminal.cursor_hidden
        assert not terminal.bracketed_paste


def test_a_resize_at_the_prompt_keeps_what_was_typed(chat: Chat) -> None:
    terminal = chat()
    terminal.send("half a message")
    terminal.wait_for("half a message")
    terminal.resize(40, 10)
    terminal.wait_until(
        lambda: any("%" in row and "compacts" not in row for row in terminal.lines_unlocked())
    )
    terminal.wait_for(f"{SIGN}half a message")
    terminal.resize(100, 30)
    terminal.wait_for("compacts at")
    terminal.wait_for(f"{SIGN}half a message")


def test_keys_typed_before_the_prompt_are_there(provider: Provider, workspace: Path) -> None:
    del provider
    agree(workspace)
    with Terminal([sys.executable, "-m", "agentmem", "chat", "Ada", "-m", "gpt-4o"]) as terminal:
        terminal.send("eager")
        terminal.wait_for(f"{SIGN}eager")


def test_typing_does_not_stall_while_the_agent_is_loading(workspace: Path) -> None:
    del workspace
    late = sorted(delays())
    # The figures to reach are printed by `python -m tests.repl.stalls`; here the machine may be busy.
    assert late[len(late) // 2] < 0.5
    assert late[-1] < 3


def test_without_an_answer_about_the_cursor_the_bar_is_above(chat: Chat, provider: Provider) -> None:
    provider.answers.append("fine")
    terminal = chat(environment={"PROMPT_TOOLKIT_NO_CPR": "1"}, answers=False)
    rows = terminal.lines()
    shown = next(number for number, row in enumerate(rows) if "compacts at" in row)
    assert rows[shown + 1].startswith(SIGN.strip())
    terminal.send("hello\r")
    terminal.wait_for("fine")
    assert "WARNING" not in str(terminal)


@pytest.mark.parametrize("columns", [20, 40, 300])
def test_any_width_will_do(chat: Chat, provider: Provider, columns: int) -> None:
    provider.answers.append("a **reply** of several words that is long enough to wrap on a narrow screen")
    terminal = chat(columns=columns, rows=12)
    terminal.send("hello\r")
    terminal.wait_for("screen")
    terminal.wait_prompt()
    terminal.wait_for("%")


def test_ascii_only_where_the_locale_says_so(chat: Chat, provider: Provider) -> None:
    provider.answers.append("fine")
    terminal = chat(environment={"LANG": "C", "LC_ALL": "C"})
    terminal.send("hello\r")
    terminal.wait_for("fine")
    terminal.wait_prompt()
    terminal.wait_for("[----")
    terminal.send("\x04")
    assert terminal.wait_end() == 0
    again = chat(environment={"LANG": "C", "LC_ALL": "C"})
    again.wait_for("2 entries loaded - ~")
    assert bytes(again.raw).isascii()
    assert bytes(terminal.raw).isascii()


def test_no_color_draws_without(chat: Chat, provider: Provider) -> None:
    provider.answers.append("**bold** and `code`\n\n```py\nx = 1\n```")
    terminal = chat(environment={"NO_COLOR": "1"})
    terminal.send("hello\r")
    terminal.wait_for("x = 1")
    terminal.wait_prompt()
    terminal.send("\x04")
    terminal.wait_end()
    colours = {cell.fg for row in terminal.screen.buffer.values() for cell in row.values()}
    assert colours == {"default"}


def test_a_dumb_terminal_gets_plain_lines(provider: Provider, workspace: Path) -> None:
    agree(workspace)
    provider.answers.append("**fine**")
    with Terminal(
        [sys.executable, "-m", "agentmem", "chat", "Ada", "-m", "gpt-4o"], environment={"TERM": "dumb"}
    ) as terminal:
        terminal.wait_for(SIGN.strip())
        terminal.send("hello\r")
        terminal.wait_for("**fine**")
        terminal.send("\x04")
        assert terminal.wait_end() == 0
        assert b"\x1b[3" not in bytes(terminal.raw)


def test_replies_can_be_piped_while_keys_come_from_the_terminal(
    provider: Provider, workspace: Path, tmp_path: Path
) -> None:
    agree(workspace)
    provider.answers += ["the **first** reply", "the second"]
    target = tmp_path / "replies"
    command = f"{sys.executable} -m agentmem chat Ada -m gpt-4o > {target}"
    with Terminal(["sh", "-c", command]) as terminal:
        terminal.wait_for("new agent")
        terminal.send("hello\r")
        provider.wait_for(1)
        terminal.send("more\r/nope\r")
        provider.wait_for(2)
        terminal.wait_for("no command /nope")
        terminal.send("\x04")
        assert terminal.wait_end() == 0
    assert target.read_text(encoding="utf-8") == "the **first** reply\nthe second\n"


def test_a_closed_terminal_ends_the_program_and_keeps_what_came(provider: Provider, workspace: Path) -> None:
    agree(workspace)
    provider.answers.append(Answer("one two three", gate=Gate(2)))
    # Without the thread that reads for `Terminal`, whose read would keep the terminal open.
    child = pexpect.spawn(
        sys.executable,
        ["-m", "agentmem", "chat", "Ada", "-m", "gpt-4o"],
        env=clean_environment({"PROMPT_TOOLKIT_NO_CPR": "1"}),
        timeout=LIMIT,
        encoding="utf-8",
    )
    child.expect("compacts at")
    child.send("count\r")
    child.expect("one two")
    os.close(child.child_fd)
    _, status = os.waitpid(child.pid or 0, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    memory = (workspace / "agents" / "Ada" / "MEMORY.md").read_text(encoding="utf-8")
    assert "one two\n" in memory
    assert "<!-- interrupted -->" in memory


def test_tool_calls_are_asked_about_and_shown_on_one_line(
    chat: Chat, provider: Provider, tmp_path: Path
) -> None:
    (tmp_path / "mytools.py").write_text(
        'def weather(city: str) -> str:\n    """Weather."""\n    return f"sunny in {city}"\n',
        encoding="utf-8",
    )
    provider.answers += [Answer("looking", calls=(("weather", {"city": "Rome"}),)), "it is sunny"]
    terminal = chat(
        "--tool", "mytools:weather", "--max-loops", "auto", environment={"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    )
    terminal.send("weather?\r")
    terminal.wait_for("run it?")
    assert not terminal.cursor_hidden
    terminal.send("y\r")
    terminal.wait_for('* weather(city="Rome") → sunny in Rome')
    terminal.wait_for("it is sunny")
    terminal.wait_prompt()


@pytest.mark.parametrize("stop", ["Ctrl-C", "SIGTERM"])
def test_a_running_tool_can_be_stopped(
    chat: Chat, provider: Provider, tmp_path: Path, workspace: Path, stop: str
) -> None:
    mark = tmp_path / "running"
    (tmp_path / "mytools.py").write_text(
        "import pathlib, threading\n\n"
        'def wait() -> str:\n    """Wait."""\n'
        f"    pathlib.Path({str(mark)!r}).touch()\n    threading.Event().wait(60)\n    return 'late'\n",
        encoding="utf-8",
    )
    provider.answers.append(Answer("", calls=(("wait", {}),)))
    terminal = chat(
        "--tool",
        "mytools:wait",
        "--max-loops",
        "auto",
        "--yes",
        environment={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )
    terminal.send("wait\r")
    terminal.wait_until(lambda: mark.exists() or terminal.screen.dirty.clear())
    if stop == "SIGTERM":
        terminal.signal(signal.SIGTERM)
        assert terminal.wait_end() == 143
    else:
        terminal.send("\x03")
        terminal.wait_for("interrupted")
        terminal.wait_prompt()
    memory = (workspace / "agents" / "Ada" / "MEMORY.md").read_text(encoding="utf-8")
    assert "### Tool (wait)" in memory
    if stop == "Ctrl-C":
        terminal.send("\x04")
        assert terminal.wait_end() == 0


def test_a_compaction_in_a_turn_shows_its_progress_and_report(chat: Chat, provider: Provider) -> None:
    gate = Gate()
    provider.answers += [
        "noted " * 300,
        Answer("sunny " * 300, usage=(1400, 350, 0)),
        Answer("a short summary", gate=gate),
        "done",
    ]
    terminal = chat("--context-length", "2000")
    terminal.send("first\r")
    terminal.wait_for("noted")
    terminal.wait_prompt()
    terminal.send("second\r")
    terminal.wait_for("sunny")
    terminal.wait_prompt()
    terminal.send("and now " + "a long message " * 30 + "\r")
    terminal.wait_for("compacting")
    gate.open()
    terminal.wait_for("compacted: ")
    terminal.wait_for("done")
    shown = " ".join(terminal.transcript())
    assert shown.count("compacted: ") == 1


def test_a_terminal_with_another_character_set(chat: Chat, provider: Provider) -> None:
    provider.answers.append("caf\u00e9 \u6f22")
    terminal = chat(environment={"PYTHONIOENCODING": "latin-1", "LC_ALL": "C"})
    terminal.send("hello\r")
    terminal.wait_for("caf")
    terminal.wait_prompt()
    terminal.send("\x04")
    assert terminal.wait_end() == 0


def shows_since(terminal: Terminal, seen: int, text: str) -> bool:
    return text.encode() in bytes(terminal.raw[seen:])


def test_every_command_on_a_small_screen(chat: Chat, provider: Provider, tmp_path: Path) -> None:
    provider.answers += ["a first reply " * 40, "a second reply " * 40, "another reply", "a short summary"]
    terminal = chat("--context-length", "2000", columns=40, rows=10, folder=tmp_path)
    steps = [
        ("one", "reply"),
        ("two", "second reply"),
        ("/help", "Ctrl-D"),
        ("/tokens", "free"),
        ("/show 2", "#4"),
        ("/search reply", "reply"),
        ("/retry", "another reply"),
        ("/edit", "it will replace"),
        ("\x03/copy", "copied"),
        ("/model", "gpt-4o"),
        ("/system be brief", "replaced"),
        ("/export talk.md", "wrote"),
        ("/multiline", "Alt-Enter sends"),
        ("/multiline\x1b", "Enter sends"),
        ("/compact", "tokens"),
        ("/archives", "kB"),
        ("/undo", "again as in"),
        ("/forget #1", "for good?"),
    ]
    for typed, shown in steps:
        terminal.wait_prompt()
        seen = len(terminal.raw)
        terminal.send(f"{typed}\r")
        terminal.wait_until(partial(shows_since, terminal, seen, shown))
    terminal.send("n\n")
    terminal.wait_for("nothing was removed")
    terminal.wait_prompt()
    terminal.send("/exit\r")
    assert terminal.wait_end() == 0
