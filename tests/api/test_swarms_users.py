"""Folders of swarms, which stores what the user says as `Human`: theirs in every respect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem import Agent
from agentmem.memory import Memory
from tests.program import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

SAID = (
    ("Human", "My boat is called Marvellous Ostrich."),
    ("Ada", "A fine name."),
    ("Human", "Never paint it red."),
    ("Ada", "I would not dare."),
    ("Human", "What colour, then?"),
)


@pytest.fixture
def memory(workspace: Path) -> Memory:
    """A folder as swarms leaves it when the last message got no answer."""
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    lines = ["# Agent Memory", "", "**Conversation:** Ada_id_0b6f_conversation", "", "---", ""]
    lines += ["## Interaction Log", "", ""]
    entries = (
        f"### {role} — 2026-04-20T18:33:{second:02}\n\n{text}\n\n---\n\n"
        for second, (role, text) in enumerate(SAID)
    )
    (folder / "MEMORY.md").write_text("\n".join(lines) + "".join(entries), encoding="utf-8")
    return Memory(folder)


def test_retry_answers_the_last_message(provider: Provider, memory: Memory) -> None:
    provider.answers.append("Blue.")
    ran = run("chat", "Ada", "--retry", "-m", "gpt-4o", "-q")
    assert (ran.code, ran.out) == (0, "Blue.\n")
    assert provider.asked[0].messages[-1] == {
        "role": "user",
        "content": "[2026-04-20T18:33:04] What colour, then?",
    }
    assert [(entry.role, entry.text) for entry in memory.read().entries] == [*SAID, ("Ada", "Blue.")]


def test_there_is_nothing_to_retry_after_an_answer(provider: Provider, memory: Memory) -> None:
    memory.append("Ada", "Blue.")
    ran = run("chat", "Ada", "--retry", "-m", "gpt-4o", "-q")
    assert ran.code == 66
    assert "has its reply" in ran.err
    assert provider.asked == []


def test_compaction_keeps_whole_exchanges(provider: Provider, memory: Memory) -> None:
    del provider
    with Agent("Ada", "gpt-4o") as agent:
        assert agent.context_compressor
        agent.context_compressor.keep_tokens = 90
        agent.compact(summary="A boat.")
    roles = [entry.role for entry in memory.read().entries]
    assert roles == ["System", "Human", "Ada", "Human"]


def test_they_are_chosen_as_the_users(memory: Memory) -> None:
    memory.append("User", "And the sails?")
    chosen = json.loads(run("show", "Ada", "--role", "user", "--json").out)["entries"]
    assert [entry["role"] for entry in chosen] == ["Human", "Human", "Human", "User"]
    chosen = json.loads(run("show", "Ada", "--role", "human", "--json").out)["entries"]
    assert [entry["role"] for entry in chosen] == ["Human", "Human", "Human"]


def test_they_are_exported_as_the_users(memory: Memory) -> None:
    assert memory.exists()
    messages = json.loads(run("export", "Ada", "-f", "openai").out)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
