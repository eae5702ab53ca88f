"""What becomes of MEMORY.md with summarisers that are good, and bad in every way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from agentmem.compressor.ledger import TITLE
from agentmem.errors import CompactionFailed, ModelError
from tests.answers import Answer, Refusal
from tests.compaction.talks import (
    BAD,
    INVENTED,
    RULES,
    SUMMARISERS,
    good,
    hallucinating,
    lossy,
    read,
    summarising,
    talk,
)

if TYPE_CHECKING:
    from agentmem import Agent
    from tests.compaction.conftest import Opener
    from tests.loopback import Provider


def memory_of(agent: Agent) -> bytes:
    memory = agent.short_memory.memory
    assert memory
    return memory.path.read_bytes()


def archives_of(agent: Agent) -> list[bytes]:
    memory = agent.short_memory.memory
    assert memory
    return [memory.read_archive(archive.name)[1] for archive in memory.archives()]


@pytest.mark.parametrize("kind", BAD)
def test_a_useless_summary_changes_nothing(kind: str, provider: Provider, opened: Opener) -> None:
    agent = opened(talk(1, 12).turns)
    before = memory_of(agent)
    provider.answers.append(SUMMARISERS[kind])
    with pytest.raises((CompactionFailed, ModelError)):
        agent.compact()
    assert memory_of(agent) == before
    assert archives_of(agent) == []
    assert len(provider.asked) <= 2


@pytest.mark.parametrize("kind", BAD)
def test_while_the_request_fits_a_useless_summary_is_reported_and_the_chat_goes_on(
    kind: str, provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(talk(1, 12).turns, threshold=0.2)
    before = memory_of(agent)
    provider.answers.append(summarising(SUMMARISERS[kind]))
    assert agent.run("how are you?") == "I am fine"
    assert memory_of(agent).startswith(before)
    assert [line for line in told if line.startswith("not compacted: ")] == told
    assert len(told) == 1
    assert len(provider.asked) <= 3


@pytest.mark.parametrize("kind", BAD)
def test_when_the_request_would_not_fit_a_useless_summary_is_replaced_by_a_labelled_extract(
    kind: str, provider: Provider, opened: Opener, told: list[str]
) -> None:
    made = talk(1, 24)
    agent = opened(made.turns, context_length=4200, threshold=1.0)
    before = memory_of(agent)
    provider.answers.append(summarising(SUMMARISERS[kind]))
    assert agent.run("how are you?") == "I am fine"
    after = memory_of(agent).decode()
    assert archives_of(agent)[0].startswith(before)
    assert len(after) < len(before) / 2
    assert "(Made without a model: " in after
    assert [line for line in told if line.startswith("compacted: ") and "made without a model" in line]
    for text in ("on fire", "can't help", "Error: upstream", "the first thing that was"):
        assert text not in after
    assert len(provider.asked) <= 3
    assert all(rule in after for rule in RULES)
    assert agent.meter.tokens <= 4200


def test_a_summariser_that_is_useless_twice_is_not_asked_again(
    provider: Provider, opened: Opener, told: list[str]
) -> None:
    agent = opened(context_length=3000, threshold=1.0)
    provider.answers.append(summarising(SUMMARISERS["refusing"]))
    for number in range(20):
        for role, text in talk(2, 4, start=4 * number).turns:
            agent.short_memory.add(role, text)
        agent.window.measure()
        agent.run("how are you?")
    asked = [each for each in provider.asked if "You condense" in each.messages[0]["content"]]
    assert len(agent.room.compactions) > 4
    assert len(asked) == 4  # two compactions, one retry each
    assert told


@pytest.mark.parametrize("kind", ["good", "lossy", "hallucinating", "thinking"])
def test_nothing_planted_is_lost_through_five_generations(
    kind: str, provider: Provider, opened: Opener
) -> None:
    agent = opened(context_length=32_000)
    provider.answers.append(SUMMARISERS[kind])
    planted = []
    for generation in range(5):
        made = talk(3, 6, start=6 * generation)
        planted += made.planted
        for role, text in made.turns:
            agent.short_memory.add(role, text)
        agent.window.measure()
        before = memory_of(agent)
        report = agent.compact()
        text = memory_of(agent).decode()
        assert [fact.text for fact in planted if fact.text not in text] == []
        assert report.details_kept == report.details
        assert report.calls <= 2
        assert report.after < report.before
        assert archives_of(agent)[-1] == before
        assert not any(each in text for each in INVENTED)
        assert "bright green" not in text


def test_what_the_ledger_cannot_hold_is_ranked_and_counted(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(4, 120, words=8).turns, context_length=16_000)
    provider.answers.append(lambda _body: "## Goal\n- to see what stays")
    report = agent.compact()
    text = memory_of(agent).decode()
    assert all(rule in text for rule in RULES)
    assert report.details_kept < report.details
    left_out = re.search(r"Left out for lack of room: (\d+) more details", text)
    assert left_out
    assert int(left_out[1]) == report.details - report.details_kept
    assert f"{report.details_kept}/{report.details} details kept" in report.line
    assert agent.meter.size(text.split(TITLE)[1]) <= 0.05 * 16_000 + 60


def test_a_poor_summary_is_asked_for_once_more_with_what_it_lacks(provider: Provider, opened: Opener) -> None:
    made = talk(5, 8)
    agent = opened(made.turns, context_length=32_000)
    provider.answers.extend([lossy, good])
    report = agent.compact()
    missing = provider.asked[1].messages[-1]["content"]
    assert "<details>" in missing
    first = read(provider.asked[0].body)
    assert made.planted[1].text in first
    assert report.retried
    assert report.calls == 2


def test_a_good_summary_is_asked_for_once(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(5, 8).turns, context_length=32_000)
    provider.answers.append(good)
    report = agent.compact()
    assert (report.calls, report.retried, len(provider.asked)) == (1, False, 1)


def test_a_summary_that_was_cut_off_is_asked_for_once_more(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(5, 8).turns, context_length=32_000)
    provider.answers.extend([Answer("cut", finish="length"), good])
    assert agent.compact().calls == 2
    assert "cut off" in provider.asked[1].messages[-1]["content"]


def test_an_invented_quotation_or_identifier_is_dropped_and_counted(
    provider: Provider, opened: Opener
) -> None:
    agent = opened(talk(5, 8).turns, context_length=32_000)
    provider.answers.append(hallucinating)
    report = agent.compact()
    assert report.invented == len(INVENTED) + 1
    assert "6 invented details dropped" in report.line


def test_what_stands_only_in_an_archive_is_no_invention(provider: Provider, opened: Opener) -> None:
    agent = opened(
        [("User", "the code is QRS-4711, keep it. " + "so it goes on and on. " * 20), ("Ada", "I will")]
    )
    agent.compact(summary="Nothing much.")
    agent.short_memory.add("User", "what was it? " + "so it goes on and on. " * 20)
    provider.answers.append("- The code is QRS-4711.")
    assert agent.compact().invented == 0
    assert "QRS-4711" in memory_of(agent).decode()


def test_the_report_reads_as_promised(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(5, 20).turns, context_length=32_000)
    provider.answers.append(good)
    report = agent.compact()
    assert re.fullmatch(
        r"\d\.\dk → (?:\d\.\dk|\d+) tokens · raw log in archive/history_\S+\.md · (\d+)/\1 details kept",
        report.line,
    )


def test_the_summarisers_usage_is_not_the_conversations(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(5, 20).turns)
    provider.answers.append(lambda body: Answer(str(good(body)), usage=(123_456, 77, 0)))
    report = agent.compact()
    assert (report.usage.prompt_tokens, report.usage.completion_tokens) == (123_456, 77)
    assert report.after == agent.meter.tokens < 8192
    fresh = opened()
    assert abs(fresh.meter.tokens - agent.meter.tokens) < 200  # the heading and header of the file
    assert agent.last_reply.usage.prompt_tokens == 0


def test_an_unreachable_provider_leaves_everything(provider: Provider, opened: Opener) -> None:
    agent = opened(talk(5, 8).turns)
    before = memory_of(agent)
    provider.answers.append(Refusal(503))
    with pytest.raises(ModelError):
        agent.compact()
    assert memory_of(agent) == before
