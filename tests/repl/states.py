"""The moments of a session in which a key is pressed, a signal comes, or the window changes its size."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from agentmem.folders import Folder
from agentmem.locking import LOCK_FILE, locked
from agentmem.memory import Memory
from tests.answers import Answer, Gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.loopback import Provider
    from tests.terminal import Terminal

ROOT = Path(__file__).parent.parent.parent
TOOLS = """
import pathlib
import time

HERE = pathlib.Path(__file__).parent


def wait() -> str:
    \"\"\"Wait for a word.\"\"\"
    (HERE / "running").touch()
    while not (HERE / "word").exists():
        time.sleep(0.01)
    return "noon"
"""


@dataclass
class Stage:
    """A session and what it plays on.

    Attributes:
        terminal: where it is seen.
        provider: who answers it.
        agent: the agent's folder.
        tools: a folder on the session's path for modules.
    """

    terminal: Terminal
    provider: Provider
    agent: Path
    tools: Path
    cleanup: ExitStack = field(default_factory=ExitStack)

    @property
    def memory(self) -> str:
        """MEMORY.md, "" when there is none."""
        path = self.agent / "MEMORY.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def process(self) -> psutil.Process:
        """The session's process; a shell may stand between."""
        own = psutil.Process(self.terminal.pid)
        return next(iter(own.children()), own)


def talked_before(agent: Path) -> None:
    """Give an agent a memory that is worth a compaction."""
    memory = Memory(agent)
    for text in ("my cat is Tom", "and the weather?"):
        memory.append("User", text)
        memory.append("Ada", "well noted " * 150)


class State:
    """One such moment; a new object for each session.

    Attributes:
        options: of `agentmem chat`.
        shown: what the screen shows meanwhile.
        keeps: what MEMORY.md holds when the moment is cut short.
        lacks: what it does not hold then.
        done: what is shown once it has come to its natural end.
        stored: what MEMORY.md holds then.
    """

    options: Sequence[str] = ()
    shown = "%"
    keeps: Sequence[str] = ()
    lacks: Sequence[str] = ()
    done = ""
    stored = ""

    def prepare(self, agent: Path, tools: Path) -> None:
        """Lay out what the session needs before it starts."""

    def enter(self, stage: Stage) -> None:
        """Bring the session there."""

    def leave(self, stage: Stage) -> None:
        """Let the moment come to its natural end."""


class Empty(State):
    """At the prompt, nothing typed."""


class Typing(State):
    """At the prompt, in the midst of a line."""

    shown = "half a line"

    def enter(self, stage: Stage) -> None:
        stage.terminal.send("half a line")
        stage.terminal.wait_for("half a line")


class Waiting(State):
    """The message is sent, nothing has come."""

    keeps: Sequence[str] = ("### User", "count")
    lacks = ("### Ada",)
    done = stored = "one two three"
    allowed = 0

    def __init__(self) -> None:
        self.gate = Gate(self.allowed)

    def enter(self, stage: Stage) -> None:
        stage.provider.answers.append(Answer("one two three", gate=self.gate))
        stage.terminal.send("count\r")
        self.gate.wait_until_reached()
        stage.terminal.wait_until(lambda: stage.terminal.cursor_hidden)

    def leave(self, stage: Stage) -> None:
        self.gate.open()


class Streaming(Waiting):
    """A part of the reply has come."""

    keeps: Sequence[str] = ("count", "one two", "<!-- interrupted -->")
    lacks = ("three",)
    allowed = 2

    def enter(self, stage: Stage) -> None:
        super().enter(stage)
        stage.terminal.wait_for("one two")


class Saving(Streaming):
    """The reply has come; another process holds the folder, so that it is not stored yet."""

    keeps = ("count", "one two three")
    lacks = ("interrupted",)

    def enter(self, stage: Stage) -> None:
        super().enter(stage)
        folder = stage.cleanup.enter_context(Folder.open(stage.agent))
        self.held = stage.cleanup.enter_context(ExitStack())
        self.held.enter_context(locked(folder, 10))
        self.gate.open()
        lock = str(folder.path / ".agentmem" / LOCK_FILE)
        stage.terminal.wait_until(lambda: lock in {each.path for each in stage.process.open_files()})

    def leave(self, stage: Stage) -> None:
        self.held.close()


class Asking(State):
    """A tool is to run and the person is asked."""

    options: Sequence[str] = ("--tool", "mytools:wait", "--max-loops", "auto")
    keeps: Sequence[str] = ("### User", "what time is it")
    shown = "run it?"
    lacks = ("noon",)
    done = stored = "it is noon"

    def prepare(self, agent: Path, tools: Path) -> None:
        (tools / "mytools.py").write_text(TOOLS, encoding="utf-8")

    def enter(self, stage: Stage) -> None:
        stage.provider.answers.append(Answer("", calls=(("wait", {}),)))
        stage.terminal.send("what time is it\r")
        stage.terminal.wait_for("run it?")

    def leave(self, stage: Stage) -> None:
        stage.terminal.send("y\r")
        self.say(stage)

    def say(self, stage: Stage) -> None:
        """Say the word the tool waits for."""
        stage.provider.answers.append("it is noon")
        (stage.tools / "word").touch()


class Tool(Asking):
    """A tool runs."""

    options = (*Asking.options, "--yes")
    shown = "%"
    keeps = (*Asking.keeps, "### Tool (wait)")

    def enter(self, stage: Stage) -> None:
        stage.provider.answers.append(Answer("", calls=(("wait", {}),)))
        stage.terminal.send("what time is it\r")
        stage.terminal.wait_until((stage.tools / "running").exists)

    def leave(self, stage: Stage) -> None:
        self.say(stage)


class Compacting(State):
    """A summary is being written."""

    options = ("--context-length", "3000")
    keeps = ("my cat is Tom",)
    lacks = ("[Compressed Memory Summary]",)
    shown = "compacting"
    done = "\N{RIGHTWARDS ARROW}"
    stored = "a cat named Tom"

    def __init__(self) -> None:
        self.gate = Gate()

    def prepare(self, agent: Path, tools: Path) -> None:
        talked_before(agent)

    def enter(self, stage: Stage) -> None:
        stage.provider.answers.append(Answer("a cat named Tom", gate=self.gate))
        stage.terminal.send("/compact\r")
        self.gate.wait_until_reached()
        stage.terminal.wait_for("compacting")

    def leave(self, stage: Stage) -> None:
        self.gate.open()


STATES = (Empty, Typing, Waiting, Streaming, Saving, Asking, Tool, Compacting)
