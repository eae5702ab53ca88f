from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.repl.bar import STYLES, Gauge, bar, cells, short

ADA = Gauge("Ada", "gpt-4o", 91_000, 128_000, estimated=False)

gauges = st.builds(
    Gauge,
    agent=st.one_of(st.just("Ada"), st.just("研究員エージェント"), st.text("aé漢", min_size=1, max_size=64)),
    model=st.sampled_from(["", "gpt-4o", "anthropic/claude-sonnet-4-6", "local:/models/a.gguf"]),
    used=st.integers(0, 10**7),
    limit=st.one_of(st.none(), st.integers(1, 2 * 10**6)),
    threshold=st.floats(0.01, 1),
    estimated=st.booleans(),
    compression=st.booleans(),
    activity=st.sampled_from(["", "compacting, part 3 of 7"]),
    done=st.one_of(st.none(), st.floats(0, 1)),
)


def text(gauge: Gauge, width: int = 80, *, unicode: bool = True) -> str:
    return "".join(part for _, part in bar(gauge, width, unicode=unicode))


@given(gauges, st.integers(1, 300), st.booleans())
def test_bar_never_exceeds_its_width(gauge: Gauge, width: int, unicode: bool) -> None:
    fragments = bar(gauge, width, unicode=unicode)
    assert cells(fragments) <= width
    assert {style for style, _ in fragments} <= {"", *STYLES}
    if not unicode and gauge.agent.isascii():
        assert text(gauge, width, unicode=False).isascii()


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (300, "Ada · gpt-4o · ███████████▍░░│░░ 71% · 91k/128k · compacts at 90%"),
        (80, "Ada · gpt-4o · ███████████▍░░│░░ 71% · 91k/128k · compacts at 90%"),
        (50, "Ada · gpt-4o · ███████████▍░░│░░ 71% · 91k/128k"),
        (40, "Ada · gpt-4o · █████▊░│░ 71% · 91k/128k"),
        (30, "Ada · █████▊░│░ 71% · 91k/128k"),
        (20, "Ada · █████▊░│░ 71%"),
        (10, "██▉░│ 71%"),
        (4, "71%"),
    ],
)
def test_bar_drops_parts_as_the_terminal_narrows(width: int, shown: str) -> None:
    assert text(ADA, width) == shown


def test_bar_without_unicode_is_ascii() -> None:
    assert text(ADA, unicode=False) == "Ada - gpt-4o - [###########---|--] 71% - 91k/128k - compacts at 90%"


def test_estimates_are_marked() -> None:
    assert "~71% · ~91k/128k" in text(Gauge("Ada", "gpt-4o", 91_000, 128_000))


def test_unknown_context_length_is_said() -> None:
    assert text(Gauge("Ada", "m", 1200)) == "Ada · m · ~1.2k tokens · context length unknown"


def test_without_compression_no_threshold_is_promised() -> None:
    shown = text(Gauge("Ada", "m", 1, 100, compression=False))
    assert "│" not in shown
    assert "compaction off" in shown


def test_compaction_shows_its_progress_instead() -> None:
    shown = text(Gauge("Ada", "m", 1, 100, activity="compacting, part 3 of 7", done=3 / 7))
    assert shown == "Ada · m · ██████▉░░░░░░░░░ compacting, part 3 of 7"


@pytest.mark.parametrize(
    ("used", "zone"), [(0, "calm"), (67, "calm"), (68, "near"), (89, "near"), (90, "full"), (300, "full")]
)
def test_colour_follows_the_zone(used: int, zone: str) -> None:
    styles = [
        style
        for style, part in bar(Gauge("Ada", "m", used, 100), 80)
        if part.endswith("%") and " " not in part
    ]
    assert styles == [zone]


def test_the_gauge_moves_with_every_eighth_of_a_cell() -> None:
    assert len({text(Gauge("Ada", "m", used, 1280, estimated=False)) for used in range(0, 1280, 10)}) == 128


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (9100, "9.1k"),
        (91_499, "91k"),
        (1_000_000, "1M"),
        (1_250_000, "1.2M"),
    ],
)
def test_short_figures(tokens: int, said: str) -> None:
    assert short(tokens) == said
