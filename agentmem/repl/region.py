"""The last few rows of a terminal, redrawn in place; what is finished is left behind in the scrollback.

Between frames the cursor rests on the region's first row. A terminal that is resized keeps the cursor on
its character, so whatever reflow did to the rows below, erasing from there down removes just the region.
"""

from __future__ import annotations

from itertools import groupby, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING

from prompt_toolkit.utils import get_cwidth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Run = tuple[str, str]
"""SGR parameters, such as `1;36` or "" for none, and the text that has them."""
Line = tuple[Run, ...]
"""One row of a terminal, no wider than it."""

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Rows are never wider than the terminal, as far as one knows. Were it resized this instant, finished rows
# must wrap, or they would lose their ends, and live ones must not, or the way back up would be miscounted.
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_BELOW, _ERASE_RIGHT = "\x1b[J", "\x1b[K"


def plain(line: Line) -> str:
    """Return a row's text."""
    return "".join(text for _, text in line)


def styled(line: Sequence[Run]) -> str:
    """Return a row as it goes to the terminal, starting and ending without style."""
    parts: list[str] = []
    current = ""
    for style, text in line:
        if style != current:
            parts.append(f"\x1b[0;{style}m" if style and current else f"\x1b[{style or 0}m")
            current = style
        parts.append(text)
    return "".join(parts) + ("\x1b[0m" if current else "")


class Region:
    """Rows that can still change, below rows that no longer can.

    Attributes:
        written: bytes sent so far.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self.written = 0
        self._write = write
        self._drawn: list[Line] = []
        self._size = (0, 0)

    def draw(self, finished: Sequence[Line], live: Sequence[Line], size: tuple[int, int]) -> None:
        """Put finished rows above and redraw the live ones.

        Args:
            finished: rows that go to the scrollback.
            live: rows that may change, fewer than the terminal has.
            size: columns and rows of the terminal; another one than before redraws everything.
        """
        parts: list[str] = []
        if size != self._size and self._drawn:
            parts.append("\r" + _ERASE_BELOW)
            self._drawn = []
        self._size = size
        target = [*finished, *live]
        at = self._put(target, len(finished), parts)
        if len(self._drawn) > len(target):
            at = _go(parts, at, len(target), len(self._drawn))
            parts.append("\r" + _ERASE_BELOW)
        # Finished rows need a row below them, even when nothing is live.
        at = _go(parts, at, len(finished), max(len(target), len(self._drawn)))
        if parts:
            self._send("".join(parts) + "\r" + (_WRAP if _NO_WRAP in parts else ""))
        self._drawn = list(live)

    def _put(self, target: list[Line], finished: int, parts: list[str]) -> int:
        """Write the rows that differ; return the row the cursor is on, from the region's first."""
        at = 0
        below = len(self._drawn)
        for row, line in enumerate(target):
            before = self._drawn[row] if row < len(self._drawn) else ()
            if row < len(self._drawn) and line == before:
                continue
            at = _go(parts, at, row, below)
            if row >= finished and _NO_WRAP not in parts:
                parts.append(_NO_WRAP)
            below = max(below, row + 1)
            parts.append(_change(before, line))
        return at

    def erase(self) -> None:
        """Remove the live rows."""
        if self._drawn:
            self._send("\r" + _ERASE_BELOW)
            self._drawn = []

    def _send(self, text: str) -> None:
        self.written += len(text.encode("utf-8", "replace"))
        self._write(text)


def _go(parts: list[str], at: int, row: int, below: int) -> int:
    """Move from row `at` to the first cell of another; rows from `below` on are made by going there."""
    if row > at:
        existing = max(min(row, below - 1), at)
        if existing > at:
            parts.append(f"\x1b[{existing - at}B")
        parts.append("\r" + "\n" * (row - existing))
    elif row < at:
        parts.append(f"\r\x1b[{at - row}A")
    return row


def _change(before: Line, after: Line) -> str:
    """Return what turns one row into another, from its first cell: no more than what differs."""
    old, new = _cells(before), _cells(after)
    same = column = 0
    while same < min(len(old), len(new)) and old[same] == new[same] and _certain(old[same]):
        column += get_cwidth(old[same][1])
        same += 1
    if not all(map(_certain, old[same:])):
        # How wide the old row is drawn is a guess: replace all of it.
        return _ERASE_RIGHT + styled(_runs(new))
    start = f"\x1b[{column + 1}G" if column else ""
    if _width(new) < _width(old):
        return start + _ERASE_RIGHT + styled(_runs(new[same:]))
    tail = _common_tail(old[same:], new[same:])
    return start + styled(_runs(new[same : len(new) - tail]))


def _common_tail(old: list[Run], new: list[Run]) -> int:
    """Return how many cells at the end are the same and in the same place, so that they need no writing."""
    if _width(old) != _width(new) or not all(map(_certain, new)):
        return 0
    pairs = zip(reversed(old), reversed(new), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cells(line: Line) -> list[Run]:
    return [(style, character) for style, text in line for character in text]


def _width(cells: list[Run]) -> int:
    return sum(get_cwidth(text) for _, text in cells)


def _runs(cells: list[Run]) -> list[Run]:
    groups = groupby(cells, key=itemgetter(0))
    return [(style, "".join(text for _, text in group)) for style, group in groups]


def _certain(cell: Run) -> bool:
    """Return whether every terminal gives the character the same width, and it combines with nothing."""
    character = cell[1]
    return (
        " " <= character <= "\u02ff"
        or "\u0370" <= character <= "\u0482"
        or "\u2010" <= character <= "\u2027"
        or "\u2500" <= character <= "\u25a0"
        or "\u3041" <= character <= "\u3096"
        or "\u30a0" <= character <= "\u30ff"
        or "\u4e00" <= character <= "\u9fff"
        or "\uac00" <= character <= "\ud7a3"
    )
