"""Markdown that is still arriving: blocks become rows once, when nothing that follows can change them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.text import Text

from agentmem.display import visible
from agentmem.repl.code import Highlighter
from agentmem.repl.markdown import Canvas, parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

    from agentmem.repl.region import Line

_OPENING = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<language>[^`]*)")
_NESTING = frozenset({"markdown", "md"})
_OPEN_ROWS = 2
"""Rows of a long paragraph that wait for what follows; those above are finished."""
_LONG_ROWS = 6
"""Rows from which a paragraph is long."""


@dataclass(frozen=True)
class _Part:
    """A block, or an item of a list.

    Attributes:
        start: its first line.
        apart: whether a blank row stands before it.
        number: what an ordered list's item must say.
        fence: the token of a code block.
    """

    start: int
    apart: bool = True
    number: int | None = None
    fence: Token | None = None


@dataclass
class _Fence:
    """A code block that has begun.

    Attributes:
        indent: blanks before its fence, taken off each line.
        mark: the fence.
        depth: fences that are open inside; replies show Markdown inside Markdown with equal fences.
    """

    indent: int
    mark: str
    language: str
    code: Highlighter
    depth: int = 0

    def closed_by(self, line: str) -> bool:
        """Take a line into account and return whether it ends the block."""
        text = line.strip()
        mark = self.mark[0]
        if not text.startswith(self.mark) or len(line) - len(line.lstrip(" ")) > self.indent + 3:
            return False
        if set(text) != {mark}:
            if self.language.casefold() in _NESTING and not text.lstrip(mark).count(mark):
                self.depth += 1
            return False
        if self.depth:
            self.depth -= 1
            return False
        return True


class Flow:
    """Takes a reply in pieces and gives its rows: finished ones once, unfinished ones as often as asked.

    Attributes:
        width: cells of a row; it may change at any time and holds for the rows to come.
    """

    def __init__(self, canvas: Canvas, width: int) -> None:
        self.width = width
        self._canvas = canvas
        self._parser = parser()
        self._text = ""
        self._fence: _Fence | None = None
        self._gap = False  # a blank row is due before the next block
        self._number: int | None = None  # what the next item of an ordered list must say
        self._tried = 0
        self._rendered: tuple[tuple[str, int, int | None], list[Line]] = (("", 0, None), [])

    def feed(self, piece: str) -> None:
        """Take more of the reply."""
        self._text += piece

    def take(self) -> list[Line]:
        """Return the rows that became final."""
        return self._take(whole=False)

    def close(self) -> list[Line]:
        """Return the rest, at the end of the reply."""
        rows = self._take(whole=True)
        if self._fence:
            self._fence = None
            rows += self._fence_row("")
        return rows

    def live(self) -> list[Line]:
        """Return the rows of what has arrived and may still change."""
        if self._fence:
            if not self._text or self._fence.mark.startswith(self._text.strip()[:3] or "\n"):
                return []
            return self._code_rows(self._fence.code.lines((), self._strip(self._text)))
        rows = self._render(self._text)
        return [(), *rows] if rows and self._gap else rows

    def _take(self, *, whole: bool) -> list[Line]:
        rows: list[Line] = []
        while True:
            before = self._text
            rows += self._take_code(whole=whole) if self._fence else self._take_blocks(whole=whole)
            if self._text == before or not self._text:
                return rows

    # Code

    def _take_code(self, *, whole: bool) -> list[Line]:
        fence = self._fence
        assert fence is not None  # noqa: S101 - told to mypy
        *lines, rest = self._text.split("\n")
        if whole and rest:
            lines, rest = [*lines, rest], ""
        for at, line in enumerate(lines):
            if fence.closed_by(line):
                rows = self._code_rows(fence.code.lines([self._strip(text) for text in lines[:at]]))
                self._text = "\n".join([*lines[at + 1 :], rest])
                self._fence = None
                return rows + self._fence_row("")
        self._text = rest
        return self._code_rows(fence.code.lines([self._strip(text) for text in lines])) if lines else []

    def _strip(self, line: str) -> str:
        blanks = len(line) - len(line.lstrip(" "))
        return line[min(blanks, self._fence.indent if self._fence else 0) :]

    def _code_rows(self, lines: Sequence[Line]) -> list[Line]:
        rows: list[Line] = []
        for line in lines:
            text = Text.assemble(*((part, style) for style, part in line), overflow="fold")
            rows += self._canvas.rows(text, self.width) or [()]
        return rows

    def _fence_row(self, language: str) -> list[Line]:
        return self._canvas.rows(Text(f"```{language}", style="dim", overflow="fold"), self.width)

    # Blocks

    def _take_blocks(self, *, whole: bool) -> list[Line]:
        complete = self._text if whole else self._text[: self._text.rfind("\n") + 1]
        parts = self._parts(complete) if complete.strip() else []
        lines = complete.split("\n")
        rows: list[Line] = []
        for part, following in zip_longest(parts, parts[1:]):
            self._gap, self._number = self._gap and part.apart, part.number
            if part.fence:
                return rows + self._open_fence(part.fence, lines)
            if following is None and not whole:
                break  # what follows may still belong to it
            end = following.start if following else len(lines)
            rows += self._finished("\n".join(lines[part.start : end]))
        start = len(lines) if whole else parts[-1].start if parts else 0
        self._text = self._text[sum(len(line) + 1 for line in lines[:start]) :]
        return rows if whole or rows else self._take_paragraph()

    def _parts(self, source: str) -> list[_Part]:
        """Return the blocks of a text, each item of a list by itself."""
        tokens = self._parser.parse(source)
        lines = source.split("\n")
        parts: list[_Part] = []
        number: int | None = None
        first = True
        for token in tokens:
            if token.map is None or token.nesting < 0:
                continue
            if not token.level:
                number = None
                if token.type == "ordered_list_open":
                    number = (
                        int(token.attrs.get("start", 1)) if parts or self._number is None else self._number
                    )
                if not token.type.endswith("list_open"):
                    parts.append(_Part(token.map[0], fence=token if token.type == "fence" else None))
                first = True
            elif token.type == "list_item_open" and token.level == 1:
                apart = first or not lines[token.map[0] - 1].strip()
                parts.append(_Part(token.map[0], apart, number))
                number = None if number is None else number + 1
                first = False
        return parts

    def _open_fence(self, token: Token, lines: list[str]) -> list[Line]:
        """Begin a code block."""
        start = token.map[0] if token.map else 0
        found = _OPENING.match(lines[start])
        language = visible(token.info.strip().partition(" ")[0])
        self._text = self._text[sum(len(line) + 1 for line in lines[: start + 1]) :]
        self._fence = _Fence(
            len(found["indent"]) if found else 0, token.markup, language, Highlighter(language)
        )
        rows = self._fence_row(language)
        if self._gap:
            rows = [(), *rows]
        self._gap, self._number = True, None
        return rows

    def _finished(self, source: str) -> list[Line]:
        rows = self._render(source)
        if rows:
            rows = [(), *rows] if self._gap else rows
            self._gap, self._number, self._tried = True, None, 0
        return rows

    def _render(self, source: str) -> list[Line]:
        wanted = (source, self.width, self._number)
        if self._rendered[0] != wanted:
            rows = self._canvas.markdown(source, self.width, number=self._number)
            self._rendered = (wanted, rows)
        return list(self._rendered[1])

    # Long paragraphs

    def _take_paragraph(self) -> list[Line]:
        """Finish the upper rows of a long paragraph, where the text can be cut without changing its looks."""
        if len(self._text) < self.width * (_LONG_ROWS - 1):
            return []
        rows = self._render(self._text)
        ready = len(rows) - _OPEN_ROWS
        if (
            len(rows) < _LONG_ROWS
            or len(rows) == self._tried
            or not _is_paragraph(self._parser.parse(self._text))
        ):
            return []
        self._tried = len(rows)
        for count in range(ready, max(0, ready - 3), -1):
            end = self._end_of_rows(rows, count)
            head, rest = self._text[:end], self._text[end:].lstrip()
            if head and self._render(head) == rows[:count] and self._render(rest) == rows[count:]:
                done = [(), *rows[:count]] if self._gap else rows[:count]
                self._text, self._gap, self._tried = rest, False, 0
                return done
        return []

    def _end_of_rows(self, rows: Sequence[Line], count: int) -> int:
        """Return how much of the text makes up that many rows: as it stands there, or else by trying."""
        at = 0
        for row in rows[:count]:
            shown = "".join(text for _, text in row)
            while self._text[at : at + 1].isspace():
                at += 1
            if not self._text.startswith(shown, at):
                break
            at += len(shown)
        else:
            return at
        ends = [found.start() for found in re.finditer(r"\s+", self._text)]
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if len(self._render(self._text[: ends[middle]])) <= count:
                low = middle + 1
            else:
                high = middle
        return ends[low - 1] if low else 0


def _is_paragraph(tokens: list[Token]) -> bool:
    return [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]


def drawn(canvas: Canvas, text: str, width: int) -> list[Line]:
    """Return the rows of a whole text."""
    flow = Flow(canvas, width)
    flow.feed(text)
    return flow.take() + flow.close()
