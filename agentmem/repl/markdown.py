"""Markdown as rows for a terminal: rich draws the blocks, without padding and with everything visible."""

from __future__ import annotations

import io
import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, RenderableType
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, MarkdownElement
from rich.text import Text
from rich.theme import Theme

from agentmem.display import visible

if TYPE_CHECKING:
    from markdown_it.token import Token
    from rich.console import ConsoleOptions, JustifyMethod, RenderResult
    from rich.segment import Segment
    from rich.style import Style

    from agentmem.repl.region import Line

WIDEST = 120
"""Rows are no longer than this, for the eye's sake."""

_RULE_CELLS = 12

_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold italic",
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.block_quote": "dim",
        "markdown.link": "none",
        "markdown.link_url": "blue underline",
        "markdown.url": "blue underline",
        "markdown.item.bullet": "yellow",
        "markdown.item.number": "yellow",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


def parser() -> MarkdownIt:
    """Return the parser for replies.

    HTML is text like any other and definitions of link targets stay where they are: rich would drop both.
    """
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")


class _Left(Heading):
    """A heading at the left margin."""

    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Code(CodeBlock):
    """Code between its fences, which are dimmed; what is copied from the screen is the code itself."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from agentmem.repl.code import Highlighter

        language = "" if self.lexer_name == "text" else self.lexer_name
        yield Text(f"```{language}", style="dim")
        for line in Highlighter(language).lines(str(self.text).rstrip("\n").split("\n")):
            yield Text.assemble(*((text, style) for style, text in line), overflow="fold", no_wrap=False)
        yield Text("```", style="dim")


class _Rule(HorizontalRule):
    """A short rule: a long one costs its bytes and says no more."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * min(_RULE_CELLS, options.max_width), style="markdown.hr")
        yield Text()


class _Reply(Markdown):
    """Rich's Markdown, with our parser, line breaks kept and each link's target shown once."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Left,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
    }

    def __init__(self, markup: str, *, number: int | None = None) -> None:
        super().__init__("", hyperlinks=False)
        self.inlines = {*Markdown.inlines, "url"}
        self.markup = markup
        self.parsed = parser().parse(markup)
        if number is not None and self.parsed and self.parsed[0].type == "ordered_list_open":
            self.parsed[0].attrs["start"] = number
        for token in self.parsed:
            _simplify(token)


def _simplify(token: Token) -> None:
    """Turn line breaks into real ones, and links whose text is their target into text."""
    children = token.children or []
    for at, child in enumerate(children):
        # The parser has put characters where their entities were.
        child.content = visible(child.content)
        if child.type == "softbreak":
            child.type = "hardbreak"
        if child.type == "link_open" and at + 2 < len(children) and children[at + 2].type == "link_close":
            target = str(child.attrs.get("href", ""))
            if children[at + 1].content in {target, target.removeprefix("mailto:")}:
                child.type = child.tag = children[at + 2].type = children[at + 2].tag = "url"


class Canvas:
    """Turns what rich can draw into rows.

    Args:
        colour: use colours; bold, dim and underline are used in any case.
    """

    def __init__(self, *, colour: bool = True) -> None:
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard",
            no_color=not colour,
            legacy_windows=False,
            theme=_THEME,
            width=WIDEST,
            _environ={},
        )
        self._colour = colour

    def markdown(self, source: str, width: int, *, number: int | None = None) -> list[Line]:
        """Return the rows of a Markdown text.

        Args:
            source: the Markdown.
            width: cells of a row at most.
            number: the first number of an ordered list, when it is not the one that stands there.
        """
        return trimmed(self.rows(_Reply(source, number=number), width))

    def rows(self, what: RenderableType, width: int) -> list[Line]:
        """Return the rows of anything rich can draw."""
        width = max(1, min(width, WIDEST))
        options = self._console.options.update(width=width, height=None)
        lines = self._console.render_lines(what, options, pad=False)
        return [self._row(line) for line in lines]

    def _row(self, segments: list[Segment]) -> Line:
        runs: list[tuple[str, str]] = []
        for text, style, control in segments:
            if control or not text:
                continue
            code = sgr(style, colour=self._colour) if style else ""
            shown = visible(text).replace("\n", " ")
            if not shown.strip(" ") and not _draws_blanks(code):
                # A blank looks the same in any such style; keep the one that is on.
                code = runs[-1][0] if runs and not _draws_blanks(runs[-1][0]) else ""
            if runs and runs[-1][0] == code:
                runs[-1] = (code, runs[-1][1] + shown)
            else:
                runs.append((code, shown))
        while runs and not _draws_blanks(runs[-1][0]):
            code, text = runs.pop()
            if text.rstrip(" "):
                runs.append((code, text.rstrip(" ")))
                break
        return tuple(runs)


def trimmed(lines: list[Line]) -> list[Line]:
    """Return the rows without empty ones at either end."""
    start, end = 0, len(lines)
    while start < end and not lines[start]:
        start += 1
    while end > start and not lines[end - 1]:
        end -= 1
    return lines[start:end]


@lru_cache(maxsize=512)
def _draws_blanks(code: str) -> bool:
    """Return whether blanks in this style can be seen."""
    return bool(re.search(r"(?:^|;)(?:4|7|9|4\d|10\d)(?:;|$)", code))


@lru_cache(maxsize=512)
def sgr(style: Style, *, colour: bool = True) -> str:
    """Return a style's SGR parameters, without the escape around them."""
    if not colour:
        style = style.without_color
    before = style.update_link(None).render("\0").partition("\0")[0]
    return before.removeprefix("\x1b[").removesuffix("m")
