"""Code named in files runs once the user approved that file, and never because a folder was copied."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem import Agent, errors, settings
from tests.loopback import Answer
from tests.program import ROOT, agree, run
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

TOOLS = """
from pathlib import Path
Path("imported").touch()

def peek(place: str) -> str:
    Path("ran").touch()
    return f"nothing in {place}"
"""
CALL = Answer(calls=(("peek", {"place": "attic"}),))


@pytest.fixture
def elsewhere(provider: Provider, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, where a module with a tool lies that leaves traces."""
    agree(workspace)
    agree(workspace)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "snoop.py").write_text(TOOLS)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def copied(workspace: Path, elsewhere: Path) -> Path:
    """The agent.toml of an agent that came from elsewhere."""
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    file = folder / "agent.toml"
    file.write_text('rules = "Be brief."\ntools = ["snoop:peek"]\nkey_command = "touch key-asked"\n')
    return file


def traces(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"snoop.py", "__pycache__"}


def on_a_terminal(folder: Path, *words: str) -> Terminal:
    return Terminal(
        [sys.executable, "-m", "agentmem", *words],
        columns=160,
        folder=folder,
        environment={"PYTHONPATH": str(ROOT)},
    )


def test_a_script_runs_nothing_of_a_copied_agent(
    provider: Provider, copied: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.answers.append("hello")
    ran = run("chat", "Ada", "hi")
    assert (ran.code, ran.out) == (0, "hello\n")
    assert f"{copied}: tools and key_command left out" in ran.err
    assert "tools" not in provider.asked[0].body
    assert "Be brief." in provider.asked[0].text
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    ran = run("chat", "Ada", "hi", "-m", "gpt-4o")
    assert ran.code == 78
    assert f"the key_command in {copied} is not approved" in ran.err
    for command in (["show", "Ada"], ["export", "Ada"], ["archives", "Ada"], ["search", "Ada", "hi"]):
        run(*command)
    run("compact", "Ada", "--keep-tokens", "0", "--summarizer-model", "gpt-4o")
    assert traces(elsewhere) == set()


def test_the_library_runs_nothing_of_a_copied_agent(
    provider: Provider, copied: Path, elsewhere: Path
) -> None:
    told: list[str] = []
    provider.answers.append("hello")
    with Agent("Ada", notice=told.append) as agent:
        agent.run("hi")
    assert str(copied) in told[0]
    assert "tools" not in provider.asked[0].body
    assert traces(elsewhere) == set()


def test_yes_approves_the_file_as_it_is_and_no_other(
    provider: Provider, copied: Path, elsewhere: Path, workspace: Path
) -> None:
    provider.answers.extend([CALL, "nothing there"])
    ran = run("chat", "Ada", "look", "--yes")
    assert (ran.code, ran.out) == (0, "nothing there\n")
    assert 'tool peek {"place": "attic"}' in ran.err
    assert "tool peek → nothing in attic" in ran.err
    assert traces(elsewhere) == {"imported", "ran"}
    (elsewhere / "imported").unlink()

    provider.answers.append("hello")
    assert "--yes lets them run" in run("chat", "Ada", "hi").err  # a script needs it every time
    assert traces(elsewhere) == {"ran"}

    for words in (
        ["compact", "Ada", "--summary", "an attic", "--keep-tokens", "0"],
        ["forget", "Ada", "--match", "attic", "--summaries", "redo", "--yes"],
    ):
        provider.answers.append("a summary")
        assert run(*words).code == 0
    provider.answers.clear()
    assert traces(elsewhere) == {"ran"}, "approved, but no business of these commands"

    shutil.copytree(copied.parent, workspace / "agents" / "Eve")
    provider.answers.append("hello")
    assert "nobody has approved" in run("chat", "Eve", "hi").err

    copied.write_text(copied.read_text() + "temperature = 1\n")
    provider.answers.append("hello")
    assert "nobody has approved" in run("chat", "Ada", "hi").err
    assert traces(elsewhere) == {"ran"}


def test_the_record_is_the_users_own(provider: Provider, copied: Path, workspace: Path) -> None:
    provider.answers.append("hello")
    run("chat", "Ada", "hi", "--yes")
    record = settings.approvals_path()
    assert workspace not in record.parents
    assert record.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(record.read_text())) == [str(copied)]


def test_a_damaged_record_approves_nothing(provider: Provider, copied: Path, elsewhere: Path) -> None:
    record = settings.approvals_path()
    record.parent.mkdir(parents=True)
    record.write_text('["peek"')
    provider.answers.append("hello")
    assert f"{copied}: tools and key_command left out" in run("chat", "Ada", "hi").err
    assert traces(elsewhere) == set()


def test_on_a_terminal_the_file_and_then_each_call_is_asked_about(
    provider: Provider, copied: Path, elsewhere: Path
) -> None:
    provider.answers.append("hello")
    with on_a_terminal(elsewhere, "chat", "Ada", "hi") as terminal:
        terminal.wait_for("tools = snoop:peek")
        terminal.wait_for("key_command = touch key-asked")
        terminal.wait_for("approve this file as it is now? [y/N]")
        terminal.send("\r")
        assert terminal.wait_end() == 0
    assert "tools" not in provider.asked[-1].body
    assert traces(elsewhere) == set()

    provider.answers.extend([CALL, "you said no"])
    with on_a_terminal(elsewhere, "chat", "Ada", "look") as terminal:
        terminal.wait_for("approve this file")
        terminal.send("y\r")
        terminal.wait_for('tool peek {"place": "attic"}')
        terminal.wait_for("run it?")
        terminal.send("n\r")
        assert terminal.wait_end() == 0
    assert provider.asked[-1].messages[-1]["content"].startswith("error: the user declined")
    assert traces(elsewhere) == {"imported"}

    provider.answers.extend([CALL, CALL, "nothing there"])
    with on_a_terminal(elsewhere, "chat", "Ada", "look", "--max-loops", "auto") as terminal:
        terminal.wait_for("run it?")
        terminal.send("a\r")
        terminal.wait_for("nothing there")
        assert terminal.wait_end() == 0
        assert str(terminal).count("run it?") == 1
    assert traces(elsewhere) == {"imported", "ran"}


def test_an_approved_key_command_gives_the_key(
    provider: Provider, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text("key_command = \"printf 'sk-from-the-vault\\nsecond line'\"\n")
    provider.answers.append("hello")
    assert run("chat", "Ada", "hi", "-m", "gpt-4o", "--yes").code == 0
    assert provider.asked[-1].headers["authorization"] == "Bearer sk-from-the-vault"
    provider.answers.append("hello")
    assert run("chat", "Ada", "hi", "-m", "gpt-4o").code == 0
    assert provider.asked[-1].headers["authorization"] == "Bearer sk-from-the-vault"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("no-such-program-here", "cannot run"),
        ("false", "ended with status 1"),
        ("true", "printed nothing"),
        ("'unclosed", "cannot run"),
    ],
)
def test_a_key_command_that_fails_is_a_configuration_error(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, command: str, complaint: str
) -> None:
    assert provider
    monkeypatch.delenv("OPENAI_API_KEY")
    ran = run("chat", "Ada", "hi", "-m", "gpt-4o", AGENTMEM_KEY_COMMAND=command)
    assert ran.code == 78
    assert complaint in ran.err
    assert "Traceback" not in ran.err


def test_a_copied_agent_sends_nothing_to_a_strangers_address(
    provider: Provider, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    agree(workspace)
    file = workspace / "agents" / "Ada" / "agent.toml"
    file.parent.mkdir(parents=True)
    file.write_text('model = "gpt-4o"\napi_base = "http://models.invalid/v1"\n')
    ran = run("chat", "Ada", "my secret")
    assert ran.code == 78
    assert f"{file} sends what is said to http://models.invalid/v1, which is not approved" in ran.err
    with Agent("Ada", notice=lambda _message: None) as agent, pytest.raises(errors.ConfigurationError):
        agent.run("my secret")
    assert run("chat", "Ada", "my secret", "--yes").code == 69, "approved, and there is nobody"

    file.write_text(f'model = "gpt-4o"\napi_base = "{provider.url}"\n')  # this very machine
    provider.answers.append("hello")
    assert run("chat", "Ada", "hi").out == "hello\n"

    provider.answers.append("hello")
    file.write_text('model = "gpt-4o"\napi_base = "http://models.invalid/v1"\n# copied\n')
    assert run("chat", "Ada", "hi", "--api-base", provider.url, "--save").out == "hello\n"


@pytest.mark.parametrize(
    ("address", "asks"),
    [
        ("http://localhost:11434/v1", False),
        ("http://127.0.0.1/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://127.0.0.1.evil.example/v1", True),
        ("http://localhost@evil.example/v1", True),
        ("https://api.example/v1", True),
        ("http://[broken", True),
        ("//evil.example", True),
    ],
)
def test_only_this_machine_needs_no_approval(workspace: Path, address: str, asks: bool) -> None:
    file = workspace / "agents" / "Ada" / "agent.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'api_base = "{address}"\n')
    assert bool(settings.withheld(file)) == asks
    own = settings.config_path()
    own.parent.mkdir(parents=True)
    own.write_text(f'api_base = "{address}"\n')
    assert not settings.withheld(own)


class TestSave:
    def test_what_was_given_needs_no_flags_later(self, provider: Provider, workspace: Path) -> None:
        rules = 'Say "please".\n\nNever \\shout\\.\n'
        provider.answers.append("aye")
        given = ["-s", "You are a pirate.", "--rules", rules, "-m", "gpt-4o-mini", "--max-loops", "auto"]
        ran = run("chat", "Ada", "hi", *given, "--save")
        assert ran.code == 0, ran.err
        assert "saved model, system_prompt, rules, max_loops in" in ran.err
        provider.answers.append("aye aye")
        assert run("chat", "Ada", "hi").out == "aye aye\n"
        first, second = provider.asked
        assert second.body["model"] == "gpt-4o-mini"
        assert f"You are a pirate.\n\n{rules}" in second.messages[0]["content"]
        file = workspace / "agents" / "Ada" / "agent.toml"
        assert settings.read_file(file)["rules"] == rules
        assert file.stat().st_mode & 0o777 == 0o600
        assert first.body["model"] == "gpt-4o-mini"

    def test_comments_and_other_keys_stay(self, provider: Provider, workspace: Path) -> None:
        file = workspace / "agents" / "Ada" / "agent.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            '# who Ada is\nrules = "Be brief."  # always\n\n# cheap\nmodel = "gpt-4o" # for now\n'
        )
        assert run("chat", "Ada", "--save", "-m", "gpt-4o-mini", "--temperature", "0.5").code == 0
        assert file.read_text() == (
            '# who Ada is\nrules = "Be brief."  # always\n\n# cheap\nmodel = "gpt-4o-mini" # for now\n'
            "temperature = 0.5\n"
        )
        assert not provider.asked

    def test_tools_given_by_hand_are_approved_with_the_file(
        self, provider: Provider, elsewhere: Path, workspace: Path
    ) -> None:
        assert run("chat", "Ada", "--save", "--tool", "snoop:peek").code == 0
        provider.answers.extend([CALL, "nothing there"])
        with on_a_terminal(elsewhere, "chat", "Ada", "look") as terminal:
            terminal.wait_for("run it?")
            terminal.send("y\r")
            assert terminal.wait_end() == 0
            assert "approve" not in str(terminal)
        assert settings.load(agent_folder=workspace / "agents" / "Ada").tools == ("snoop:peek",)

    def test_it_approves_nothing_else(self, copied: Path) -> None:
        assert run("chat", "Ada", "--save", "--tool", "snoop:peek").code == 0
        assert settings.withheld(copied), "its key_command was never approved"

    def test_nothing_to_save_and_a_damaged_file_are_errors(self, provider: Provider, workspace: Path) -> None:
        assert provider
        assert run("chat", "Ada", "hi", "--save").code == 2
        file = workspace / "agents" / "Ada" / "agent.toml"
        file.parent.mkdir(parents=True)
        file.write_text("rules = \n")
        ran = run("chat", "Ada", "hi", "--save", "-m", "gpt-4o")
        assert ran.code == 78
        assert str(file) in ran.err
        assert file.read_text() == "rules = \n"


def test_tools_named_on_the_command_line_run_in_a_script(
    provider: Provider, elsewhere: Path, workspace: Path
) -> None:
    provider.answers.extend([CALL, "nothing there"])
    ran = run("chat", "Ada", "look", "--tool", "snoop:peek")
    assert (ran.code, ran.out) == (0, "nothing there\n")
    assert "tool peek → nothing in attic" in ran.err
    assert "ran" in traces(elsewhere)
    memory = (workspace / "agents" / "Ada" / "MEMORY.md").read_text()
    assert "### Tool (peek) — " in memory
    assert "nothing in attic" in memory


def test_a_tool_that_is_none_is_said_before_anything_happens(provider: Provider, elsewhere: Path) -> None:
    assert elsewhere
    ran = run("chat", "Ada", "look", "--tool", "snoop:peak")
    assert ran.code == 78
    assert "did you mean 'peek'?" in ran.err
    assert not provider.asked


def test_chat_without_a_name_lists_the_agents(provider: Provider, workspace: Path) -> None:
    assert provider
    ran = run("chat")
    assert (ran.code, ran.out) == (2, "")
    assert not workspace.exists()
    for name in ("Ada", "Bob"):
        os.makedirs(workspace / "agents" / name)
    ran = run("chat")
    assert ran.code == 2
    assert "Ada, Bob" in ran.err
