"""System prompt and rules that are edited in agent.toml while the agent runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem import Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider


@pytest.fixture
def file(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ada's agent.toml."""
    monkeypatch.setenv("AGENTMEM_KEEP_TOKENS", "0")
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    file = folder / "agent.toml"
    file.write_text('system_prompt = "You survey."\nrules = "Mind the dunes."\n')
    return file


def head_after_compaction(agent: Agent, provider: Provider) -> str:
    """Return what stands before the memory in the next request."""
    agent.short_memory.add("User", "hi")
    agent.compact(summary="greetings")
    provider.answers.append("aye")
    agent.run("hi")
    head: str = provider.asked[-1].messages[0]["content"].split("\n\nBelow", 1)[0]
    return head


def test_both_are_read_again_after_a_compaction(provider: Provider, file: Path) -> None:
    told: list[str] = []
    with Agent("Ada", "gpt-4o", notice=told.append) as agent:
        file.write_text('system_prompt = "You survey."\nrules = "Mind  the\\n dunes and the tide."\n')
        provider.answers.append("aye")
        agent.run("hi")
        assert provider.asked[0].messages[0]["content"] == "You survey.\n\nMind the dunes."
        new = "You survey.\n\nMind  the\n dunes and the tide."
        assert head_after_compaction(agent, provider) == new
        assert told == []
        file.write_text("rules = \n")
        assert head_after_compaction(agent, provider) == new
    assert all("going on with what it said before" in line for line in told)
    assert told


def test_rules_given_by_hand_are_not_replaced(provider: Provider, file: Path) -> None:
    assert file.exists()
    with Agent("Ada", "gpt-4o", rules="Mind the gap.") as agent:
        assert head_after_compaction(agent, provider) == "You survey.\n\nMind the gap."


def test_a_prompt_replaced_in_the_session_stays_replaced(provider: Provider, file: Path) -> None:
    assert file.exists()
    with Agent("Ada", "gpt-4o") as agent:
        agent.short_memory.system_prompt = "You sail."
        assert head_after_compaction(agent, provider) == "You sail.\n\nMind the dunes."
