"""One agent on a terminal: what is said, what is shown, and how full the window is."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from agentmem.display import visible, visible_line
from agentmem.errors import AgentMemError
from agentmem.repl import views
from agentmem.repl.bar import Fragment, Gauge, bar
from agentmem.repl.keyboard import PASTE_ON
from agentmem.repl.opening import Opening
from agentmem.repl.region import Line, plain, styled
from agentmem.repl.stream import LiveReply, PlainReply, terminal_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from agentmem.agent import Agent
    from agentmem.models.base import Piece
    from agentmem.repl.markdown import Canvas

SGR = {"name": "1", "dim": "2", "calm": "32", "near": "33", "full": "31"}
_BYTES_PER_TOKEN = 4
"""What a token of a reply takes, roughly, until the provider says."""
_SPINNERS = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")


class Chat:
    """An agent and the terminal it is talked to on.

    Attributes:
        name: the agent's name.
        folder: its folder.
        opening: the agent, once it is open.
        quiet: show nothing that was not asked for.
    """

    def __init__(
        self,
        open_agent: Callable[[Callable[[str], None]], Agent],
        *,
        name: str,
        folder: Path,
        screen: TextIO,
        redraw: bool,
        colour: bool,
        unicode: bool,
        quiet: bool,
    ) -> None:
        """Describe a session; nothing is opened yet.

        Args:
            open_agent: opens the agent, given where its notices go.
            name: the agent's name.
            folder: its folder.
            screen: the terminal.
            redraw: whether its cursor can be moved.
            colour: whether to use colours.
            unicode: whether to draw with more than ASCII.
            quiet: leave out greeting and notices.
        """
        self.name = name
        self.folder = folder
        self.quiet = quiet
        self.unicode = unicode
        self.opening = Opening(lambda: open_agent(self.notice), self._opened)
        self.on_opened: Callable[[], None] = lambda: None
        self.print_above: Callable[[Callable[[], None]], None] = lambda show: show()
        self._screen = screen
        self._redraw = redraw
        self._colour = colour
        self._canvas: Canvas | None = None
        self._reply: LiveReply | PlainReply | None = None
        self._greeted = quiet
        self._gauge = Gauge(name, activity="loading")
        self._streamed = 0  # bytes of the reply that is arriving
        self._shown_turns = 0
        self._calls: dict[str, str] = {}

    # The agent

    @property
    def agent(self) -> Agent:
        """The agent; waits until it is open.

        Raises:
            AgentMemError: it could not be opened.
        """
        return self.opening.wait()

    def _opened(self) -> None:
        if agent := self.opening.agent:
            agent.window.progress = self._compacting
            self.measure()
        self.on_opened()

    def measure(self) -> None:
        """Take the gauge from the agent's meter."""
        agent = self.agent
        compressor = agent.context_compressor
        self._streamed = 0
        self._gauge = Gauge(
            self.name,
            agent.model.name,
            agent.meter.tokens,
            agent.meter.context_length,
            compressor.threshold if compressor else 1.0,
            estimated=agent.meter.estimated,
            compression=compressor is not None,
        )

    def greet(self) -> None:
        """Say, once, what was loaded."""
        agent = self.opening.agent
        if self._greeted or agent is None:
            return
        self._greeted = True
        memory = agent.short_memory.memory
        if memory is None:
            self.show([((views.DIM, "nothing of this session is kept"),)])
            return
        entries = agent.short_memory.preloaded
        now = datetime.now().astimezone()
        self.show(views.greeting_rows(entries, agent.meter.tokens, len(memory.archives()), now))

    # The screen

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return terminal_size(self._screen)[0]

    @property
    def canvas(self) -> Canvas:
        """What draws Markdown; loading it takes a while."""
        if self._canvas is None:
            from agentmem.repl.markdown import Canvas

            self._canvas = Canvas(colour=self._colour)
        return self._canvas

    def bar(self, width: int) -> list[Fragment]:
        """Return the token bar as it is now."""
        gauge = self._gauge
        if self._streamed:
            gauge = replace(gauge, used=gauge.used + self._streamed // _BYTES_PER_TOKEN, estimated=True)
        return bar(gauge, width, unicode=self.unicode)

    def show(self, rows: Iterable[Line]) -> None:
        """Print rows."""
        for row in rows:
            text = styled(self._without_colour(row)) if self._redraw else plain(row)
            self._screen.write(f"{text}\n")
        self._screen.flush()

    def show_markdown(self, text: str) -> None:
        """Print Markdown."""
        self.show(
            self.canvas.markdown(visible(text), self.width) if self._redraw else [(("", visible(text)),)]
        )

    def say_line(self, text: str, style: str = views.DIM) -> None:
        """Print one line of ours."""
        self.show([((style, visible_line(text)),)])

    def notice(self, message: str) -> None:
        """Tell the person something, wherever the cursor is; may come from any thread."""
        if self.quiet:
            return
        if self._reply:
            self._reply.note(message)
        else:
            self.print_above(lambda: self.say_line(message, "33"))

    def complain(self, error: BaseException) -> None:
        """Show an error."""
        self.say_line(f"error: {error}", "31")

    def _without_colour(self, row: Line) -> Line:
        if self._colour:
            return row
        return tuple((_monochrome(style), text) for style, text in row)

    def pause(self) -> None:
        """Clear what is being redrawn, before the program stops."""
        if isinstance(self._reply, LiveReply):
            self._reply.pause()

    def resume(self) -> None:
        """Redraw it."""
        if isinstance(self._reply, LiveReply):
            self._screen.write(PASTE_ON)
            self._reply.resume()

    # Turns

    def say(self, text: str) -> None:
        """Send a message and show the reply as it arrives."""
        self._turn(lambda agent, on_piece: agent.run(text, on_piece), text)

    def retry(self) -> None:
        """Send the last message without a reply again."""
        self._turn(lambda agent, on_piece: agent.retry(on_piece), "")

    def compact(self, focus: str) -> None:
        """Compact now, with the progress in the bar's place."""
        ending: BaseException | None = None
        with self._showing():
            self._gauge = replace(self._gauge, activity="compacting", done=0.0)
            try:
                agent = self.agent
                report = agent.compact(focus=focus, progress=self._compacting)
            except (KeyboardInterrupt, AgentMemError) as error:
                ending = error
        self.measure()
        if isinstance(ending, KeyboardInterrupt):
            self.say_line("cancelled; the memory is as it was")
        elif ending:
            self.complain(ending)
        else:
            self.show(views.compaction_rows(report))

    def _turn(self, run: Callable[[Agent, Callable[[Piece], None]], object], text: str) -> None:
        ending: BaseException | None = None
        with self._showing():
            try:
                agent = self.agent
                self._gauge = replace(
                    self._gauge, used=self._gauge.used + len(text.encode()) // _BYTES_PER_TOKEN
                )
                self._shown_turns = len(agent.short_memory.turns)
                run(agent, self._take)
                self._show_results()
            except (KeyboardInterrupt, AgentMemError) as error:
                ending = error
        if self.opening.agent is None and isinstance(ending, AgentMemError):
            raise ending
        if self.opening.agent:
            self.measure()
        if isinstance(ending, KeyboardInterrupt):
            self.say_line("(interrupted; what came is kept)")
        elif ending:
            self.complain(ending)
        self._screen.write("\n")
        self._screen.flush()

    @contextmanager
    def _showing(self) -> Iterator[None]:
        """Draw a reply while the context lasts; keys are collected meanwhile."""
        if not self._redraw:
            self._reply = PlainReply(self._screen, sys.stderr)
            try:
                yield
            finally:
                self._reply.close()
                self._reply = None
            return
        self._screen.write(PASTE_ON)
        self._reply = LiveReply(self._screen, lambda: self.canvas, self._status)
        try:
            yield
        finally:
            reply, self._reply = self._reply, None
            reply.close()

    def _status(self, width: int, frame: int) -> Line:
        """Return the row beneath a reply: a sign of life and the bar."""
        spinner = _SPINNERS[0 if self.unicode else 1]
        sign = spinner[frame % len(spinner)]
        fragments = [("dim", f"{sign} "), *self.bar(max(1, width - 2))] if width > 2 else self.bar(width)  # noqa: PLR2004
        return self._without_colour(tuple((SGR.get(style, ""), text) for style, text in fragments))

    def _compacting(self, part: int, parts: int) -> None:
        activity = f"compacting, part {part} of {parts}" if parts > 1 else "compacting"
        self._gauge = replace(self._gauge, activity=activity, done=(part - 1) / parts if parts > 1 else None)

    def _take(self, piece: Piece) -> None:
        from agentmem.models.base import ReasoningDelta, TextDelta, ToolCall

        if self._reply is None:
            return
        self._show_results()
        if isinstance(piece, TextDelta):
            if not self._streamed or self._gauge.activity:
                self.measure()
            self._streamed += len(piece.text.encode("utf-8", "replace"))
            self._reply.text(piece.text)
        elif isinstance(piece, ReasoningDelta):
            self._reply.thought(piece.text)
        elif isinstance(piece, ToolCall):
            self._calls[piece.id] = _call_line(piece.name, piece.arguments)

    def _show_results(self) -> None:
        """Show the calls whose results have come since, each on one line."""
        turns = self.agent.short_memory.turns
        for turn in turns[self._shown_turns :]:
            call = self._calls.pop(turn.tool_call_id, None) if turn.tool_call_id else None
            if call and self._reply:
                first = turn.content.strip().split("\n")[0]
                arrow = "→" if self.unicode else "->"
                self._reply.note(_cut(f"{call} {arrow} {visible_line(first)}", max(20, self.width - 1)))
        self._shown_turns = len(turns)


def _call_line(name: str, arguments: str) -> str:
    """Return a tool call as one line."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = arguments
    inside = (
        ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in given.items())
        if isinstance(given, dict)
        else arguments
    )
    return f"* {visible_line(name)}({visible_line(_cut(inside, 60))})"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _monochrome(style: str) -> str:
    """Return a style's SGR parameters without its colours."""
    return ";".join(code for code in style.split(";") if code in {"1", "2", "3", "4", "7", "9"})
