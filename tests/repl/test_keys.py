from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, Gate
from tests.program import agree
from tests.repl.stalls import delays
from tests.terminal import Terminal, flowing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loopback import Provider

    Chat = Callable[..., Terminal]

CHAT = (sys.executable, "-m", "agentmem", "chat", "Ada", "-m", "gpt-4o")
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
    terminal.send(", then more\r")
    terminal.wait_for("edited")
    assert asked(provider) == "draft from the editor, then more"


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


@pytest.mark.parametrize("leaving", ["\x04", "/exit\r"])
def test_the_terminal_is_left_as_it_was(
    provider: Provider, workspace: Path, size: tuple[int, int], leaving: str
) -> None:
    agree(workspace)
    command = shlex.join(CHAT)
    with Terminal(["sh", "-c", f"stty -a; {command}; stty -a"], columns=size[0], rows=size[1]) as terminal:
        terminal.wait_prompt()
        terminal.send(leaving)
        assert terminal.wait_end() == 0
        shown = flowing(terminal.transcript()).rpartition("\n")[2]
    before, *_, after = re.findall(r"speed .*? -?echoke", shown)
    assert before == after
    assert not terminal.cursor_hidden
    assert not terminal.bracketed_paste


def test_keys_typed_before_the_prompt_are_there(
    provider: Provider, workspace: Path, size: tuple[int, int]
) -> None:
    agree(workspace)
    with Terminal(CHAT, columns=size[0], rows=size[1]) as terminal:
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
    shown = next(number for number, row in enumerate(rows) if "%" in row)
    assert rows[shown + 1].startswith(SIGN.strip())
    terminal.send("hello\r")
    terminal.wait_for("fine")
    assert "WARNING" not in str(terminal)


@pytest.mark.parametrize("columns", [20, 40, 300])
def test_any_width_will_do(open_chat: Chat, provider: Provider, columns: int) -> None:
    provider.answers.append("a **reply** of several words that is long enough to wrap on a narrow screen")
    terminal = open_chat(columns=columns, rows=12)
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


def test_a_dumb_terminal_gets_plain_lines(provider: Provider, workspace: Path, size: tuple[int, int]) -> None:
    agree(workspace)
    provider.answers.append("**fine**")
    with Terminal(CHAT, columns=size[0], rows=size[1], environment={"TERM": "dumb"}) as terminal:
        terminal.wait_for(SIGN.strip())
        terminal.send("hello\r")
        terminal.wait_for("**fine**")
        terminal.send("\x04")
        assert terminal.wait_end() == 0
        assert b"\x1b[3" not in bytes(terminal.raw)


def test_replies_can_be_piped_while_keys_come_from_the_terminal(
    provider: Provider, workspace: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    agree(workspace)
    provider.answers += ["the **first** reply", "the second"]
    target = tmp_path / "replies"
    command = f"{shlex.join(CHAT)} > {target}"
    with Terminal(["sh", "-c", command], columns=size[0], rows=size[1]) as terminal:
        terminal.wait_for("new agent")
        terminal.send("hello\r")
        provider.wait_for(1)
        terminal.send("more\r/nope\r")
        provider.wait_for(2)
        terminal.wait_for("no command /nope")
        terminal.send("\x04")
        assert terminal.wait_end() == 0
    assert target.read_text(encoding="utf-8") == "the **first** reply\nthe second\n"


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


def test_plain_has_no_bar_no_colour_and_no_markdown(chat: Chat, provider: Provider) -> None:
    provider.answers.append("a **bold** reply")
    terminal = chat("--plain", ready=False)
    terminal.wait_for("new agent")
    terminal.send("\x03")
    terminal.wait_for("Ctrl-D leaves")
    terminal.send("hello\r")
    terminal.wait_for("a **bold** reply")
    terminal.wait_prompt()
    assert not any("%" in row for row in terminal.lines())
    assert {cell.fg for row in terminal.screen.buffer.values() for cell in row.values()} == {"default"}
    terminal.send("\x04")
    assert terminal.wait_end() == 0


@pytest.mark.parametrize("end", ["\r", "\x1b"], ids=["Enter", "Esc"])
def test_a_search_ends_with_what_it_found(chat: Chat, provider: Provider, end: str) -> None:
    provider.answers += ["one", "two", "three"]
    terminal = chat()
    for typed, reply in (("alpha question", "one"), ("beta question", "two")):
        terminal.send(f"{typed}\r")
        terminal.wait_for(reply)
        terminal.wait_prompt()
    terminal.send("\x12alp")
    terminal.wait_for(f"{SIGN}alpha question")
    terminal.send(end)
    terminal.wait_gone("backward")
    terminal.send("\r")
    terminal.wait_for("three")
    assert asked(provider) == "alpha question"


def test_ctrl_c_calls_a_search_off(chat: Chat) -> None:
    terminal = chat()
    terminal.send("\x12alp")
    terminal.wait_for("backward")
    terminal.send("\x03")
    terminal.wait_gone("backward")
    terminal.send("\x04")
    assert terminal.wait_end() == 0


def test_what_a_question_is_about_is_said_before_it(chat: Chat, provider: Provider, workspace: Path) -> None:
    provider.answers += ["noted", "here"]
    terminal = chat()
    path = workspace / "agents" / "Ada" / "MEMORY.md"
    older = path.read_bytes()
    terminal.send("new thing\r")
    terminal.wait_for("noted")
    terminal.wait_prompt()
    path.write_bytes(older)
    terminal.send("next\r")
    terminal.wait_for("put them back?")
    assert "no longer in" in flowing(terminal.transcript())
    terminal.send("y\r")
    terminal.wait_for("here")
    terminal.wait_prompt()
    assert "new thing" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [20, 30])
def test_help_fits_a_narrow_terminal(open_chat: Chat, columns: int) -> None:
    terminal = open_chat(columns=columns, rows=12)
    terminal.send("/help\r")
    terminal.wait_said("Ctrl-D")
    terminal.wait_said("commands and keys")
    assert "summarise the memory now, keeping FOCUS above all" in flowing(terminal.transcript())
