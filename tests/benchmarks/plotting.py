"""Tables and plots of how costs grow, in text and as SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.benchmarks.measuring import milliseconds

if TYPE_CHECKING:
    from tests.benchmarks.scaling import Table

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _RIGHT, _TOP = 720, 380, 60, 40, 190, 20
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")


def markdown(table: Table, counted: str) -> str:
    """Return a table in Markdown, a row for each thing that was measured."""
    counts = list(next(iter(table.values())))
    head = f"| {counted} | {' | '.join(f'{count:,}' for count in counts)} |"
    rows = [
        f"| {name} | {' | '.join(milliseconds(times[count] / 1000) for count in counts)} |"
        for name, times in table.items()
    ]
    return "\n".join([head, f"|---|{'---:|' * len(counts)}", *rows])


def plot(table: Table, counted: str) -> str:
    """Return an SVG of a table: both axes logarithmic, milliseconds upwards."""
    counts = list(next(iter(table.values())))
    times = [time for row in table.values() for time in row.values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    last = math.log10(counts[-1] / counts[0])

    def place(count: int, time: float) -> tuple[float, float]:
        across = math.log10(count / counts[0]) / last
        up = (math.log10(time) - low) / (high - low)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _BOTTOM - _TOP),
        )

    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {view}>']
    parts.append(f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>')
    for power in range(low, high + 1):
        _, y = place(counts[0], 10**power)
        parts.append(f'<path d="M{_LEFT} {y:.0f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(_text(_LEFT - 6, y + 4, milliseconds(10**power / 1000), "end"))
    for count in counts:
        x, _ = place(count, 10**low)
        parts.append(f'<path d="M{x:.0f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#eee"/>')
        parts.append(_text(x, _HEIGHT - _BOTTOM + 16, f"{count:,}", "middle"))
    parts.append(_text((_WIDTH - _RIGHT + _LEFT) / 2, _HEIGHT - 6, counted, "middle"))
    ends = sorted(
        ((place(counts[-1], row[counts[-1]])[1], name) for name, row in table.items()), reverse=True
    )
    labels: dict[str, float] = {}
    lowest = float(_HEIGHT)
    for y, name in ends:  # from the bottom up, so that labels do not cover each other
        lowest = min(y, lowest - 15)
        labels[name] = lowest
    for colour, (name, row) in zip(_COLOURS, table.items(), strict=False):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(count, row[count]) for count in counts))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(_WIDTH - _RIGHT + 8, labels[name] + 4, name, "start", colour))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
