"""Records far longer than a window, the summariser's own settings, and results kept for another run."""

from __future__ import annotations

import json
import re
import stat
from typing import TYPE_CHECKING, Any

import pytest

from agentmem.errors import CompactionFailed, ModelError
from agentmem.memory import Memory
from tests.answers import Refusal
from tests.compaction.talks import FILLER, good, talk
from tests.program import run

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem import Agent
    from tests.compaction.conftest import Opener
    from tests.loopback import Provider

NOTE = "- it was talked about"


def path_of(agent: Agent) -> Path:
    assert agent.short_memory.memory
    return agent.short_memory.memory.path


def marked(number: int, words: int) -> list[tuple[str, str]]:
    """Return exchanges that carry their number, so that one can see where each of them went."""
    filler = " ".join(FILLER[each % len(FILLER)] for each in range(words))
    return [
        ("User" if each % 2 == 0 else "Ada", f"it begins mark{each:04}x {filler} mark{each:04}y it ends")
        for each in range(number)
    ]


def parts_asked(provider: Provider, since: int = 0) -> list[str]:
    """Return what the summariser was given to condense, without the merges."""
    return [
        asked.messages[-1]["content"]
        for asked in provider.asked[since:]
        if "one part of a longer conversation" in asked.messages[0]["content"]
    ]


def test_a_transcript_twenty_times_the_window_is_summarised_whole(provider: Provider, opened: Opener) -> None:
    provider.models = [{"id": "small", "context_length": 2000}]
    agent = opened(marked(250, 140), context_length=100_000, summarizer_model="openai/small")
    assert agent.meter.tokens > 20 * 2000
    provider.answers.append(lambda _body: NOTE)
    progress: list[tuple[int, int]] = []
    assert agent.context_compressor
    agent.context_compressor.max_summary_calls = 200
    report = agent.compact(progress=lambda part, parts: progress.append((part, parts)))
    given = "\n".join(parts_asked(provider))
    marks = re.findall(r"mark\d{4}[xy]", given)
    assert sorted(marks) == [f"mark{number:04}{end}" for number in range(250) for end in "xy"]
    assert report.left_out == 0
    assert report.calls == len(provider.asked) <= 200
    assert [part for part, _ in progress] == list(range(1, len(progress) + 1))
    assert all(part <= parts for part, parts in progress)
    for asked in provider.asked:
        assert agent.meter.size(asked.text) < 2000


def test_the_system_prompt_and_rules_are_no_part_of_what_is_summarised(
    provider: Provider, opened: Opener
) -> None:
    agent = opened(
        [*talk(1, 4).turns],
        system_prompt="You are a lighthouse.",
        rules="Blink twice.",
        context_length=16_000,
    )
    provider.answers.append(good)
    agent.compact()
    assert not any("lighthouse" in asked.text or "Blink" in asked.text for asked in provider.asked)


def test_the_summary_before_is_a_block_of_its_own_and_the_focus_is_told(
    provider: Provider, opened: Opener
) -> None:
    agent = opened(talk(1, 4).turns, context_length=16_000)
    agent.compact(summary="We spoke of a lighthouse.")
    for role, text in talk(1, 4, start=4).turns:
        agent.short_memory.add(role, text)
    agent.window.measure()
    provider.answers.append(good)
    agent.compact(focus="the ferries")
    system, said = provider.asked[0].messages
    assert "<previous-summary>\nWe spoke of a lighthouse.\n</previous-summary>" in said["content"]
    assert "lighthouse" not in said["content"].split("<record>")[1]
    assert "the ferries" in system["content"]


def test_beyond_the_calls_allowed_the_oldest_part_is_reported_and_its_details_stay(
    provider: Provider, opened: Opener
) -> None:
    provider.models = [{"id": "small", "context_length": 2000}]
    said = [("User", "never forget the code ABC-12345"), ("Ada", "I will not"), *marked(100, 140)]
    agent = opened(said, context_length=50_000, summarizer_model="openai/small", max_summary_calls=6)
    provider.answers.append(lambda _body: NOTE)
    report = agent.compact()
    assert len(provider.asked) == report.calls <= 6
    assert report.left_out > 0
    assert f"{report.left_out} parts" in report.line
    given = "\n".join(parts_asked(provider))
    assert "mark0000x" not in given
    assert "mark0099y" in given
    text = path_of(agent).read_text()
    assert "never forget the code ABC-12345" in text
    assert f"the oldest ~{report.unread} tokens" in text


def test_with_a_single_call_allowed_the_newest_is_summarised(provider: Provider, opened: Opener) -> None:
    provider.models = [{"id": "small", "context_length": 2000}]
    agent = opened(
        marked(60, 140), context_length=50_000, summarizer_model="openai/small", max_summary_calls=1
    )
    provider.answers.append(NOTE)
    assert agent.compact().left_out > 0
    assert "mark0059y" in provider.asked[0].text


def test_the_summarisers_settings_are_its_own_and_its_window_bounds_its_output(
    provider: Provider, opened: Opener
) -> None:
    provider.models = [{"id": "small", "context_length": 2400}]
    agent = opened(
        talk(1, 4).turns,
        context_length=50_000,
        summarizer_model="openai/small",
        summarizer_temperature=0.7,
        summarizer_max_tokens=3000,
        temperature=0.1,
    )
    provider.answers.append(good)
    agent.compact()
    body = provider.asked[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("small", 0.7, 600)
    assert agent.meter.context_length == 50_000


def test_a_window_too_small_to_summarise_anything_is_said_so(provider: Provider, opened: Opener) -> None:
    provider.models = [{"id": "tiny", "context_length": 300}]
    agent = opened(talk(1, 4).turns, context_length=50_000, summarizer_model="openai/tiny")
    with pytest.raises(CompactionFailed, match="too small to summarise anything"):
        agent.compact()
    assert provider.asked == []


def test_an_overflow_of_the_summariser_makes_the_parts_smaller(provider: Provider, opened: Opener) -> None:
    agent = opened(marked(30, 140), context_length=16_000)
    refusal = Refusal(
        400, "This model's maximum context length is 2000 tokens", code="context_length_exceeded"
    )
    provider.answers.extend([refusal, lambda _body: NOTE])
    agent.compact()
    assert len(parts_asked(provider)) > 1
    assert agent.meter.size(provider.asked[1].text) < 2000


class TestResultsAreKept:
    """A run that broke off half-way is not paid for twice."""

    @pytest.fixture
    def agent(self, provider: Provider, opened: Opener) -> Agent:
        provider.models = [{"id": "small", "context_length": 2000}]
        return opened(
            marked(24, 140), context_length=50_000, summarizer_model="openai/small", max_summary_calls=32
        )

    def broken_off(self, provider: Provider, agent: Agent) -> Path:
        answered = [0]

        def answer(_body: dict[str, Any]) -> Any:
            answered[0] += 1
            return (
                Refusal(500)
                if answered[0] > 2
                else f"{NOTE}, the {'first' if answered[0] < 2 else 'next'} half"
            )

        provider.answers.append(answer)
        with pytest.raises(ModelError):
            agent.compact()
        provider.answers.clear()
        return path_of(agent).parent / ".agentmem" / "summary-parts.json"

    def test_by_the_next_run(self, provider: Provider, agent: Agent) -> None:
        file = self.broken_off(provider, agent)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        before, since = parts_asked(provider), len(provider.asked)
        provider.answers.append(lambda _body: NOTE)
        agent.compact()
        after = parts_asked(provider, since)
        assert before[0] not in after
        assert before[1] not in after
        assert before[2] in after
        assert not file.exists()

    def test_until_something_is_forgotten(self, provider: Provider, agent: Agent, workspace: Path) -> None:
        file = self.broken_off(provider, agent)
        memory = Memory(workspace / "agents" / "Ada")
        entry = memory.read().entries[0]
        memory.forget(lambda _name, each: each.stamp == entry.stamp)
        assert not file.exists()
        assert not any(b"first half" in path.read_bytes() for path in workspace.rglob("*") if path.is_file())

    def test_redacted(self, provider: Provider, opened: Opener) -> None:
        key = "sk-proj-" + "Ab3dEf6hIj9k" * 4
        agent = opened([("User", f"use {key} for it, please. " + "so it goes on. " * 90), ("Ada", "I will")])
        provider.answers.extend([f"- it is {key}.", Refusal(500)])
        memory = agent.short_memory.memory
        assert memory
        snapshot = agent.short_memory.snapshot
        assert snapshot
        assert memory.keep_summary_part("k", f"it is {key}", snapshot)
        assert key not in (memory.folder / ".agentmem" / "summary-parts.json").read_text()
        provider.answers.clear()

    def test_only_while_the_text_stands(self, agent: Agent) -> None:
        memory, snapshot = agent.short_memory.memory, agent.short_memory.snapshot
        assert memory
        assert snapshot
        memory.path.write_bytes(b"# Agent Memory\n\nall new\n")
        assert not memory.keep_summary_part("k", "what once stood there", snapshot)
        assert memory.summary_parts() == {}

    def test_and_a_damaged_file_of_them_is_no_harm(self, provider: Provider, agent: Agent) -> None:
        self.broken_off(provider, agent).write_bytes(b"\x00 no json")
        provider.answers.append(lambda _body: NOTE)
        assert agent.compact().archive


def big(path: Path, size: int) -> None:
    """Write a MEMORY.md of about `size` bytes."""
    memory = Memory(path)
    memory.ensure()
    entries = []
    written = 0
    for number, (role, text) in enumerate(marked(2 * size // 1000, 80)):
        stamp = f"2026-01-{1 + number // 86400:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000000+00:00"
        block = f"### {role} — {stamp}\n\n{text}\n\n---\n\n".encode()
        entries.append(block)
        written += len(block)
        if written >= size:
            break
    with memory.path.open("ab") as file:
        file.writelines(entries)


def test_ten_megabytes_are_compacted_within_the_calls_allowed(
    provider: Provider, opened: Opener, workspace: Path
) -> None:
    big(workspace / "agents" / "Ada", 10_000_000)
    agent = opened(context_length=128_000)
    provider.answers.append(lambda _body: NOTE)
    report = agent.compact()
    assert len(provider.asked) == report.calls <= 32
    assert report.left_out == 0
    assert path_of(agent).stat().st_size < 100_000


def test_ten_megabytes_in_a_small_window_leave_the_oldest_to_the_archive(
    provider: Provider, opened: Opener, workspace: Path
) -> None:
    big(workspace / "agents" / "Ada", 10_000_000)
    before = (workspace / "agents" / "Ada" / "MEMORY.md").read_bytes()
    agent = opened(context_length=8192)
    provider.answers.append(lambda body: NOTE if "You condense" in body["messages"][0]["content"] else "fine")
    assert agent.run("how are you?") == "fine"
    report = agent.room.compactions[0]
    assert len(provider.asked) <= 33
    assert report.left_out > 100
    assert Memory(workspace / "agents" / "Ada").read_archive("latest")[1].startswith(before)
    assert agent.meter.tokens < 0.5 * 0.9 * 8192


def test_five_megabytes_piped_in_are_refused_and_not_stored(provider: Provider, workspace: Path) -> None:
    ran = run("chat", "Ada", "summarise", "--model", "gpt-4o", "-q", stdin=b"word " * 1_000_000)
    assert ran.code == 65, ran.err
    assert "shorten" in ran.err
    assert ran.err.count("\n") == 1
    assert provider.asked == []
    assert Memory(workspace / "agents" / "Ada").read().entries == ()


def test_json_tells_everything(provider: Provider, opened: Opener) -> None:
    opened(talk(1, 8).turns)
    provider.answers.append(good)
    ran = run("compact", "Ada", "--json", "--model", "gpt-4o", "--keep-tokens", "0")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["archive"].startswith("history_")
    assert told["details"] == told["details_kept"] > 10
    assert told["tokens_after"] < told["tokens_before"]
    assert told["calls"] == 1
    assert told["prompt_tokens"] > 0
