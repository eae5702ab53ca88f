"""Cutting a record into parts that fit a summariser's window. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BETWEEN = "\n\n"


def parts(texts: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """Join texts into few parts of at most `room` tokens each, cutting between texts.

    A text that is too long by itself is cut, at line ends or spaces where there are any. The cuts depend
    on nothing that comes later, so that a record which has grown has the same first parts.

    Args:
        texts: in order.
        room: tokens of a part, at least 1.
        count: tokens of a text.
    """
    made: list[str] = []
    current: list[str] = []
    used = 0
    for text in texts:
        for piece, size in _pieces(text, room, count):
            if current and used + size + 1 > room:
                made.append(BETWEEN.join(current))
                current, used = [], 0
            current.append(piece)
            used += size + 1
    return [*made, BETWEEN.join(current)] if current else made


def _pieces(text: str, room: int, count: Callable[[str], int]) -> Iterator[tuple[str, int]]:
    size = count(text)
    if size <= room or len(text) <= 1:
        yield text, size
        return
    # Aim a little below the room, so that most pieces fit at the first try.
    length = max(1, int(len(text) * room / size * 0.9))
    at = 0
    while at < len(text):
        end = _border(text, at, at + length)
        piece = text[at:end]
        size = count(piece)
        if size > room and len(piece) > 1:
            yield from _pieces(piece, room, count)
        else:
            yield piece, size
        at = end


def _border(text: str, start: int, end: int) -> int:
    """Return where to cut: after a line end or a space in the second half, or just there."""
    if end >= len(text):
        return len(text)
    half = (start + end) // 2
    for mark in ("\n", " "):
        found = text.rfind(mark, half, end)
        if found > start:
            return found + 1
    return end
