"""One agent on a terminal: what is said, what is shown, and how full the window is."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from agentmem.display import visible
from agentmem.errors import AgentMemError, UsageError
from agentmem.figures import tokens_in
from agentmem.repl import views
from agentmem.repl.bar import Fragment, Gauge, bar, cells
from agentmem.repl.history import InputHistory
from agentmem.repl.keyboard import PASTE_ON
from agentmem.repl.opening import Opening
from agentmem.repl.stream import LiveReply, PlainReply
from agentmem.repl.surface import Surface
from agentmem.stamps import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TextIO

    from agentmem.agent import Agent
    from agentmem.entries import Entry
    from agentmem.memory import Memory
    from agentmem.models.base import Piece, ToolCall
    from agentmem.repl.region import Line

Asked = TypeVar("Asked")
SGR = {"name": "1", "dim": "2", "calm": "32", "near": "33", "full": "31"}
_SPINNER_CELLS = 2
_NOTE_CELLS = 40
"""Columns from which the bar has room for a note."""
_SPINNERS = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")


class Chat(Surface):
    """An agent and the terminal it is talked to on.

    Attributes:
        name: the agent's name.
        folder: its folder.
        opening: the agent, once it is open.
        history: what was typed before.
        multiline: Enter makes a new line and Alt-Enter sends.
        draft: what the next prompt starts with.
        replaced: the entries that the next message takes the place of.
        just_compacted: nothing was said since a compaction.
        thoughts: what the model thought aloud before its last reply.
    """

    def __init__(
        self,
        open_agent: Callable[[Callable[[str], None]], Agent],
        *,
        name: str,
        folder: Path,
        screen: TextIO,
        notices: TextIO,
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
            screen: the terminal, or where replies go instead.
            notices: where everything goes that was not asked for.
            redraw: whether its cursor can be moved.
            colour: whether to use colours.
            unicode: whether to draw with more than ASCII.
            quiet: leave out greeting and notices.
        """
        super().__init__(
            screen=screen, notices=notices, redraw=redraw, colour=colour, unicode=unicode, quiet=quiet
        )
        self.name = name
        self.folder = folder
        self.history = InputHistory(folder)
        self.multiline = False
        self.draft = ""
        self.replaced: list[Entry] = []
        self.just_compacted = False
        self.thoughts = ""
        self.opening = Opening(lambda: open_agent(self.notice), self._opened)
        self.on_opened: Callable[[], None] = lambda: None
        self._typed = ""  # a line that waits to be kept
        self._greeted = quiet
        self._gauge = Gauge(name, activity="loading")
        self._streamed = 0  # bytes of the reply that is arriving
        self._came = False  # whether anything has come of the last one

    # The agent

    @property
    def agent(self) -> Agent:
        """The agent; waits until it is open.

        Raises:
            AgentMemError: it could not be opened.
        """
        return self.opening.wait()

    @property
    def memory(self) -> Memory:
        """The agent's memory.

        Raises:
            UsageError: nothing of this session is kept.
            AgentMemError: the agent could not be opened.
        """
        memory = self.agent.short_memory.memory
        if memory is None:
            raise UsageError("nothing of this session is kept, so there is no memory to look into")
        return memory

    def _opened(self) -> None:
        if agent := self.opening.agent:
            self._attach(agent)
            if agent.confirm:
                agent.confirm = self._asking(agent.confirm)
            if agent.on_missing:
                agent.on_missing = self._asking(agent.on_missing)
        self.on_opened()

    def _attach(self, agent: Agent) -> None:
        agent.room.progress = self._compacting
        self.measure()

    def use_model(self, name: str) -> None:
        """Talk to another model from now on; errors as `Agent.use_model`."""
        self.agent.use_model(name)
        self._attach(self.agent)

    def remember(self, line: str) -> None:
        """Keep a typed line for later sessions, if this one is kept; what is to be forgotten is not.

        Before it is sent: a `forget` by somebody else while the reply comes then finds it.
        """
        self._typed = "" if line.startswith("/forget") else line
        self.keep_typed()

    def keep_typed(self) -> None:
        """Store the line that waits for it, now that the agent may have been opened."""
        agent = self.opening.agent
        if agent is None or not self._typed:
            return
        line, self._typed = self._typed, ""
        if not agent.settings.memory:
            return
        if agent.settings.redact:
            from agentmem.redaction import redact

            line = redact(line)
        self.history.keep(line)

    def reload(self) -> None:
        """Take in what this session itself did to MEMORY.md."""
        agent = self.agent
        if agent.short_memory.refresh() != "none":
            agent.window.measure()
        self.measure()

    def _asking(self, confirm: Callable[[Asked], bool]) -> Callable[[Asked], bool]:
        """Make room on the terminal for a question."""

        def ask(about: Asked) -> bool:
            with self.aside():
                return confirm(about)

        return ask

    def measure(self) -> None:
        """Take the gauge from the agent's meter."""
        agent = self.agent
        compressor = agent.context_compressor
        self._streamed = 0
        self._gauge = Gauge(
            self.name,
            agent.model.name,
            agent.meter.roughly,
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
            self.say_line("nothing of this session is kept")
            return
        entries = agent.short_memory.preload.entries
        archives = len(memory.archives())
        self.say_line(views.greeting(entries, agent.meter.roughly, archives, now()))

    def bar(self, width: int) -> list[Fragment]:
        """Return the token bar as it is now."""
        gauge = self._gauge
        if self._streamed:
            gauge = replace(gauge, used=gauge.used + tokens_in(self._streamed), estimated=True)
        return bar(gauge, width, unicode=self.unicode)

    def show_thoughts(self) -> None:
        """Print what the model thought before its last reply."""
        from agentmem.repl.flow import drawn

        rows = drawn(self.canvas, visible(self.thoughts), self.width)
        self.show([*(tuple((views.DIM, text) for _, text in row) for row in rows), ()])

    # Turns

    def say(self, text: str) -> bool:
        """Send a message and show the reply as it arrives; returns False after an error."""
        return self._turn(lambda agent: agent.run(text, self._take, self._took), text)

    def retry(self) -> bool:
        """Send the last message without a reply again; returns False after an error."""
        return self._turn(lambda agent: agent.retry(self._take, self._took), "")

    def compact(self, focus: str) -> None:
        """Compact now, with the progress in the bar's place."""
        ending: BaseException | None = None
        with self._showing():
            self._compacting(1, 1)
            try:
                report = self.agent.compact(focus=focus, progress=self._compacting)
            except (KeyboardInterrupt, AgentMemError) as error:
                ending = error
        self.measure()
        if isinstance(ending, KeyboardInterrupt):
            self.say_line("cancelled; the memory is as it was")
        elif ending:
            self.complain(ending)
        else:
            self.just_compacted = True
            self.show(views.compaction_rows(report))

    def _turn(self, run: Callable[[Agent], object], text: str) -> bool:
        ending: BaseException | None = None
        self.just_compacted = self._came = False
        self.thoughts = ""
        with self._showing():
            try:
                agent = self.agent
                self.keep_typed()
                said = tokens_in(len(text.encode("utf-8", "replace")))
                self._gauge = replace(self._gauge, used=self._gauge.used + said, estimated=True)
                # While the model is waited for, nobody types into a prompt.
                threading.Thread(target=agent.meter.prepare, daemon=True).start()
                run(agent)
            except (KeyboardInterrupt, AgentMemError) as error:
                ending = error
        if self.opening.agent is None and isinstance(ending, AgentMemError):
            raise ending
        if self.opening.agent:
            self.measure()
        if isinstance(ending, KeyboardInterrupt):
            self.say_line("(interrupted; what came is kept)" if self._came else "(interrupted)")
        elif ending:
            self.complain(ending)
        return not isinstance(ending, AgentMemError)

    @contextmanager
    def _showing(self) -> Iterator[None]:
        """Draw a reply while the context lasts."""
        if self.redraw:
            self.write(PASTE_ON)
            self.reply = LiveReply(self.screen, lambda: self.canvas, self._status)
        else:
            self.reply = PlainReply(self.screen, sys.stderr)
        try:
            yield
        finally:
            reply, self.reply = self.reply, None
            reply.close()

    def _status(self, width: int, frame: int) -> Line:
        """Return the row beneath a reply: a sign of life and the bar."""
        spinner = _SPINNERS[0 if self.unicode else 1]
        sign = [("dim", f"{spinner[frame % len(spinner)]} ")] if width > _SPINNER_CELLS else []
        note: list[Fragment] = []
        if (waiting := self.keyboard.waiting()) and width >= _NOTE_CELLS:
            # What is typed now is for the next prompt; show that it is not lost.
            note = [("near", f"{' · ' if self.unicode else ' - '}{waiting} typed ahead")]
        fragments = [*sign, *self.bar(max(1, width - cells([*sign, *note]))), *note]
        return self.in_its_colours(tuple((SGR.get(style, ""), text) for style, text in fragments))

    # What happens in a turn

    def _compacting(self, part: int, parts: int) -> None:
        activity = f"compacting, part {part} of {parts}" if parts > 1 else "compacting"
        self._gauge = replace(self._gauge, activity=activity, done=(part - 1) / parts if parts > 1 else None)

    def _take(self, piece: Piece) -> None:
        from agentmem.models.base import ReasoningDelta, TextDelta

        if self.reply is None:
            return
        if isinstance(piece, TextDelta):
            if not self._streamed or self._gauge.activity:
                self.measure()
            self._came = True
            self._streamed += len(piece.text.encode("utf-8", "replace"))
            self.reply.text(piece.text)
        elif isinstance(piece, ReasoningDelta):
            self.thoughts += piece.text
            self.reply.thought(piece.text)

    def _took(self, call: ToolCall, result: str) -> None:
        """Show a tool call on one line, with its outcome."""
        if self.reply:
            arrow = "→" if self.unicode else "->"
            room = max(20, self.width - 1)
            line = f"* {call.name}({_arguments(call.arguments)}) {arrow} {views.brief(result, room)}"
            self.reply.note(views.brief(line, room))
        self.measure()


def _arguments(given: str) -> str:
    """Return a call's arguments as one would write them."""
    try:
        values = json.loads(given or "{}")
    except ValueError:
        return views.brief(given, 60)
    if not isinstance(values, dict):
        return views.brief(given, 60)
    return views.brief(
        ", ".join(f"{key}={json.dumps(values[key], ensure_ascii=False)}" for key in values), 60
    )
