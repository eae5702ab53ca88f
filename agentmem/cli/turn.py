"""One turn of `agentmem chat`: its reply on stdout as it arrives, or as JSON."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from agentmem.cli import approval, output
from agentmem.display import Visible
from agentmem.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem.agent import Agent
    from agentmem.models.base import Piece, ToolCall


class Ended(KeyboardInterrupt):
    """A signal ended the turn; whoever is prepared for Ctrl-C, such as a running tool, is for this.

    Attributes:
        number: the signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ended_orderly() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the turn as Ctrl-C does: what has come of the reply is kept.

    Raises:
        typer.Exit: one of them came.
    """

    def leave(number: int, _frame: object) -> None:
        raise Ended(number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), leave)
    try:
        yield
    except Ended as end:
        raise typer.Exit(128 + end.number) from None


def take(
    agent: Agent, task: str, *, retry: bool, stream: bool, json: bool, tell: Callable[[str], None]
) -> None:
    """Take one turn and print the reply; errors as `Agent.run`, and as `_Printer.check`.

    Args:
        agent: whose turn.
        task: what to say.
        retry: send the last unanswered message again instead.
        stream: print the replies as they arrive.
        json: print one JSON document.
        tell: told each tool call's outcome.
    """
    printer = _Printer() if stream else None
    on_piece = printer.take if printer else _ignore

    def on_result(call: ToolCall, result: str) -> None:
        tell(approval.outcome(call, result))

    with _saying_how_to_go_on(agent, task, tell):
        answer = agent.retry(on_piece, on_result) if retry else agent.run(task, on_piece, on_result)
    agent.refresh()  # whoever saved an older copy meanwhile took this turn with it
    if json:
        output.write_json(_as_json(agent, answer))
    elif printer:
        printer.end()
        printer.check()
    else:
        output.write_text(f"{answer}\n")


@contextmanager
def _saying_how_to_go_on(agent: Agent, task: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Add to what ends a turn that its message need not be given again; `task` is "" for the last one."""
    try:
        yield
    except (AgentMemError, KeyboardInterrupt) as end:
        if agent.short_memory.can_resend(task):
            kept = (
                f"the message is kept: `agentmem chat {shlex.quote(agent.agent_name)} --retry` sends it again"
            )
            if isinstance(end, AgentMemError):
                end.args = (f"{end}; {kept}", *end.args[1:])
            else:
                with suppress(OSError):  # the terminal may be what is gone
                    tell(kept)
        raise


def _ignore(_piece: Piece) -> None:
    """Take no notice of a piece."""


def _as_json(agent: Agent, answer: str) -> dict[str, object]:
    reply, run = agent.last_reply, agent.last_run
    entry = next((turn.entry for turn in reversed(agent.short_memory.turns) if turn.entry), None)
    return {
        "agent": agent.agent_name,
        "model": agent.model.name,
        "reply": answer,
        "id": entry.stamp if entry else None,
        "finish": reply.finish or None,
        "usage": {
            "prompt_tokens": run.usage.prompt_tokens or None,
            "completion_tokens": run.usage.completion_tokens or None,
            "cached_tokens": run.usage.cached_tokens,
            "cost": run.usage.cost,
        },
        "calls": run.calls,
        "tool_calls": run.tool_calls,
        "stopped": run.stopped or None,
    }


class _Printer:
    """Writes replies to stdout as they arrive; a reader that goes away does not stop the turn from being kept."""

    def __init__(self) -> None:
        self._text = ""
        self._gone = False
        self._failure = ""
        self._ended = False
        self._visible = Visible() if sys.stdout.isatty() else None

    def take(self, piece: Piece) -> None:
        from agentmem.models.base import Finish, TextDelta

        if isinstance(piece, TextDelta):
            text = f"\n{piece.text}" if self._ended else piece.text
            self._write(self._visible.feed(text) if self._visible else text)
            self._ended = False
        elif isinstance(piece, Finish) and self._text and not self._ended:
            self.end()  # what a tool has to say on stderr begins a line of its own
            self._ended = True

    def end(self) -> None:
        self._write(self._visible.flush() if self._visible else "")
        self._write("" if self._text.endswith("\n") else "\n")

    def check(self) -> None:
        """Say that what was printed did not arrive.

        Raises:
            AgentMemError: stdout could not be written, and not because nobody reads it.
        """
        if self._failure:
            raise AgentMemError(
                f"the reply is stored, but stdout cannot be written: {self._failure}; `agentmem show` has it"
            )

    def _write(self, text: str) -> None:
        self._text = text or self._text
        if self._gone:
            return
        try:
            output.write(text)
            sys.stdout.flush()
        except OSError as error:
            self._gone = True
            self._failure = "" if isinstance(error, BrokenPipeError) else error.strerror or str(error)
            # The interpreter flushes stdout once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
