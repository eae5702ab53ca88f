from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.tokens import MESSAGE_OVERHEAD, Estimator, Meter
from tests.program import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

ESTIMATOR = Estimator("gpt-4o")


class Counting(Estimator):
    """Counts for real and remembers what it was asked to count."""

    def __init__(self) -> None:
        super().__init__("gpt-4o")
        self.counted: list[str] = []

    def counts(self, text: str) -> Iterator[int]:
        for start, tokens in enumerate(super().counts(text)):
            self.counted.append(text if not start else "")
            yield tokens


@given(st.text(max_size=400))
def test_there_are_never_more_tokens_than_bytes(text: str) -> None:
    assert ESTIMATOR.count(text) <= len(text.encode("utf-8", "replace"))


def test_one_endless_word_is_counted_in_linear_time() -> None:
    assert ESTIMATOR.count("a" * 2_000_000) > 10_000


def test_counting_needs_no_network() -> None:
    script = (
        "import socket\n"
        "def refuse(*_): raise OSError('no network')\n"
        "socket.socket.connect = refuse\n"
        "from agentmem.tokens import Estimator\n"
        "print(Estimator('gpt-4o').count('hello world'), Estimator('gpt-4').count('hello world'))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout == "2 2\n"


def test_nothing_is_counted_while_the_bytes_are_few() -> None:
    estimator = Counting()
    meter = Meter(estimator, 10_000)
    meter.restart(["hello " * 100])
    meter.add("more")
    assert not meter.reaches(9_000)
    assert not estimator.counted


def test_a_huge_memory_is_counted_only_until_it_is_too_much() -> None:
    estimator = Counting()
    meter = Meter(estimator, 10_000)
    meter.restart(["hello " * 1_000_000, "the end"])
    assert meter.reaches(9_000)
    assert len(estimator.counted) < 5
    assert meter.reaches(9_000)
    assert len(estimator.counted) < 5
    assert meter.tokens == sum(ESTIMATOR.count(text) + 4 for text in ("hello " * 1_000_000, "the end"))


@given(st.lists(st.text(max_size=3000), max_size=4), st.lists(st.integers(0, 20_000), max_size=4))
def test_counting_in_parts_is_counting(texts: list[str], limits: list[int]) -> None:
    meter = Meter(ESTIMATOR, 10_000)
    meter.restart(texts)
    whole = sum(ESTIMATOR.count(text) + MESSAGE_OVERHEAD for text in texts)
    for limit in limits:
        assert meter.reaches(limit) == (whole >= limit)
    assert meter.tokens == whole


def test_a_turn_counts_only_what_is_new() -> None:
    estimator = Counting()
    meter = Meter(estimator, 10_000)
    meter.restart(["history " * 1000])
    before = meter.tokens
    estimator.counted.clear()
    meter.add("just this")
    assert meter.tokens == before + ESTIMATOR.count("just this") + MESSAGE_OVERHEAD
    assert estimator.counted == ["just this"]


def test_the_providers_word_replaces_the_estimate() -> None:
    meter = Meter(ESTIMATOR, 10_000)
    meter.restart(["some words here"])
    assert meter.estimated
    meter.report(1234)
    assert (meter.tokens, meter.estimated) == (1234, False)
    meter.add("reply")
    assert meter.tokens > 1234
    assert meter.estimated


def test_zero_usage_is_unknown_not_nothing() -> None:
    meter = Meter(ESTIMATOR, 10_000)
    meter.restart(["some words here"])
    before = meter.tokens
    meter.report(0)
    assert meter.tokens == before
    assert meter.estimated


def test_estimates_learn_from_what_was_reported() -> None:
    meter = Meter(ESTIMATOR, 100_000)
    meter.restart(["word " * 1000])
    meter.report(round(meter.tokens * 1.5))
    assert meter.estimate("word " * 1000) == pytest.approx(
        1.5 * (ESTIMATOR.count("word " * 1000) + 4), rel=0.01
    )


def test_what_a_short_request_costs_besides_its_words_is_not_taken_for_a_ratio() -> None:
    meter = Meter(ESTIMATOR, 1000)
    meter.restart(["Tell me about tulips in two sentences."])
    raw = meter.tokens
    meter.report(raw + 60)
    assert meter.estimate("word " * 100) == ESTIMATOR.count("word " * 100) + MESSAGE_OVERHEAD


@given(st.integers(1, 10**9))
def test_a_provider_that_exaggerates_moves_estimates_at_most_twofold(reported: int) -> None:
    meter = Meter(ESTIMATOR, 100_000)
    meter.restart(["word " * 1000])
    raw = meter.tokens
    meter.report(reported)
    assert raw // 2 <= meter.estimate("word " * 1000) + MESSAGE_OVERHEAD <= raw * 2 + MESSAGE_OVERHEAD


def test_after_a_restart_the_request_is_measured_anew_with_what_was_learnt() -> None:
    meter = Meter(ESTIMATOR, 100_000)
    meter.restart(["word " * 1000])
    raw = meter.tokens
    meter.report(raw * 2)
    meter.restart(["word " * 1000])
    assert meter.tokens == pytest.approx(raw * 2, rel=0.01)
