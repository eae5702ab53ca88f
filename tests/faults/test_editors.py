"""Real editors save MEMORY.md while a chat goes on."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING, Protocol

import pexpect
import pytest

from agentmem import Agent
from agentmem.memory import Memory
from tests.answers import Answer, Gate
from tests.program import COMMAND, environment
from tests.requires import needs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback import Provider


class Editor(Protocol):
    """A file opened at one moment and saved, with a word replaced, at a later one."""

    def save(self, old: str, new: str) -> None: ...


class Vim:
    """vim on a terminal, saving by a rename. Its default is to write in place below the temporary folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        options = ["-u", "NONE", "-i", "NONE", "-N", "-n", "--cmd", "set shortmess= cmdheight=3"]
        self._vim = pexpect.spawn(needs("vim"), [*options, str(path)], timeout=30, dimensions=(24, 200))
        self._vim.send(":set backupskip= writebackup backupcopy=no | echo 'load' . 'ed'\r")
        self._vim.expect("loaded")

    def save(self, old: str, new: str) -> None:
        before = self._path.stat()
        self._vim.send(f":%s/{old}/{new}/e\r:w!\r")
        if self._vim.expect(["really want to write", "written"]) == 0:
            self._vim.send("y")
            self._vim.expect("written")
        self._vim.send(":qall!\r")
        self._vim.expect(pexpect.EOF)
        self._vim.close()
        assert self._path.stat().st_ino != before.st_ino, "vim did not rename"


class InPlace:
    """Writes over the file as VS Code does: the same file, cut to nothing and filled again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = path.read_bytes()

    def save(self, old: str, new: str) -> None:
        inode = self._path.stat().st_ino
        self._path.write_bytes(self._content.replace(old.encode(), new.encode()))
        assert self._path.stat().st_ino == inode


@pytest.fixture(params=[Vim, InPlace])
def editor(request: pytest.FixtureRequest) -> type[Vim | InPlace]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def agent(provider: Provider, notices: list[str]) -> Iterator[Agent]:
    provider.answers.append(lambda body: f"re: {body['messages'][-1]['content'].split('] ')[-1]}")
    with Agent("Ada", "gpt-4o", notice=notices.append) as opened:
        yield opened


def path_of(agent: Agent) -> Path:
    path = agent.short_memory.memory_md_path
    assert path
    return path


def texts(agent: Agent) -> list[str]:
    return [entry.text for entry in Memory(path_of(agent).parent).read().entries]


def ids(agent: Agent) -> list[str]:
    return [entry.stamp for entry in Memory(path_of(agent).parent).read().entries]


def test_an_edit_reaches_the_model_at_the_next_turn_and_the_person_is_told(
    agent: Agent, provider: Provider, notices: list[str], editor: type[Vim | InPlace]
) -> None:
    agent.run("the code is red")
    editor(path_of(agent)).save("red", "blue")
    agent.run("next")
    assert "the code is blue" in provider.asked[-1].text
    assert "the code is red" not in provider.asked[-1].text
    assert any("was edited; it was read again" in notice for notice in notices)
    assert not any("no longer in" in notice for notice in notices)
    assert texts(agent) == ["the code is blue", "re: the code is blue", "next", "re: next"]


def test_a_stale_editor_over_new_entries_is_noticed_and_they_can_be_put_back(
    agent: Agent, notices: list[str], editor: type[Vim | InPlace]
) -> None:
    agent.run("one")
    stale = editor(path_of(agent))
    agent.run("two")
    written = ids(agent)
    stale.save("one", "uno")
    assert texts(agent) == ["uno", "re: uno"]
    agent.run("three")
    assert [entry.text for entry in agent.short_memory.missing] == ["two", "re: two"]
    assert any("2 entries of this session" in notice and "no longer in" in notice for notice in notices)
    assert texts(agent) == ["uno", "re: uno", "three", "re: three"]
    agent.short_memory.put_back()
    assert texts(agent) == ["uno", "re: uno", "three", "re: three", "two", "re: two"]
    assert set(written) <= set(ids(agent))
    assert agent.short_memory.missing == ()
    agent.run("four")
    assert agent.short_memory.missing == ()
    assert texts(agent).count("two") == 1


@pytest.mark.parametrize("wanted", [True, False])
def test_the_person_is_asked_and_the_answer_counts(
    agent: Agent, notices: list[str], editor: type[Vim | InPlace], *, wanted: bool
) -> None:
    asked: list[list[str]] = []

    def on_missing(missing: tuple[object, ...]) -> bool:
        asked.append([getattr(entry, "text", "") for entry in missing])
        return wanted

    agent.on_missing = on_missing
    agent.run("one")
    stale = editor(path_of(agent))
    agent.run("two")
    stale.save("one", "uno")
    agent.run("three")
    agent.run("four")
    assert asked == [["two", "re: two"]]
    assert ("two" in texts(agent)) is wanted
    assert any("put 2 entries back" in notice for notice in notices) is wanted


def test_an_entry_deleted_by_hand_is_asked_about_once(agent: Agent, notices: list[str]) -> None:
    agent.run("one")
    memory = Memory(path_of(agent).parent)
    memory.path.write_bytes(memory.path.read_bytes().replace(memory.read().entries[0].raw, b""))
    agent.run("two")
    assert sum("1 entry of this session" in notice for notice in notices) == 1
    agent.short_memory.let_go()
    memory.path.write_bytes(memory.path.read_bytes().replace(b"two", b"TWO"))
    agent.run("three")
    assert sum("no longer in" in notice for notice in notices) == 1
    assert "one" not in texts(agent)


def test_what_others_forget_compact_or_undo_is_not_missing(agent: Agent, notices: list[str]) -> None:
    agent.run("one")
    agent.run("two")
    other = Memory(path_of(agent).parent)
    other.forget(lambda _file, entry: entry.text == "one")
    agent.run("three")
    other.fold(other.load()[1].snapshot(), "what was said")
    agent.run("four")
    other.undo()
    agent.run("five")
    assert agent.short_memory.missing == ()
    assert not any("no longer in" in notice for notice in notices)
    assert "one" not in texts(agent)


def test_what_retention_deletes_with_its_archive_is_not_missing(agent: Agent) -> None:
    agent.run("one")
    archive = agent.short_memory.compact("what was said")
    memory = Memory(path_of(agent).parent)
    memory.drop_archives([archive])
    memory.path.write_bytes(memory.path.read_bytes().replace(b"what was said", b"what they said"))
    agent.run("two")
    assert agent.short_memory.missing == ()


def test_one_turn_in_a_script_keeps_what_a_stale_editor_took(workspace: Path, provider: Provider) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    memory.append("User", "before")
    stale = InPlace(memory.path)
    gate = Gate()
    provider.answers.append(Answer("the answer", gate=gate))
    with subprocess.Popen(
        [*COMMAND, "chat", "Ada", "-m", "gpt-4o", "the question"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        provider.wait_for(1)
        stale.save("before", "BEFORE")
        threading.Thread(target=gate.open).start()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == "the answer\n"
    assert "1 entry of this session" in err
    assert "put 1 entry back" in err
    assert [entry.text for entry in memory.read().entries] == ["BEFORE", "the answer", "the question"]
