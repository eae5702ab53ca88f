from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.quality.compaction import HEAD, line, measure

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("tight", [False, True])
def test_the_measure_measures(tight: bool, workspace: Path) -> None:
    assert not workspace.exists()
    rows = list(measure(["lossy", "refusing"], exchanges=3, window=32_000, seed=2, tight=tight))
    assert len(rows) == 10
    for row in rows:
        assert (row.rules, row.invented, row.latest) == (row.given, 0, True), line(row)
        assert tight or row.kept == row.planted, line(row)
    assert HEAD.startswith("summariser")
