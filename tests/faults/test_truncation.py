from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.entries import CUT_OFF, parse
from agentmem.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

LAST = (
    "what is a rule?\n\n---\n\nlike this — é\n### no heading",
    "a line\n\n---\n\nand \\### User — 2026-04-20T",
)


def test_cut_at_every_byte_of_its_last_two_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Callable[[str], None]
) -> None:
    # Nothing is lost but time by leaving out the sync: the machine stays up.
    monkeypatch.setattr("os.fsync", lambda _fd: None)
    memory = Memory(tmp_path / "Ada")
    for text in ("one", "two\n\n---\n\nthree"):
        memory.append("User", text)
    earlier = memory.path.read_bytes()
    for role, text in zip(("User", "Ada"), LAST, strict=True):
        memory.append(role, text)
    whole = memory.path.read_bytes()
    first = memory.read().entries[:2]
    points = range(len(earlier), len(whole) + 1)
    for size in points:
        memory.path.write_bytes(whole[:size])
        before = memory.read().entries
        assert before[:2] == first or before[1].aside
        added = memory.append("User", "after")
        content = memory.path.read_bytes()
        assert content.startswith(whole[:size])
        entries = parse(content).entries
        assert entries[-1].raw == added.raw
        assert [(each.text, each.stamp) for each in entries[:2]] == [(e.text, e.stamp) for e in first]
        for entry in entries[2:-1]:
            assert entry.text in LAST or entry.text.endswith(CUT_OFF)
        assert all(entry.terminated for entry in entries)
    tell(f"cut at {len(points)} bytes")
