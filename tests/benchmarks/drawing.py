"""The row about streaming a Markdown reply to a terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from tests.benchmarks.measuring import Row, Spread
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.run import Plan

TOKENS = 5_000
RATE = 250  # tokens a second, as a quick model sends them


def stream(plan: Plan) -> Iterator[Row]:
    """A reply of 5,000 tokens: bytes sent to the terminal, and processor time to draw it."""
    path = plan.folder / "reply.md"
    path.write_text(plan.inputs.markdown(TOKENS), encoding="utf-8")
    sent, cpu = [], []
    for _ in range(3):
        with Terminal([sys.executable, "-m", "tests.streaming", str(path), str(RATE)]) as terminal:
            terminal.wait_end(limit=300)
            sent.append(len(terminal.raw) / path.stat().st_size)
            found = re.search(r"cpu ([\d.]+)", str(terminal))
            assert found, str(terminal)
            cpu.append(float(found[1]))
    yield Row("streaming 5,000 tokens: bytes to the terminal, beside the text", Spread(tuple(sent)), 3.0)
    yield Row("the same, processor time a token", Spread(tuple(cpu)), 1.0, "ms")
