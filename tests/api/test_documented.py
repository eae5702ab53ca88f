"""The documented API: the snippets people know, with only the import line changed, do what is said beside them."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import agentmem
from agentmem import Agent, Conversation, errors
from agentmem.compressor import ContextCompressor
from agentmem.memory import Memory
from tests.loopback import Answer
from tests.program import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?[+-]\d\d:\d\d"


@pytest.fixture(autouse=True)
def any_model_is_on_loopback(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMEM_API_BASE", provider.url)


def memory_file(workspace: Path, name: str = "ResearchAgent") -> Path:
    return workspace / "agents" / name / "MEMORY.md"


def test_compression_on_and_off(provider: Provider, workspace: Path) -> None:
    agent = Agent(
        agent_name="ResearchAgent",
        model_name="claude-sonnet-4-6",
        max_loops=5,
        context_compression=True,
    )
    static = Agent(
        agent_name="StaticAgent",
        model_name="claude-sonnet-4-6",
        max_loops="auto",
        context_compression=False,
    )
    assert agent.context_compressor is agent._context_compressor
    assert agent._context_compressor
    assert agent._context_compressor.threshold == 0.9
    assert static._context_compressor is None
    provider.answers.extend(["one", "TASK COMPLETE", "two"])
    assert (agent.run("go"), static.run("go")) == ("one", "two")
    assert "two" in memory_file(workspace, "StaticAgent").read_text()
    for each in (agent, static):
        each.close()


def test_programmatic_access(workspace: Path) -> None:
    agent = Agent(
        agent_name="ResearchAgent",
        model_name="claude-sonnet-4-6",
    )
    assert agent.short_memory.memory_md_path == memory_file(workspace)
    agent.short_memory.compact(summary="Researched cloud providers; user prefers GCP for latency reasons.")
    (only,) = agent.short_memory.conversation_history
    assert only["role"] == "System"
    assert only["content"].startswith("[Compressed Memory Summary]")
    assert only["content"].endswith("user prefers GCP for latency reasons.")


def test_configuring_the_compressor(provider: Provider, workspace: Path) -> None:
    agent = Agent(
        agent_name="ResearchAgent",
        model_name="claude-sonnet-4-6",
        max_loops=5,
        context_compression=True,
        context_length=1000,
    )
    agent._context_compressor = ContextCompressor(
        threshold=0.75,  # compress at 75%
        summarizer_model="claude-haiku-4-5",  # cheaper summarizer
        summarizer_temperature=0.1,
        summarizer_max_tokens=3000,
    )
    provider.answers.extend([" ".join(["noted"] * 800), "Summary: the user talks a lot.", "TASK COMPLETE"])
    agent.run("go")
    agent.close()
    summarising = provider.asked[1].body
    assert summarising["model"] == "claude-haiku-4-5"
    assert summarising["temperature"] == 0.1
    assert summarising["max_tokens"] == 3000
    assert "Summary: the user talks a lot." in memory_file(workspace).read_text()


def test_disabling_persistence(provider: Provider, workspace: Path) -> None:
    agent = Agent(agent_name="EphemeralAgent", model_name="gpt-5.4")
    agent.short_memory.memory_md_path = None
    before = memory_file(workspace, "EphemeralAgent").read_bytes()
    provider.answers.append("hello")
    agent.run("hi")
    agent.short_memory.compact(summary="greetings")
    agent.short_memory.add("User", "again")
    assert [item["content"] for item in agent.short_memory.conversation_history] == [
        "[Compressed Memory Summary]\n\ngreetings",
        "again",
    ]
    agent.close()
    assert memory_file(workspace, "EphemeralAgent").read_bytes() == before


def test_memory_off_creates_nothing(provider: Provider, workspace: Path) -> None:
    provider.answers.append("hello")
    with Agent("EphemeralAgent", persistent_memory=False) as agent:
        assert agent.run("hi") == "hello"
        assert agent.short_memory.memory_md_path is None
    assert not workspace.exists()


def test_the_file_is_seeded_with_a_header_and_left_alone_when_it_exists(workspace: Path) -> None:
    Agent("ResearchAgent").close()
    seeded = memory_file(workspace).read_text()
    assert re.fullmatch(
        r"# Agent Memory\n\n\*\*Conversation:\*\* ResearchAgent_id_[0-9a-f-]{36}_conversation\n"
        rf"\*\*Created:\*\* {STAMP}\n\n---\n\n## Interaction Log\n\n",
        seeded,
    )
    Agent("ResearchAgent").close()
    assert memory_file(workspace).read_text() == seeded


def test_the_folder_is_keyed_on_the_name_alone(provider: Provider, workspace: Path) -> None:
    provider.answers.append("noted")
    with Agent("ResearchAgent", "gpt-4o", system_prompt="one") as agent:
        agent.run("teal")
    with Agent("ResearchAgent", "gpt-4o-mini", rules="two") as agent:
        assert "teal" in agent.short_memory.return_history_as_string()
    assert [path.name for path in (workspace / "agents").iterdir()] == ["ResearchAgent"]


def test_history_has_four_parts_in_order(workspace: Path) -> None:
    Memory(workspace / "agents" / "ResearchAgent").append("User", "teal is my colour")
    agent = Agent(
        "ResearchAgent", system_prompt="You research.", rules="Be brief.", custom_rules_prompt="Skills: none."
    )
    history = agent.short_memory.conversation_history
    content = memory_file(workspace).read_text()
    assert [(item["role"], item["content"]) for item in history] == [
        ("System", "You research."),
        ("User", "Be brief."),
        ("User", "Skills: none."),
        ("System", f"[Persistent Memory — MEMORY.md]\n\n{content}"),
    ]
    assert all(re.fullmatch(STAMP, item["timestamp"]) for item in history)
    assert memory_file(workspace).read_text() == content, "the preload is not written back"


def test_without_entries_there_is_no_preload() -> None:
    agent = Agent("ResearchAgent", system_prompt="You research.")
    assert [item["content"] for item in agent.short_memory.conversation_history] == ["You research."]


def test_every_add_writes_through(workspace: Path) -> None:
    memory = Agent("ResearchAgent", system_prompt="You research.").short_memory
    for role, content in [
        ("User", "hello"),
        ("ResearchAgent", "hi"),
        ("Tool (weather)", "rain"),
        ("User", {"structured": [1, "ä"]}),
    ]:
        memory.add(role, content)
        item = memory.conversation_history[-1]
        text = content if isinstance(content, str) else '{"structured": [1, "ä"]}'
        assert (item["role"], item["content"]) == (role, text)
        block = f"### {role} — {item['timestamp']}\n\n{text}\n\n---\n\n"
        assert memory_file(workspace).read_text().endswith(block)
    assert "You research." not in memory_file(workspace).read_text()


def test_history_as_a_string_carries_the_times() -> None:
    memory = Agent("ResearchAgent", rules="Be brief.").short_memory
    memory.add("User", "when did I ask this?")
    first, second = memory.return_history_as_string().split("\n\n")
    assert re.fullmatch(rf"\[{STAMP}\] User: Be brief\.", first)
    assert re.fullmatch(rf"\[{STAMP}\] User: when did I ask this\?", second)


def test_compact_gives_the_documented_state(workspace: Path) -> None:
    agent = Agent(
        "ResearchAgent", system_prompt="You research.", rules="Be brief.", custom_rules_prompt="Skills: none."
    )
    memory = agent.short_memory
    memory.add("User", "which cloud?")
    memory.add("ResearchAgent", "GCP")
    before = memory_file(workspace).read_bytes()
    name = memory.compact(summary="The user prefers GCP.")
    assert [(item["role"], item["content"]) for item in memory.conversation_history] == [
        ("System", "You research."),
        ("User", "Be brief."),
        ("User", "Skills: none."),
        ("System", "[Compressed Memory Summary]\n\nThe user prefers GCP."),
    ]
    archive = memory_file(workspace).parent / "archive" / name
    assert re.fullmatch(r"history_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.md", name)
    assert archive.read_bytes() == before
    (entry,) = Memory(workspace / "agents" / "ResearchAgent").read().entries
    assert (entry.role, entry.text) == ("System", "[Compressed Memory Summary]\n\nThe user prefers GCP.")
    # The next run is preloaded with the summary, not with the raw talk.
    preload = Agent("ResearchAgent").short_memory.conversation_history[0]["content"]
    assert "The user prefers GCP." in preload
    assert "which cloud?" not in preload


def test_the_meter_follows_what_is_done_to_the_memory_by_hand(provider: Provider) -> None:
    with Agent("ResearchAgent", context_length=20_000) as agent:
        empty = agent.meter.tokens
        agent.short_memory.add("User", "one two three " * 1000)
        agent.refresh()
        assert agent.meter.tokens > empty + 2000
        agent.short_memory.compact(summary="counting")
        agent.refresh()
        assert agent.meter.tokens < empty + 200
        provider.answers.append("four")
        assert agent.run("next?") == "four"


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, 90])
def test_a_threshold_outside_0_to_1_is_refused(threshold: float) -> None:
    with pytest.raises(errors.UsageError, match="threshold"):
        ContextCompressor(threshold)


def test_the_compressor_has_the_documented_defaults() -> None:
    compressor = ContextCompressor()
    assert compressor.threshold == 0.9
    assert compressor.summarizer_model is None
    assert compressor.summarizer_temperature == 0.2
    assert compressor.summarizer_max_tokens == 4000


def test_there_is_no_default_agent() -> None:
    with pytest.raises(TypeError, match="agent_name"):
        Agent()  # type: ignore[call-arg]
    with pytest.raises(errors.InvalidAgentName):
        Agent("")


def test_a_conversation_works_by_itself() -> None:
    talk = Conversation("Ada", system_prompt="You are Ada.")
    talk.add("User", "hi")
    assert [item["content"] for item in talk.conversation_history] == ["You are Ada.", "hi"]
    assert talk.memory_md_path is None


def test_every_public_name_is_there() -> None:
    for name in agentmem.__all__:
        assert getattr(agentmem, name) is not None
        assert name in dir(agentmem)
    family = {
        name
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, errors.AgentMemError)
    }
    assert family < set(agentmem.__all__)
    with pytest.raises(AttributeError):
        agentmem.nothing  # noqa: B018


def test_the_import_costs_next_to_nothing() -> None:
    def modules(statement: str) -> set[str]:
        code = f"{statement}\nimport sys; print(*sys.modules)"
        ended = subprocess.run(
            [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
        )
        return set(ended.stdout.split())

    assert modules("import agentmem") - modules("pass") <= {"agentmem", "__future__"}


def test_one_agent_serves_several_threads(provider: Provider, workspace: Path) -> None:
    provider.answers.append(lambda body: Answer(f"heard: {body['messages'][-1]['content'][-8:]}"))
    answers: dict[str, str] = {}
    with Agent("ResearchAgent", "gpt-4o") as agent:

        def ask(task: str) -> None:
            answers[task] = agent.run(task)

        _all_at_once([(ask, f"task {number:03}") for number in range(12)])
    assert answers == {task: f"heard: {task}" for task in answers}
    entries = Memory(workspace / "agents" / "ResearchAgent").read().entries
    pairs = [(entries[at].text, entries[at + 1].text) for at in range(0, 24, 2)]
    assert sorted(pairs) == sorted(answers.items())


def test_each_thread_may_have_its_own_agent(provider: Provider, workspace: Path) -> None:
    provider.answers.append(lambda _body: Answer("ok"))

    def ask(name: str) -> None:
        with Agent(name, "gpt-4o") as agent:
            agent.run("first")
            agent.run("second")

    _all_at_once([(ask, name) for name in ("Ada", "Bob", "Ada", "Cyd", "Ada")])
    assert [len(Memory(workspace / "agents" / name).read().entries) for name in ("Ada", "Bob", "Cyd")] == [
        12,
        4,
        4,
    ]


def _all_at_once(work: list[tuple[object, str]]) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(len(work))

    def run(do: object, what: str) -> None:
        start.wait(60)
        try:
            do(what)  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 # reported by the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures
