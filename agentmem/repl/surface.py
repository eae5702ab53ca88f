"""The terminal of a chat session: what is printed on it, and who may use it when."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from agentmem import question
from agentmem.display import visible_line
from agentmem.repl import rows, views
from agentmem.repl.keyboard import PASTE_ON, Keyboard
from agentmem.repl.region import Line, plain, styled
from agentmem.repl.stream import LiveReply, PlainReply, terminal_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

    from agentmem.repl.markdown import Canvas


class Surface:
    """A terminal, or what stands in for it.

    Attributes:
        screen: the terminal, or where replies go instead.
        notices: where everything goes that was not asked for.
        redraw: whether the terminal's cursor can be moved.
        unicode: whether to draw with more than ASCII.
        quiet: show nothing that was not asked for.
        keyboard: where keys come from.
        reply: the reply that is being shown, if any.
        print_above: prints while a prompt is open.
    """

    def __init__(
        self, *, screen: TextIO, notices: TextIO, redraw: bool, colour: bool, unicode: bool, quiet: bool
    ) -> None:
        self.screen = screen
        self.notices = notices
        self.redraw = redraw
        self.unicode = unicode
        self.quiet = quiet
        self.keyboard = Keyboard(sys.stdin, screen)
        self.reply: LiveReply | PlainReply | None = None
        self.print_above: Callable[[Callable[[], None]], None] = lambda show: show()
        self._colour = colour
        self._canvas: Canvas | None = None

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return terminal_size(self.screen)[0]

    @property
    def canvas(self) -> Canvas:
        """What draws Markdown; loading it takes a while."""
        if self._canvas is None:
            from agentmem.repl.markdown import Canvas

            self._canvas = Canvas(colour=self._colour)
        return self._canvas

    def show(self, lines: Iterable[Line], where: TextIO | None = None) -> None:
        """Print rows, to the screen or elsewhere; those that are too wide go on below."""
        out, width = where or self.screen, max(12, self.width)
        for line in lines:
            shown = line if self.unicode else tuple((style, rows.in_ascii(text)) for style, text in line)
            for row in rows.wrapped(shown, width):
                text = styled(self.in_its_colours(row)) if self.redraw else plain(row)
                out.write(f"{text}\n")
        out.flush()

    def end_paragraph(self) -> None:
        """Leave a row free before the next prompt."""
        if self.screen is self.notices:
            self.write("\n")

    def write(self, text: str) -> None:
        """Write to the terminal as it is."""
        self.screen.write(text)
        self.screen.flush()

    def ask(self, asked: str) -> str:
        """Return what the person answers, in lower case; "" when it is Ctrl-C."""
        with self.aside(), suppress(KeyboardInterrupt):
            return question.ask(asked, self.notices)
        return ""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let a question have the terminal; what was typed before it is no answer."""
        if isinstance(self.reply, LiveReply):
            self.reply.draw_now()  # what the question is about may have been said just now
        self.pause()
        held = self.keyboard.release(forget=True)
        try:
            yield
        finally:
            if held:
                self.keyboard.hold()
            self.resume()

    def say_line(self, text: str, style: str = views.DIM) -> None:
        """Print one line of ours."""
        self.show([((style, visible_line(text)),)], self.notices)

    def notice(self, message: str) -> None:
        """Tell the person something, wherever the cursor is; may come from any thread."""
        if self.quiet:
            return
        if self.reply:
            self.reply.note(message)
        else:
            self.print_above(lambda: self.say_line(message, "33"))

    def complain(self, error: BaseException) -> None:
        """Show an error."""
        self.say_line(f"error: {error}", "31")

    def in_its_colours(self, row: Line) -> Line:
        """Return a row as this terminal is to get it."""
        if self._colour:
            return row
        return tuple((_monochrome(style), text) for style, text in row)

    def pause(self) -> None:
        """Clear what is being redrawn, before the program stops."""
        if isinstance(self.reply, LiveReply):
            self.reply.pause()

    def resume(self) -> None:
        """Redraw it."""
        if isinstance(self.reply, LiveReply):
            self.keyboard.write(PASTE_ON)
            self.reply.resume()


def _monochrome(style: str) -> str:
    """Return a style's SGR parameters without its colours."""
    return ";".join(code for code in style.split(";") if code in {"1", "2", "3", "4", "7", "9"})
