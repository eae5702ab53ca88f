"""The notice at the first chat in a workspace, and its one question."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentmem import consent
from agentmem.memory import Memory
from tests.program import COMMAND, agree, environment, run
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

QUESTION = "keep conversations in this workspace? [Y/n]"
CHAT = ("chat", "Ada", "hello", "-m", "gpt-4o")


def on_terminal(*words: str) -> Terminal:
    return Terminal([*COMMAND, *words], environment=environment())


def everything(workspace: Path) -> list[str]:
    return sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*"))


def test_a_script_is_told_once_and_works(provider: Provider, workspace: Path) -> None:
    provider.answers += ["hi", "hi again"]
    first, second = run(*CHAT), run(*CHAT)
    assert (first.code, first.out) == (0, "hi\n")
    assert (second.code, second.out) == (0, "hi again\n")
    assert "first chat in this workspace" in first.err
    assert str(workspace / "agents" / "Ada") in first.err
    assert "--no-memory" in first.err
    assert "forget Ada --all" in first.err
    assert "can be missed" in first.err
    assert "first chat" not in second.err
    assert everything(workspace) == [
        "agents",
        "agents/Ada",
        "agents/Ada/.agentmem",
        "agents/Ada/.agentmem/lock",
        "agents/Ada/MEMORY.md",
        consent.RECORD,
    ]
    assert consent.read(workspace) == consent.Consent(told=True, agreed=False)
    assert stat.S_IMODE((workspace / consent.RECORD).stat().st_mode) == 0o600


def test_quiet_says_nothing_and_leaves_it_unsaid(provider: Provider, workspace: Path) -> None:
    provider.answers += ["hi"] * 2
    assert run(*CHAT, "-q").err == ""
    assert not (workspace / consent.RECORD).exists()
    assert "first chat" in run(*CHAT).err


def test_without_memory_there_is_nothing_to_tell(provider: Provider, workspace: Path) -> None:
    provider.answers += ["hi"] * 2
    assert "first chat" not in run(*CHAT, "--no-memory").err
    assert "first chat" not in run(*CHAT, AGENTMEM_MEMORY="false").err
    assert not workspace.exists()


def test_nothing_to_say_is_no_first_chat(provider: Provider, workspace: Path) -> None:
    assert run("chat", "Ada", "-m", "gpt-4o").code == 2
    assert not workspace.exists()


def test_the_notice_says_what_the_settings_make_of_it(provider: Provider, workspace: Path) -> None:
    provider.answers.append("hi")
    told = run(*CHAT, AGENTMEM_REDACT="false", AGENTMEM_KEEP_ARCHIVES="90d").err
    assert "redact = false" in told
    assert "archives older than 90d" in told


@pytest.mark.parametrize("answer", ["\r", "y\r", "YES\r"])
def test_yes_is_recorded_and_never_asked_again(provider: Provider, workspace: Path, answer: str) -> None:
    provider.answers += ["first reply", "second reply"]
    with on_terminal(*CHAT) as terminal:
        terminal.wait_for(QUESTION)
        assert not workspace.exists()
        terminal.send(answer)
        assert terminal.wait_end() == 0
        assert "first reply" in str(terminal)
    assert consent.read(workspace).agreed
    with on_terminal(*CHAT) as terminal:
        assert terminal.wait_end() == 0
        assert "second reply" in str(terminal)
        assert QUESTION not in str(terminal)


@pytest.mark.parametrize("answer", ["n\r", "no\r", "\x04"], ids=["n", "no", "Ctrl-D"])
def test_no_keeps_nothing_of_the_session(provider: Provider, workspace: Path, answer: str) -> None:
    provider.answers.append("a reply")
    with on_terminal(*CHAT) as terminal:
        terminal.wait_for(QUESTION)
        terminal.send(answer)
        assert terminal.wait_end() == 0
        assert "a reply" in str(terminal)
        assert "nothing of this session is kept" in str(terminal)
    assert not workspace.exists()


def test_ctrl_c_at_the_question_ends_it(provider: Provider, workspace: Path) -> None:
    with on_terminal(*CHAT) as terminal:
        terminal.wait_for(QUESTION)
        terminal.send("\x03")
        assert terminal.wait_end() == 130
    assert not workspace.exists()
    assert not provider.asked


def test_a_person_is_asked_where_only_a_script_was_told(provider: Provider, workspace: Path) -> None:
    provider.answers += ["hi", "hi"]
    run(*CHAT)
    with on_terminal(*CHAT) as terminal:
        terminal.wait_for(QUESTION)
        terminal.send("y\r")
        assert terminal.wait_end() == 0
    assert consent.read(workspace).agreed


def test_no_in_a_workspace_with_agents_leaves_them_alone(provider: Provider, workspace: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    memory.append("User", "from before")
    before = memory.path.read_bytes()
    provider.answers.append("a reply")
    with on_terminal(*CHAT) as terminal:
        terminal.wait_for(QUESTION)
        terminal.send("n\r")
        assert terminal.wait_end() == 0
    assert memory.path.read_bytes() == before
    assert not (workspace / consent.RECORD).exists()
    assert "from before" not in provider.asked[0].text


@pytest.mark.parametrize("content", [b"", b"\xff", b"told = ", b"agreed = 'yes'\n"])
def test_a_damaged_record_means_being_told_again(provider: Provider, workspace: Path, content: bytes) -> None:
    workspace.mkdir(mode=0o700)
    (workspace / consent.RECORD).write_bytes(content)
    provider.answers += ["hi", "hi"]
    assert "first chat" in run(*CHAT).err
    assert "first chat" not in run(*CHAT).err


def test_a_workspace_behind_a_link_of_its_owner_has_its_record(provider: Provider, workspace: Path) -> None:
    elsewhere = workspace.with_name("elsewhere")
    agree(elsewhere)
    os.symlink(elsewhere, workspace)
    provider.answers.append("hi")
    assert "first chat" not in run(*CHAT).err


def test_a_first_message_typed_too_early_is_no_answer(provider: Provider, workspace: Path) -> None:
    provider.answers.append("hi")
    with on_terminal(*CHAT) as terminal:
        terminal.wait_for(QUESTION)
        terminal.send("remember that I like teal\r")
        terminal.wait_for("please answer y or n")
        terminal.send("y\r")
        assert terminal.wait_end() == 0
    assert len(Memory(workspace / "agents" / "Ada").read().entries) == 2
