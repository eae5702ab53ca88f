"""Search keeps what `python -m tests.quality.retrieval` measures: a floor under it, on a smaller set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.quality.dialogues import make_talk
from tests.quality.retrieval import lay_out, measure, plain_bm25, searching

if TYPE_CHECKING:
    from pathlib import Path


def test_search_finds_the_evidence_and_beats_bm25(tmp_path: Path) -> None:
    talk = make_talk(sessions=150)
    lay_out(talk, tmp_path / "Ada")
    ours = measure(talk, searching(talk, tmp_path / "Ada", neighbours=True))["all"]
    plain = measure(talk, plain_bm25(talk, neighbours=True))["all"]
    assert ours.count > 140
    assert ours.any_hit / ours.count >= 0.98
    assert ours.all_evidence / ours.count >= 0.96
    assert ours.reciprocal / ours.count >= 0.9
    assert ours.any_hit >= plain.any_hit
    assert ours.reciprocal > plain.reciprocal


def test_the_set_is_the_same_every_time() -> None:
    assert make_talk(sessions=30) == make_talk(sessions=30)
