from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from agentmem import memory as memories
from agentmem.repl.commands import TABLE
from tests.loopback import Answer, Gate, Refusal
from tests.repl.states import talked_before
from tests.terminal import flowing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.loopback import Provider
    from tests.terminal import Terminal

    Chat = Callable[..., Terminal]
    Memory = Callable[[], str]


SIGN = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"


def say(terminal: Terminal, text: str, shows: str) -> None:
    """Send a line, wait for what it shows and for the next prompt."""
    terminal.wait_prompt()
    terminal.send(f"{text}\r")
    terminal.wait_said(shows)
    terminal.wait_prompt()


def test_help_lists_every_command_and_key(chat: Chat) -> None:
    terminal = chat()
    say(terminal, "/help", "Ctrl-D leave")
    shown = flowing(terminal.transcript())
    for command in TABLE.values():
        assert f"/{command.name} {command.argument}".rstrip() in shown
        assert command.help in shown


def test_every_command_completes_with_its_help_beside_it(chat: Chat) -> None:
    terminal = chat()
    terminal.send("/to")
    terminal.wait_for("/tokens how full the context wind")
    terminal.send("\t\r")
    terminal.wait_for("compacts at 115,200 tokens")


def test_arguments_complete_too(chat: Chat) -> None:
    terminal = chat()
    terminal.send("/undo com")
    terminal.send("\t")
    terminal.wait_for("/undo compaction")


@pytest.mark.parametrize(("typed", "shown"), [("/hlep", "did you mean /help?"), ("/xyz", "/help lists")])
def test_an_unknown_command_is_never_sent(chat: Chat, typed: str, shown: str) -> None:
    terminal = chat()
    say(terminal, typed, shown)  # the provider fixture complains about a request


def test_two_slashes_send_one(chat: Chat, provider: Provider) -> None:
    provider.answers.append("a path")
    terminal = chat()
    say(terminal, "//usr/bin", "a path")
    assert provider.asked[0].messages[-1]["content"].endswith("] /usr/bin")


def test_tokens_and_show(chat: Chat, provider: Provider) -> None:
    provider.answers.append(Answer("the **answer**", usage=(100, 7, 60)))
    terminal = chat()
    say(terminal, "question", "the answer")
    say(terminal, "/tokens", "100 tokens, 60 of them cached")
    say(terminal, "/show 1", "#2 · ")


def test_undo_takes_the_last_exchange_back(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["one", "two", "three"]
    terminal = chat()
    say(terminal, "first question", "one")
    say(terminal, "second question", "two")
    say(terminal, "/undo", "took back 2 entries: second question")
    assert "second question" not in memory()
    assert "first question" in memory()
    say(terminal, "third question", "three")
    assert "second question" not in provider.asked[-1].text


def test_undo_says_that_an_archive_has_a_copy(chat: Chat, provider: Provider, workspace: Path) -> None:
    provider.answers.append("the answer")
    terminal = chat()
    say(terminal, "the question", "the answer")
    store = memories.Memory(workspace / "agents" / "Ada")
    document, cursor = store.load()
    name = store.fold(cursor.snapshot(), "They talked.", document.entries[-2:]).archive
    say(terminal, "/undo", "still has it")
    assert [entry.text for entry in store.walk(name)][-2:] == ["the question", "the answer"]
    assert [entry.is_summary for entry in store.walk()] == [True]


def test_undo_takes_what_swarms_calls_human_back(
    chat: Chat, provider: Provider, memory: Memory, workspace: Path
) -> None:
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    entries = [("Human", "first question"), ("Ada", "one"), ("Human", "second question"), ("Ada", "two")]
    written = (
        f"### {role} — 2026-04-20T18:33:{second:02}\n\n{text}\n\n---\n\n"
        for second, (role, text) in enumerate(entries)
    )
    (folder / "MEMORY.md").write_text("".join(written), encoding="utf-8")
    say(chat(), "/undo", "took back 2 entries: second question")
    assert "second question" not in memory()
    assert "first question" in memory()
    assert provider.asked == []


def test_retry_asks_for_another_reply(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["bad reply", "good reply"]
    terminal = chat()
    say(terminal, "question", "bad reply")
    say(terminal, "/retry", "good reply")
    terminal.wait_until(lambda: "bad reply" not in memory())
    assert memory().count("question") == 1
    assert "bad reply" not in provider.asked[-1].text


def test_a_reply_stays_until_another_has_come(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["precious reply", Refusal(500, "boom"), Answer("never", gate=Gate()), "new reply"]
    terminal = chat()
    say(terminal, "question", "precious reply")
    before = memory()
    say(terminal, "/retry", "the reply that was there stays")
    terminal.send("/retry\r")
    provider.wait_for(3)
    terminal.send("\x03")
    terminal.wait_until(lambda: flowing(terminal.transcript()).count("that was there stays") == 2)
    assert memory() == before
    say(terminal, "and now?", "new reply")
    assert "precious reply" in provider.asked[-1].text


def test_an_exchange_stays_until_its_edited_message_is_answered(
    chat: Chat, provider: Provider, memory: Memory
) -> None:
    provider.answers += ["precious reply", Refusal(401, "bad key"), "better reply"]
    terminal = chat()
    say(terminal, "first question", "precious reply")
    before = memory()
    say(terminal, "/edit", "it will replace")
    say(terminal, "\x17words", "nothing was replaced")
    terminal.wait_for(f"{SIGN} first words")
    assert memory() == before
    say(terminal, "", "better reply")
    terminal.wait_until(lambda: "precious reply" not in memory())
    assert memory().count("### User") == 1
    assert "first question" not in provider.asked[-1].text


def test_an_empty_line_calls_an_edit_off(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["reply one", "reply two"]
    terminal = chat()
    say(terminal, "first", "reply one")
    say(terminal, "/edit", "it will replace")
    say(terminal, "\x15", "")
    say(terminal, "second", "reply two")
    assert "reply one" in memory()


def test_after_an_error_it_says_how_to_send_again(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += [Refusal(429, "slow down"), "here I am"]
    terminal = chat()
    say(terminal, "are you there?", "/retry sends it again")
    say(terminal, "/retry", "here I am")
    assert memory().count("are you there?") == 1


def test_without_a_memory_it_does_not_offer_to_send_again(chat: Chat, provider: Provider) -> None:
    provider.answers.append(Refusal(429, "slow down"))
    terminal = chat("--no-memory")
    say(terminal, "are you there?", "slow down")
    say(terminal, "/tokens", "last cost")
    assert "/retry" not in flowing(terminal.transcript())


@pytest.mark.parametrize("typed", ["exit", "quit", "/quit", "  /exit"])
def test_the_usual_words_leave_too(chat: Chat, typed: str) -> None:
    terminal = chat()
    terminal.send(f"{typed}\r")
    assert terminal.wait_end() == 0


def test_what_a_compaction_took_is_pointed_to(chat: Chat, provider: Provider, workspace: Path) -> None:
    talked_before(workspace / "agents" / "Ada")
    provider.answers.append("a cat named Tom")
    terminal = chat("--context-length", "3000")
    say(terminal, "/compact", "details kept")
    say(terminal, "/edit", "/undo compaction takes back")


def test_retry_after_an_interruption(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += [Answer("one two three", gate=Gate(1)), "whole reply"]
    terminal = chat()
    terminal.send("question\r")
    terminal.wait_for("one")
    terminal.send("\x03")
    terminal.wait_for("interrupted")
    say(terminal, "/retry", "whole reply")
    assert memory().count("question") == 1


def test_edit_changes_the_last_message(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["reply one", "reply two"]
    terminal = chat()
    say(terminal, "colour of teh sky", "reply one")
    say(terminal, "/edit", "it will replace")
    terminal.wait_for(f"{SIGN} colour of teh sky")
    say(terminal, "\x17\x17the sea", "reply two")
    terminal.wait_until(lambda: memory().count("### User") == 1)
    assert "colour of the sea" in memory()
    assert "reply one" not in memory()


def test_edit_can_be_called_off(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["reply one", "reply two"]
    terminal = chat()
    say(terminal, "first", "reply one")
    say(terminal, "/edit", "it will replace")
    terminal.send("\x03")
    say(terminal, "second", "reply two")
    assert "reply one" in memory()


def test_forget_asks_and_drops_it_everywhere(
    chat: Chat, provider: Provider, memory: Memory, workspace: Path
) -> None:
    provider.answers += ["noted", "sunny", "no idea"]
    terminal = chat()
    say(terminal, "the canary is Zyzzyx", "noted")
    say(terminal, "weather?", "sunny")
    terminal.send("/forget zyzzyx\r")
    terminal.wait_for("forget these for good?")
    terminal.send("n\n")
    terminal.wait_for("nothing was removed")
    assert "Zyzzyx" in memory()
    terminal.wait_prompt()
    terminal.send("/forget zyzzyx\r")
    terminal.wait_until(lambda: "\n".join(terminal.lines_unlocked()).count("for good?") == 2)
    terminal.send("y\n")
    terminal.wait_for("forgot 1 entry")
    say(terminal, "what is the canary?", "no idea")
    assert "Zyzzyx" not in provider.asked[-1].text
    for path in workspace.rglob("*"):
        assert not path.is_file() or b"zyzzyx" not in path.read_bytes().lower()


def test_search_finds_what_was_said(chat: Chat, provider: Provider) -> None:
    provider.answers.append("Paris, of course")
    terminal = chat()
    say(terminal, "what is the capital of France?", "Paris")
    say(terminal, "/search capital", "what is the capital of France?")
    say(terminal, "/search nonsense", "nothing found")


def test_compact_archives_and_undo(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["noted " * 200, "sunny " * 200, "a short summary of the cat Tom"]
    terminal = chat("--context-length", "3000")
    say(terminal, "my cat is Tom", "noted")
    say(terminal, "weather?", "sunny")
    say(terminal, "/compact the cat", "→")
    assert "[Compressed Memory Summary]" in memory()
    say(terminal, "/archives", "kB")
    say(terminal, "/archives latest", "my cat is Tom")
    say(terminal, "/undo", "again as in archive/")
    assert "[Compressed Memory Summary]" not in memory()
    assert "my cat is Tom" in memory()


def test_compaction_can_be_cancelled(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers += ["noted " * 200, "sunny " * 200, Answer("never", gate=Gate())]
    terminal = chat("--context-length", "3000")
    say(terminal, "my cat is Tom", "noted")
    say(terminal, "weather?", "sunny")
    before = memory()
    terminal.send("/compact\r")
    terminal.wait_for("compacting")
    provider.wait_for(3)
    terminal.send("\x03")
    terminal.wait_for("cancelled; the memory is as it was")
    assert memory() == before


def test_model_switches_with_its_own_context_length(chat: Chat, provider: Provider) -> None:
    provider.answers.append("hello")
    terminal = chat()
    say(terminal, "/model gpt-4.1", "talking to gpt-4.1 now · context of 1,047,576 tokens")
    terminal.wait_for("Ada · gpt-4.1 · ")
    say(terminal, "hi", "hello")
    assert provider.asked[0].body["model"] == "gpt-4.1"


def test_system_is_replaced_for_the_session(chat: Chat, provider: Provider, memory: Memory) -> None:
    provider.answers.append("arr")
    terminal = chat()
    say(terminal, "/system", "no system prompt")
    say(terminal, "/system You are a pirate.", "replaced")
    say(terminal, "hi", "arr")
    assert "You are a pirate." in provider.asked[0].messages[0]["content"]
    assert "pirate" not in memory()


def test_export_refuses_to_overwrite(chat: Chat, provider: Provider, tmp_path: Path) -> None:
    provider.answers.append("hello")
    terminal = chat(folder=tmp_path)
    say(terminal, "hi", "hello")
    say(terminal, "/export talk.jsonl", "wrote ")
    rows = [json.loads(line) for line in (tmp_path / "talk.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "hi" in [row.get("text") for row in rows]
    assert (tmp_path / "talk.jsonl").stat().st_mode & 0o777 == 0o600
    say(terminal, "/export talk.jsonl", "exists")
    say(terminal, "/export talk.xyz", "ends in .md")


def test_copy_goes_through_the_terminal(chat: Chat, provider: Provider) -> None:
    reply = "Run:\n\n```sh\nls -l\n```\n\n1. or\n\n    ~~~sh\n    ls\n    ~~~\n\ndone"
    provider.answers.append(reply)
    terminal = chat(environment={"DISPLAY": None, "WAYLAND_DISPLAY": None})
    say(terminal, "how?", "done")
    say(terminal, "/copy", "with the terminal")
    assert base64.b64encode(reply.encode()) in bytes(terminal.raw)
    say(terminal, "/copy code", "copied 3 characters")
    assert b"\x1b]52;c;" + base64.b64encode(b"ls\n") in bytes(terminal.raw)


def test_multiline_swaps_enter(chat: Chat, provider: Provider) -> None:
    provider.answers.append("both seen")
    terminal = chat()
    say(terminal, "/multiline", "Alt-Enter sends")
    terminal.send("one\rtwo")
    terminal.wait_for("two")
    terminal.send("\x1b\r")
    terminal.wait_for("both seen")
    assert provider.asked[0].messages[-1]["content"].endswith("one\ntwo")


def test_exit_leaves(chat: Chat) -> None:
    terminal = chat()
    terminal.send("/exit\r")
    assert terminal.wait_end() == 0
