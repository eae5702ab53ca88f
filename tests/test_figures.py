"""Figures as people read them."""

from __future__ import annotations

import pytest

from agentmem import figures


@pytest.mark.parametrize(
    ("count", "tokens", "size"),
    [
        (0, "0", "0 B"),
        (999, "999", "999 B"),
        (1000, "1.0k", "1.0 kB"),
        (999_940, "999.9k", "999.9 kB"),
        (999_960, "1.0M", "1.0 MB"),
        (12_340_000, "12.3M", "12.3 MB"),
        (999_960_000, "1000.0M", "1.0 GB"),
    ],
)
def test_amounts_have_the_unit_they_round_to(count: int, tokens: str, size: str) -> None:
    assert (figures.tokens(count), figures.size(count)) == (tokens, size)


@pytest.mark.parametrize(
    ("dollars", "said"),
    [(0.0, "$0.0000"), (0.00002, "<$0.0001"), (0.0213, "$0.0213"), (0.99996, "$1.0000"), (12.3, "$12.30")],
)
def test_small_amounts_are_no_nothing(dollars: float, said: str) -> None:
    assert figures.money(dollars) == said
