"""When compaction fires, when it had better not, and what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentmem import settings
from agentmem.agent.pace import Breaker
from agentmem.compressor import ContextCompressor
from agentmem.errors import ContextOverflow, NotFound, RequestTooLarge, UsageError
from agentmem.memory import Memory
from agentmem.models import openai_wire
from tests.answers import Refusal
from tests.compaction.talks import good, talk
from tests.program import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.answers import Scripted
    from tests.compaction.conftest import Opener
    from tests.loopback import Provider


def summaries(provider: Provider) -> list[dict[str, Any]]:
    return [asked.body for asked in provider.asked if "You condense" in asked.messages[0]["content"]]


def answer(body: dict[str, Any]) -> Scripted:
    """Summarise well when asked to, and say little otherwise."""
    return good(body) if "You condense" in body["messages"][0]["content"] else "fine"


def test_an_ordinary_conversation_is_well_below_the_trigger_after_compaction(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(keep_tokens=None)
    provider.answers.append(answer)
    for number in range(80):
        agent.short_memory.add("User", talk(1, 1, start=number).turns[0][1])
        agent.short_memory.add("Ada", talk(1, 1, start=number).turns[1][1])
        agent.window.measure()
        agent.run("and?")
    assert len(agent.room.compactions) >= 2
    for report in agent.room.compactions:
        assert report.before >= 0.9 * 8192
        assert report.after <= 0.5 * 0.9 * 8192
    assert not [line for line in told if "right after compaction" in line]
    reports = [line for line in told if not line.startswith("compacting: part ")]
    assert reports == [f"compacted: {report.line}" for report in agent.room.compactions]


def test_little_room_after_compaction_is_explained(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    prompt = "You are a lighthouse. " * 600
    agent = opened(talk(1, 16).turns, system_prompt=prompt, context_length=6400)
    provider.answers.append(answer)
    agent.compact()
    (warning,) = told
    assert "right after compaction, more than half of the 5760 at which it fires" in warning
    assert "the system prompt, rules and tools take 30" in warning


def test_three_compactions_within_ten_turns_are_warned_of_once(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    provider.answers.append(answer)
    for number in range(12):  # a process for each turn, as in a script
        agent = opened(context_length=2000)
        agent.short_memory.add("Ada", " ".join(text for _, text in talk(1, 6, start=6 * number).turns))
        agent.window.measure()
        agent.run("and?")
    assert [line for line in told if "three times within ten turns" in line]


def test_a_system_prompt_larger_than_the_trigger_calls_no_summariser_and_is_said_once(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(talk(1, 2).turns, system_prompt="You are a lighthouse. " * 300, threshold=0.1)
    provider.answers.append(answer)
    for _ in range(3):
        assert agent.run("how are you?") == "fine"
    assert summaries(provider) == []
    (message,) = told
    assert "there is nothing it could do" in message


def test_a_system_prompt_larger_than_the_window_is_refused_before_anything(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(system_prompt="You are a lighthouse. " * 3000)
    for _ in range(3):
        with pytest.raises(RequestTooLarge, match="the system prompt, rules and tools ~15"):
            agent.run("how are you?")
    assert provider.asked == []
    assert told == []
    assert agent.short_memory.record == []


def test_the_command_line_refuses_it_with_65(provider: Provider, workspace: Path) -> None:
    ran = run(
        "chat", "Ada", "hello", "-s", "word " * 3000, "--context-length", "1000", "--model", "gpt-4o", "-q"
    )
    assert ran.code == 65
    assert ran.err.count("\n") == 1
    assert provider.asked == []
    assert Memory(workspace / "agents" / "Ada").read().entries == ()


class TestAnUnknownContextLength:
    """It is said to a new agent, and later when the length that is taken instead makes a difference."""

    def test_is_not_said_at_every_start(self, provider: Provider, opened: Opener, told: list[str]) -> None:
        provider.answers.append(answer)
        for _ in range(3):  # a process for each turn, as in a script
            opened(context_length=None, model="openai/mystery").run("how are you?")
        (notice,) = told
        assert notice.startswith("the context length of openai/mystery is unknown; taking 8192 tokens")

    def test_is_said_before_the_compaction_it_causes(
        self, provider: Provider, opened: Opener, told: list[str]
    ) -> None:
        opened(talk(1, 70).turns)
        provider.answers.append(answer)
        agent = opened(context_length=None, model="openai/mystery")
        assert told == []
        agent.run("how are you?")
        assert "is unknown" in told[0]
        assert [line for line in told[1:] if line.startswith("compacted: ")]
        assert not [line for line in told[1:] if "is unknown" in line]

    def test_is_said_when_the_model_is_switched_and_not_only_by_the_next_message(
        self, provider: Provider, opened: Opener, told: list[str]
    ) -> None:
        agent = opened(talk(1, 70).turns, context_length=None)
        assert agent.meter.context_length > 8192
        agent.use_model("gpt-4oo")
        (notice,) = told
        assert notice.startswith(
            "the context length of gpt-4oo is unknown; taking 8192 tokens, which the conv"
        )
        assert notice.endswith("; did you mean 'gpt-4o'?")
        assert provider.asked == []

    def test_is_not_said_at_a_switch_of_what_fits(
        self, provider: Provider, opened: Opener, told: list[str]
    ) -> None:
        agent = opened(talk(1, 4).turns, context_length=None)
        assert agent.meter.tokens
        agent.use_model("gpt-4oo")
        assert agent.meter.context_length == 8192
        assert (told, provider.asked) == ([], [])

    def test_is_said_where_nothing_may_be_compacted(
        self, provider: Provider, opened: Opener, told: list[str]
    ) -> None:
        opened(talk(1, 70).turns)
        with pytest.raises(RequestTooLarge, match="compression is off"):
            opened(context_length=None, model="openai/mystery", compression=False).run("how are you?")
        (notice,) = told
        assert "is unknown" in notice
        assert provider.asked == []

    def test_does_not_matter_to_a_summary_by_hand(
        self, provider: Provider, opened: Opener, told: list[str]
    ) -> None:
        opened(talk(1, 4).turns)
        opened(context_length=None, model="openai/mystery").compact(summary="short")
        assert told == []
        assert provider.asked == []


def test_nothing_to_compact_is_no_matter_in_a_chat(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(threshold=0.05, context_length=2000)
    provider.answers.append(answer)
    assert agent.run("how are you? " * 20) == "fine"
    assert summaries(provider) == []
    assert not [line for line in told if "not compacted" in line]


class TestWithoutCompression:
    """`--no-compression` and `context_compression=False`: no path compacts."""

    def test_a_memory_that_fills_the_window_ends_with_advice(
        self, provider: Provider, opened: Opener
    ) -> None:
        agent = opened(talk(1, 20).turns, context_length=2000, compression=False)
        before = len(agent.short_memory.record)
        with pytest.raises(RequestTooLarge, match=r"agentmem compact Ada`, or leave out --no-compression"):
            agent.run("how are you?")
        assert provider.asked == []
        assert len(agent.short_memory.record) == before + 1

    def test_nor_does_a_retry(self, provider: Provider, opened: Opener) -> None:
        agent = opened([*talk(1, 20).turns, ("User", "well?")], context_length=2000, compression=False)
        with pytest.raises(RequestTooLarge):
            agent.retry()
        assert provider.asked == []

    def test_nor_the_threshold(self, provider: Provider, opened: Opener) -> None:
        agent = opened(talk(1, 20).turns, threshold=0.1, compression=False)
        provider.answers.append("fine")
        assert agent.run("how are you?") == "fine"
        assert len(provider.asked) == 1

    def test_nor_a_providers_refusal(self, provider: Provider, opened: Opener) -> None:
        agent = opened(talk(1, 4).turns, compression=False)
        provider.answers.append(Refusal(400, "maximum context length is 500 tokens"))
        with pytest.raises(ContextOverflow, match="compression is off: run `agentmem compact Ada`"):
            agent.run("how are you?")
        assert len(provider.asked) == 1

    def test_one_that_is_asked_for_goes_by_the_settings(self, provider: Provider, opened: Opener) -> None:
        agent = opened(
            talk(1, 8).turns, compression=False, summarizer_model="gpt-4o-mini", summarizer_temperature=0.9
        )
        provider.answers.append(answer)
        assert agent.compact().archive
        (asked,) = provider.asked
        assert (asked.body["model"], asked.body["temperature"]) == ("gpt-4o-mini", 0.9)

    def test_from_the_command_line(self, provider: Provider, opened: Opener, workspace: Path) -> None:
        opened(talk(1, 20).turns)
        ran = run(
            "chat", "Ada", "hello", "--no-compression", "--context-length", "2000", "--model", "gpt-4o", "-q"
        )
        assert ran.code == 65
        assert "leave out --no-compression" in ran.err
        assert ran.err.count("\n") == 1
        memory = Memory(workspace / "agents" / "Ada")
        assert memory.read().entries[-1].text == "hello"
        assert memory.archives() == []
        assert provider.asked == []


def test_a_providers_refusal_teaches_the_window_and_makes_room(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 20).turns)
    refusal = Refusal(400, "maximum context length is 3000 tokens")
    provider.answers.extend([refusal, answer])
    assert agent.run("how are you?") == "fine"
    assert agent.meter.context_length == 3000
    assert agent.meter.tokens < 3000


def test_the_reply_is_bounded_by_what_is_left(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 20).turns, max_tokens=6000)
    provider.answers.append("fine")
    agent.run("how are you?")
    assert 0 < provider.asked[0].body["max_tokens"] <= 8192 - 3000


def test_the_breaker_opens_after_two_poor_passes_until_usage_has_grown() -> None:
    breaker = Breaker()
    breaker.passed(1000, 950)
    assert not breaker.holds(950, 1000)
    breaker.passed(1000, 950)
    assert breaker.holds(950, 1000)
    assert breaker.holds(999, 1000)
    assert not breaker.holds(1000, 1000)
    breaker.passed(1000, 500)
    assert not breaker.holds(500, 1000)


def test_two_poor_passes_in_a_row_make_compaction_rest(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(talk(1, 30).turns, threshold=0.3, keep_tokens=5000, context_length=16_000)
    agent.short_memory.add("User", "so? " * 200)
    agent.window.measure()
    provider.answers.append(answer)
    for _ in range(6):
        assert agent.run("and?") == "fine"
    assert len(summaries(provider)) <= 4
    assert len([line for line in told if "compaction rests" in line]) <= 1


def test_undo_from_python(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 8).turns)
    assert agent.short_memory.memory
    before = agent.short_memory.memory.path.read_bytes()
    tokens = agent.meter.tokens
    with pytest.raises(NotFound, match="nothing to undo"):
        agent.undo_compaction()
    provider.answers.append(answer)
    archive = agent.compact().archive
    assert agent.undo_compaction() == archive
    assert agent.short_memory.memory.path.read_bytes() == before
    assert abs(agent.meter.tokens - tokens) < 500  # the preload has the file's headings


def test_two_compactions_in_one_second_give_two_archives(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 4).turns)
    provider.answers.append(answer)
    names = [agent.compact(summary=f"number {number}").archive for number in range(3)]
    assert len(set(names)) == 3


def test_a_conversation_that_is_not_on_disk_is_compacted_too(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 8).turns, memory=False)
    provider.answers.append(answer)
    report = agent.compact()
    assert report.archive == ""
    assert report.details_kept == report.details
    assert [turn.role for turn in agent.short_memory.turns] == ["System"]
    with pytest.raises(NotFound):
        agent.undo_compaction()


def test_the_compressor_can_be_used_by_hand(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 8).turns)
    provider.answers.append(answer)
    compressor = ContextCompressor(0.5, None, 0.3, 500)
    report = compressor.compress(agent.short_memory, agent.model, agent.meter, window=8192)
    assert report.archive
    assert provider.asked[0].body["temperature"] == 0.3
    with pytest.raises(UsageError):
        ContextCompressor(0)


def test_thirty_generations_keep_the_first_facts_within_reach(
    provider: Provider, opened: Opener, workspace: Path
) -> None:
    agent = opened(context_length=8192)
    memory = agent.short_memory.memory
    assert memory
    provider.answers.append(answer)
    planted, replaced = [], []
    for generation in range(30):
        made = talk(9, 4, start=4 * generation)
        planted += made.planted
        for role, text in made.turns:
            agent.short_memory.add(role, text)
        agent.window.measure()
        replaced.append(memory.path.read_bytes())
        agent.compact()
        agent.run("and?")
        assert agent.meter.tokens < 8192
    assert max(len(asked.text) for asked in provider.asked) < 8192 * 6
    archived = [memory.read_archive(archive.name)[1] for archive in memory.archives()]
    assert archived == replaced
    now = memory.path.read_bytes()
    assert b"never deploy on a weekend" in now
    everything = b"".join([*archived, now]).decode()
    assert [fact.text for fact in planted if fact.text not in everything] == []
    assert run("show", "Ada").code == 0
    assert Memory(workspace / "agents" / "Ada").read().raw == now


def test_the_summarisers_connections_are_closed(
    provider: Provider, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.models = [{"id": "small", "context_length": 4000}]
    agent = opened(talk(1, 8).turns, summarizer_model="openai/small")
    closed: list[str] = []
    close = openai_wire.OpenAIWire.close

    def closing(wire: openai_wire.OpenAIWire) -> None:
        closed.append(wire.name)
        close(wire)

    monkeypatch.setattr(openai_wire.OpenAIWire, "close", closing)
    provider.answers.append(answer)
    agent.compact()
    assert closed == ["openai/small"]


def test_the_settings_reach_the_compressor(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMEM_SUMMARIZER_MAX_TOKENS", "77")
    agent = opened(summarizer_temperature=0.9)
    compressor = agent.context_compressor
    assert compressor
    assert (compressor.summarizer_max_tokens, compressor.summarizer_temperature) == (77, 0.9)
    assert settings.TABLE["max_summary_calls"].default == compressor.max_summary_calls == 32
