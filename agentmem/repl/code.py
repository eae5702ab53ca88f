"""Code as coloured rows, line by line as it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, String
from pygments.util import ClassNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygments.lexer import Lexer
    from pygments.token import _TokenType

    from agentmem.repl.region import Line, Run

# The sixteen colours of the terminal, which fit its background; most tokens have none, for each costs bytes.
_STYLES: dict[_TokenType, str] = {
    Comment: "bright_black",
    Comment.Preproc: "magenta",
    Keyword: "magenta",
    Keyword.Constant: "cyan",
    Name.Function: "blue",
    Name.Class: "blue",
    Name.Decorator: "yellow",
    Name.Tag: "blue",
    Name.Attribute: "yellow",
    Name.Builtin.Pseudo: "cyan",
    Number: "cyan",
    String: "green",
    Generic.Deleted: "red",
    Generic.Inserted: "green",
    Generic.Heading: "bold",
    Generic.Subheading: "blue",
}
_CALM_AFTER = 30
"""Lines lexed again with each new one, at least; then an empty line outside of any text starts afresh."""
_LONGEST = 150
"""Lines lexed again with each new one, at most."""


class Highlighter:
    """Gives lines of code their colours as they come.

    Args:
        language: as it stands behind the fence; an unknown one is shown without colours.
    """

    def __init__(self, language: str) -> None:
        self._lexer = _lexer(language)
        self._context: list[str] = []

    def lines(self, new: Sequence[str], partial: str | None = None) -> list[Line]:
        """Return the rows of new whole lines, and of a partial one that may come again; styles are rich's."""
        both = [*new, partial] if partial is not None else list(new)
        if self._lexer is None:
            return [(("", line),) for line in both]
        known = len(self._context)
        rows, inside = _lexed(self._lexer, [*self._context, *both])
        self._context += new
        if len(self._context) > _LONGEST or (
            len(self._context) > _CALM_AFTER
            and not self._context[-1].strip()
            and not inside[known + len(new) - 1]
        ):
            self._context = []
        return rows[known:]


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


def _lexed(lexer: Lexer, lines: Sequence[str]) -> tuple[list[Line], list[bool]]:
    """Return the rows, and for each whether its end is inside a text or comment."""
    rows: list[list[Run]] = [[]]
    inside: list[bool] = []
    for kind, value in lexer.get_tokens("\n".join(lines)):
        style = _style(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                inside.append(_is_text(kind))
                rows.append([])
            if not part:
                continue
            if rows[-1] and (rows[-1][-1][0] == style or part.isspace()):
                rows[-1][-1] = (rows[-1][-1][0], rows[-1][-1][1] + part)
            else:
                rows[-1].append((style, part))
    inside.append(False)
    # Whatever a lexer does to its input, every line gets its row.
    shown = [tuple(row) for row in rows[: len(lines)]]
    for at, line in enumerate(lines):
        if at >= len(shown):
            shown.append((("", line),))
        elif "".join(text for _, text in shown[at]) != line:
            shown[at] = (("", line),)
    return shown, (inside + [False] * len(lines))[: len(lines)]


def _is_text(kind: _TokenType) -> bool:
    return any(kind is one or one in kind.split() for one in (String, Comment))


def _style(kind: _TokenType) -> str:
    return next((_STYLES[each] for each in reversed(kind.split()) if each in _STYLES), "")
