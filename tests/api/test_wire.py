"""What really reaches the model: memory, summary, prompt, rules and the pending task, in every loop mode."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from agentmem import Agent, ContextCompressor
from tests.api.strict import assert_well_formed
from tests.loopback import Answer, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback import Provider, Scripted

FACT = "my boat is called Marvellous Ostrich"
PROMPT = "You are a harbour master who speaks in riddles."
RULES = "Never mention the weather."
LOOPS = ("1", "3", "auto")

RUN = """
import json, sys
from agentmem import Agent

def tide(harbour: str) -> str:
    return f"high water at {harbour}"

options = json.loads(sys.argv[1])
options["tools"] = [tide] if options.pop("tools") else []
with Agent("Ada", **options) as agent:
    for step in sys.argv[2:]:
        if step == "COMPACT":
            agent.compact()
        else:
            print(agent.run(step))
"""


def in_a_process(*steps: str, loops: str = "1", tools: bool = False) -> str:
    """Let an agent run tasks, or compact, in a process of its own; return what it printed."""
    options: dict[str, Any] = {
        "system_prompt": PROMPT,
        "rules": RULES,
        "max_loops": loops if loops == "auto" else int(loops),
        "tools": tools,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, json.dumps(options), *steps],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*words: str, status: int = 0) -> str:
    """Run a command of the program in a process of its own; return its stdout."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "agentmem", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def answers_for(loops: str, text: str, *, tools: bool = False) -> list[Scripted]:
    """Return what a model answers to one task in this loop mode, a tool call first where there are tools."""
    asks: list[Scripted] = [Answer(calls=(("tide", {"harbour": "Brest"}),))] if tools else []
    done: list[Scripted] = ["TASK COMPLETE"] if loops == "3" else []
    return [*asks, text, *done]


@pytest.fixture(autouse=True)
def nothing_kept_word_for_word(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMEM_KEEP_TOKENS", "0")


@dataclass
class Question:
    """The messages of the request that puts the question, and how many summaries were asked for."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    summaries: int = 0


@pytest.fixture
def question(provider: Provider, workspace: Path) -> Iterator[Question]:
    """What a test asked; on the way out every request of the whole test is checked."""
    found = Question()
    yield found
    for file in workspace.rglob("*.md"):
        assert PROMPT not in file.read_text()
        assert RULES not in file.read_text()
    talk = [asked for asked in provider.asked if PROMPT in asked.text]
    assert len(provider.asked) - len(talk) == found.summaries, "a request without the system prompt"
    for asked in talk:
        assert_well_formed(asked.messages)
        assert RULES in asked.messages[0]["content"]
    system, *between, pending = found.messages
    assert not between
    said = [system["content"].index(text) for text in (PROMPT, RULES, FACT)]
    assert said == sorted(said)
    assert pending["role"] == "user"
    assert pending["content"].endswith("what is my boat called?")


@pytest.mark.parametrize("tools", [False, True], ids=["plain", "tools"])
@pytest.mark.parametrize("loops", LOOPS)
class TestAFactReachesTheModel:
    def test_after_a_restart(self, loops: str, tools: bool, provider: Provider, question: Question) -> None:
        provider.answers.extend(answers_for(loops, "noted", tools=tools))
        in_a_process(FACT, loops=loops, tools=tools)
        before = len(provider.asked)
        provider.answers.extend(answers_for(loops, "Marvellous Ostrich", tools=tools))
        said = in_a_process("what is my boat called?", loops=loops, tools=tools)
        assert said == "Marvellous Ostrich\n"
        question.messages.extend(provider.asked[before].messages)

    def test_after_a_compaction(
        self, loops: str, tools: bool, provider: Provider, question: Question
    ) -> None:
        provider.answers.extend(answers_for(loops, "noted", tools=tools))
        provider.answers.append(f"Facts: {FACT}")
        provider.answers.extend(answers_for(loops, "Marvellous Ostrich", tools=tools))
        in_a_process(FACT, "COMPACT", "what is my boat called?", loops=loops, tools=tools)
        after = len(answers_for(loops, "noted", tools=tools)) + 1
        question.messages.extend(provider.asked[after].messages)
        question.summaries = 1
        assert f"Facts: {FACT}" in json.dumps(question.messages)
        assert "noted" not in json.dumps(question.messages)

    def test_after_a_compaction_and_a_restart(
        self, loops: str, tools: bool, provider: Provider, question: Question
    ) -> None:
        provider.answers.extend(answers_for(loops, "noted", tools=tools))
        provider.answers.append(f"Facts: {FACT}")
        in_a_process(FACT, "COMPACT", loops=loops, tools=tools)
        before = len(provider.asked)
        provider.answers.extend(answers_for(loops, "Marvellous Ostrich", tools=tools))
        in_a_process("what is my boat called?", loops=loops, tools=tools)
        question.messages.extend(provider.asked[before].messages)
        question.summaries = 1
        assert f"Facts: {FACT}" in json.dumps(question.messages)
        assert "noted" not in json.dumps(question.messages)


def test_the_command_line_remembers_across_processes(provider: Provider) -> None:
    provider.answers.append("noted")
    assert command("chat", "Ada", FACT, "-s", PROMPT, "--rules", RULES) == "noted\n"
    provider.answers.append(f"Facts: {FACT}")
    command("compact", "Ada")
    provider.answers.append("Marvellous Ostrich")
    command("chat", "Ada", "what is my boat called?", "-s", PROMPT, "--rules", RULES, "--max-loops", "auto")
    system, pending = provider.asked[-1].messages
    assert [PROMPT in system["content"], RULES in system["content"], FACT in system["content"]] == [True] * 3
    assert pending["content"].endswith("what is my boat called?")


def test_the_task_stands_word_for_word_in_every_step(provider: Provider) -> None:
    task = "Count the boats.\n\n  Then count them again, please."
    provider.answers.extend(["seven", "seven again", "still seven"])
    with Agent("Ada", max_loops=3) as agent:
        assert agent.run(task) == "still seven"
        memory = agent.short_memory.memory_md_path
        assert memory
        assert "(step 2" not in memory.read_text()
    for asked in provider.asked:
        assert_well_formed(asked.messages)
        assert task in asked.messages[0]["content"]
    assert "(step 2 of 3)" in provider.asked[1].messages[-1]["content"]
    assert len(provider.asked) == 3


def test_a_compaction_between_two_steps_keeps_the_task_and_the_form(provider: Provider) -> None:
    task = "Count the boats one by one."
    talk = " ".join(f"boat {number} is moored at the pier" for number in range(60))
    provider.answers.extend([talk, "Done: sixty boats counted", "TASK COMPLETE"])
    with Agent("Ada", max_loops=3, context_length=2000, system_prompt=PROMPT) as agent:
        agent._context_compressor = ContextCompressor(threshold=0.2, keep_tokens=0)
        agent.run(task)
        assert len(agent.last_run.compactions) == 1
    first, _summarising, second = provider.asked
    for asked in (first, second):
        assert_well_formed(asked.messages)
        assert task in asked.messages[1]["content"]
    assert "sixty boats counted" in second.messages[0]["content"]
    assert "boat 3 is moored" not in second.text


def test_a_broken_off_reply_is_not_answered_but_sent_again(provider: Provider) -> None:
    provider.answers.append(Answer("Marvellous", cut="torn"))
    command("chat", "Ada", "what is my boat called?", status=69)
    provider.answers.append("Marvellous Ostrich")
    assert command("chat", "Ada", "--retry") == "Marvellous Ostrich\n"
    assert_well_formed(provider.asked[-1].messages)
    assert provider.asked[-1].messages[-1]["content"].endswith("what is my boat called?")
    shown = json.loads(command("show", "Ada", "--json"))
    assert [entry["text"] for entry in shown["entries"]] == [
        "what is my boat called?",
        "Marvellous",
        "Marvellous Ostrich",
    ]


def test_a_message_after_a_failed_one_makes_one_user_turn(provider: Provider) -> None:
    with Agent("Ada") as agent:
        provider.answers.append(Refusal(500))
        with pytest.raises(Exception, match="the provider failed"):
            agent.run("first")
        provider.answers.append("both")
        agent.run("second")
    assert_well_formed(provider.asked[-1].messages)
    (both,) = provider.asked[-1].messages
    assert "first" in both["content"]
    assert both["content"].endswith("second")
