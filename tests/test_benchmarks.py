from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from agentmem.memory import Memory
from tests.benchmarks.inputs import Inputs
from tests.benchmarks.measuring import Spread, resident, timed
from tests.benchmarks.plotting import markdown, plot

if TYPE_CHECKING:
    from pathlib import Path


def test_a_seed_makes_the_same_memory_and_another_one_another(tmp_path: Path) -> None:
    made = [
        Inputs(seed).memory(tmp_path / str(number) / "Ada", entries=30).read_bytes()
        for number, seed in enumerate([1, 1, 2])
    ]
    assert made[0] == made[1] != made[2]
    assert len(Memory(tmp_path / "0" / "Ada").read().entries) == 30


def test_ratios_are_taken_pair_by_pair() -> None:
    ratios = Spread((1.0, 9.0, 2.0)).over(Spread((2.0, 3.0, 1.0)))
    assert (ratios.median, ratios.low, ratios.high) == (2.0, 0.5, 3.0)


def test_a_command_that_fails_is_no_figure() -> None:
    with pytest.raises(SystemExit, match="ended with 3"):
        timed([sys.executable, "-c", "raise SystemExit(3)"], os.environ)


def test_the_size_of_a_process_is_its_own_not_its_parents(tmp_path: Path) -> None:
    ballast = bytearray(b"x") * 200_000_000
    size = resident([sys.executable, "-S", "-c", "x = b'x' * 30_000_000"], os.environ, str(tmp_path / "size"))
    assert 30 < size < 100
    assert ballast


def test_a_plot_is_well_formed_and_a_table_has_every_figure() -> None:
    table = {"show <it>": {1: 10.0, 10: 20.0}, "search": {1: 1.0, 10: 1500.0}}
    drawn = ET.fromstring(plot(table, "agents"))
    assert [text for text in drawn.itertext() if "<it>" in text] == ["show <it>"]
    assert "| search | 1 ms | 1.5 s |" in markdown(table, "agents")
