"""Rows for a terminal of any width: wrapped at blanks, cut to size, or set as a table. Pure.

A word that is wider than the terminal stays whole, for the terminal to break: a path or an id can then be copied.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentmem.repl.region import Line

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
FOUND = "1;33"
_GAP = "  "
_ASCII = str.maketrans(
    {"·": "-", "•": "*", "─": "-", "│": "|", "→": "->", "…": "...", "█": "#", "░": "-"}
    | dict.fromkeys("▏▎▍▌", "-")
    | dict.fromkeys("▋▊▉", "#")
)


def in_ascii(text: str) -> str:
    """Return a text with the signs that we draw with in ASCII; what people say otherwise stays as it is."""
    return text.translate(_ASCII)


def cells(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else _measure()(text)


@cache
def _measure() -> Callable[[str], int]:
    from rich.cells import cell_len  # only text beyond ASCII needs it

    return cell_len


def wrapped(line: Line, width: int, indent: int = 0) -> Iterator[Line]:
    """Yield a row as one or more that fit, broken at blanks.

    Args:
        line: the row.
        width: columns.
        indent: columns that the second and later ones begin with.
    """
    text = "".join(part for _, part in line)
    if cells(text) <= width:
        yield line
        return
    indent = min(indent, width // 3)
    starts, used = [(0, 0)], 0
    for word in re.finditer(r"\s*\S+", text):
        size = cells(word[0])
        if used and used + size > width:
            bare = word[0].lstrip()
            size = cells(bare)
            used = indent if indent + size <= width else 0
            starts.append((word.end() - len(bare), used))
        used += size
    for (start, blanks), (end, _) in pairwise([*starts, (len(text), 0)]):
        row = _sliced(line, start, start + len(text[start:end].rstrip()))
        yield (("", " " * blanks), *row) if blanks else row


def _sliced(line: Line, start: int, end: int) -> Line:
    runs, at = [], 0
    for style, text in line:
        part = text[max(0, start - at) : max(0, end - at)]
        at += len(text)
        if part:
            runs.append((style, part))
    return tuple(runs)


def cut(text: str, width: int, more: str = "…") -> str:
    """Return the beginning of a text that fits, with `more` where something is left out."""
    if cells(text) <= width:
        return text
    kept = text[: max(0, width)]
    while kept and cells(kept) + cells(more) > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}{more}" if width > 0 else ""


def table(
    lines: Sequence[Sequence[str]],
    width: int,
    *,
    right: Iterable[int] = (),
    styles: Mapping[int, str] | None = None,
) -> Iterator[Line]:
    """Yield a table as rows; where it does not fit, what its columns say one below the other.

    Args:
        lines: the cells, those of the heading first.
        width: columns of the terminal.
        right: numbers of the columns that hold figures.
        styles: styles of columns by number.
    """
    styles = styles or {}
    widths = [max(cells(line[at]) for line in lines) for at in range(len(lines[0]))]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        yield from _stacked(lines, width, styles)
        return
    aligned = set(right)
    for number, line in enumerate(lines):
        runs = []
        for at, cell in enumerate(line):
            gap = " " * (widths[at] - cells(cell))
            text = f"{gap}{cell}" if at in aligned else f"{cell}{gap}"
            end = "" if at == len(line) - 1 else _GAP
            runs.append((styles.get(at, "") if number else DIM, f"{text}{end}"))
        yield tuple(runs)


def _stacked(lines: Sequence[Sequence[str]], width: int, styles: Mapping[int, str]) -> Iterator[Line]:
    heading, *body = lines
    for number, line in enumerate(body):
        if number:
            yield ()
        yield from wrapped(((styles.get(0, ""), line[0]),), width)
        for at, cell in list(enumerate(line))[1:]:
            if cell:
                yield from wrapped(((DIM, f"{_GAP}{heading[at]} "), (styles.get(at, ""), cell)), width, 4)
