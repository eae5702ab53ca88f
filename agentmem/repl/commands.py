"""The slash commands: one table drives dispatch, help and completion."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.errors import AgentMemError, UsageError
from agentmem.repl import views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentmem.repl.chat import Chat

_SHOWN = 10
"""Entries that /show prints when no number is given."""


class Leave(Exception):
    """The person wants to leave."""


def _nothing(_chat: Chat) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Command:
    """A slash command.

    Attributes:
        name: without the slash.
        argument: how the argument is called in help, "" when there is none.
        help: one sentence.
        run: does it, given what was typed after the name.
        choices: what the argument can be, for completion.
    """

    name: str
    argument: str
    help: str
    run: Callable[[Chat, str], None]
    choices: Callable[[Chat], Iterable[str]] = _nothing


def run(chat: Chat, line: str) -> None:
    """Do what a line that starts with a slash says.

    Raises:
        Leave: the person wants to leave.
        AgentMemError: it cannot be done; an unknown command is a usage error.
    """
    name, _, argument = line[1:].strip().partition(" ")
    command = TABLE.get(name)
    if command is None:
        near = difflib.get_close_matches(name, TABLE, n=1, cutoff=0.5)
        hint = f"did you mean /{near[0]}?" if near else "/help lists the commands"
        raise UsageError(f"no command /{name}; {hint} (// at the start sends a slash)")
    if argument.strip() and not command.argument:
        raise UsageError(f"/{name} takes no argument")
    command.run(chat, argument.strip())


def _help(chat: Chat, _argument: str) -> None:
    chat.show(views.pairs((f"/{each.name} {each.argument}".rstrip(), each.help) for each in TABLE.values()))
    chat.show([()])
    chat.show(views.pairs(KEYS))


def _tokens(chat: Chat, _argument: str) -> None:
    agent = chat.agent
    compressor = agent.context_compressor
    threshold = compressor.threshold if compressor else None
    chat.show(views.tokens_rows(agent.meter, threshold, agent.last_reply.usage))


def _show(chat: Chat, argument: str) -> None:
    memory = chat.agent.short_memory.memory
    if memory is None:
        raise UsageError("nothing of this session is kept, so there is nothing to show")
    if argument and not argument.isdecimal():
        raise UsageError(f"/show takes a number of entries, not {argument!r}")
    entries, before = memory.tail(int(argument or _SHOWN))
    if not entries:
        chat.say_line("nothing remembered yet")
    for number, entry in enumerate(entries, before + 1):
        chat.show(views.entry_rows(number, entry, chat.name, chat.canvas, chat.width))


def _compact(chat: Chat, argument: str) -> None:
    chat.compact(argument)


def _leave(_chat: Chat, _argument: str) -> None:
    raise Leave


KEYS = (
    ("Enter", "send"),
    ("Alt-Enter, Ctrl-J", "new line"),
    ("Tab", "complete a command"),
    ("Ctrl-R", "search what was typed before"),
    ("Ctrl-X Ctrl-E", "write in $EDITOR"),
    ("Ctrl-C", "stop the reply, keeping what came; or clear the line"),
    ("Ctrl-D", "leave"),
)

TABLE = {
    command.name: command
    for command in (
        Command("help", "", "list commands and keys", _help),
        Command("tokens", "", "how full the context window is, and what the last reply took", _tokens),
        Command("show", "[N]", "the last N entries of the memory, 10 by default", _show),
        Command("compact", "[FOCUS]", "summarise the memory now, keeping FOCUS above all", _compact),
        Command("exit", "", "leave", _leave),
    )
}

__all__ = ["KEYS", "TABLE", "AgentMemError", "Command", "Leave", "run"]
