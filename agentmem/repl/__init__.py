"""The chat session in a terminal."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from agentmem.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TextIO

    from agentmem.agent import Agent
    from agentmem.repl.chat import Chat

__all__ = ["run_repl"]


def run_repl(
    open_agent: Callable[[Callable[[str], None]], Agent],
    *,
    name: str,
    folder: Path,
    plain: bool = False,
    quiet: bool = False,
) -> int:
    """Talk to an agent until the person leaves; returns the exit status.

    Args:
        open_agent: opens the agent, given where its notices go; slow, so it runs in the background.
        name: the agent's name.
        folder: its folder.
        plain: no colour, no Markdown, no redrawing.
        quiet: no greeting and no notices.

    Raises:
        AgentMemError: the agent could not be opened.
    """
    from agentmem.repl.chat import Chat
    from agentmem.repl.commands import Leave
    from agentmem.repl.prompt import LinePrompt, Prompt
    from agentmem.repl.signals import Ended, Signals
    from agentmem.repl.stream import can_redraw

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal with another character set shows a question mark for what it does not have.
        sys.stdout.reconfigure(errors="replace")
    redraw = can_redraw(sys.stdout) and not plain
    colour = redraw and not os.environ.get("NO_COLOR")
    chat = Chat(
        open_agent,
        name=name,
        folder=folder,
        screen=sys.stdout,
        notices=sys.stdout if sys.stdout.isatty() else sys.stderr,
        redraw=redraw,
        colour=colour,
        unicode=draws_unicode(),
        quiet=quiet,
    )
    prompt = Prompt(chat, colour=colour) if sys.stdout.isatty() else LinePrompt(chat)

    held: list[bool] = []

    def pause() -> None:
        chat.pause()
        held.append(chat.keyboard.release())

    def resume() -> None:
        if held.pop():
            chat.keyboard.hold()
        chat.resume()

    signals = Signals(pause, resume, prompt.leave)
    try:
        with chat.keyboard.held() if sys.stdout.isatty() else nullcontext(), signals.handled():
            while True:
                signals.begin_turn()
                with suppress(KeyboardInterrupt):
                    text = prompt.ask()
                    signals.end_if_asked()
                    _turn(chat, text)
    except (EOFError, Leave):
        return 0
    except Ended as end:
        return 128 + end.number
    except OSError as error:
        # A terminal that was closed fails whatever is drawn on it, and only then is the signal looked at.
        if error.errno != errno.EIO:
            raise
        return 128 + signal.SIGHUP
    finally:
        _let_go_of(sys.stdout)
        _let_go_of(sys.stderr)


def _turn(chat: Chat, text: str) -> None:
    """Do what was typed."""
    from agentmem.repl import commands, exchange

    replaced, chat.replaced = chat.replaced, []
    if not text.strip():
        return
    if "\n" not in text.strip() and text.strip().startswith("/"):
        text = text.strip()
    slash = text.startswith("/") and not text.startswith("//")
    try:
        if slash:
            chat.remember(text)
            commands.run(chat, text)
        elif text.strip() in {"exit", "quit"}:
            raise commands.Leave
        else:
            chat.remember(text)
            said = text[1:] if text.startswith("//") else text
            if replaced:
                exchange.resend(chat, said, replaced)
            else:
                exchange.say(chat, said)
    except AgentMemError as error:
        if chat.opening.agent is None:
            raise
        chat.complain(error)
    finally:
        chat.keep_typed()
    chat.end_paragraph()


def _let_go_of(screen: TextIO) -> None:
    """Drop what a terminal that is gone can no longer show, or the interpreter would fail over it at its end."""
    try:
        screen.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), screen.fileno())


def draws_unicode() -> bool:
    """Return whether the terminal's character set has more than ASCII."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or os.environ.get("LC_CTYPE") or ""
    if locale in {"C", "POSIX"}:
        return False
    return (sys.stdout.encoding or "").casefold().replace("-", "") == "utf8"
