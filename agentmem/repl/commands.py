"""The slash commands: one table drives dispatch, help and completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem import spelling
from agentmem.errors import UsageError
from agentmem.repl import actions, exchange, views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentmem.repl.chat import Chat


class Leave(Exception):
    """The person wants to leave."""


def _nothing(_chat: Chat) -> Iterable[str]:
    return ()


def _compaction(_chat: Chat) -> Iterable[str]:
    return ("compaction",)


def _code(_chat: Chat) -> Iterable[str]:
    return ("code",)


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
    command = TABLE.get("exit" if name == "quit" else name)
    if command is None:
        near = spelling.nearest(name, TABLE)
        hint = f"did you mean /{near}?" if near else "/help lists the commands"
        raise UsageError(f"no command /{name}; {hint} (// at the start sends a slash)")
    if argument.strip() and not command.argument:
        raise UsageError(f"/{name} takes no argument")
    command.run(chat, argument.strip())


def _help(chat: Chat, _argument: str) -> None:
    rows = [(f"/{each.name} {each.argument}".rstrip(), each.help) for each in TABLE.values()]
    chat.show(views.pairs(rows, chat.width))
    chat.show([()])
    chat.show(views.pairs(KEYS, chat.width))


def _leave(_chat: Chat, _argument: str) -> None:
    raise Leave


KEYS = (
    ("Enter", "send"),
    ("Alt-Enter, Ctrl-J", "new line"),
    ("Tab", "complete a command"),
    ("Ctrl-T", "show what the model thought before its last reply"),
    ("Ctrl-R", "search what was typed before"),
    ("Ctrl-X Ctrl-E", "write in $EDITOR; nothing is sent yet"),
    ("Ctrl-C", "stop the reply, keeping what came; or clear the line"),
    ("Ctrl-Z", "stop for a while; fg comes back"),
    ("Ctrl-D", "leave"),
)

TABLE = {
    command.name: command
    for command in (
        Command("help", "", "list commands and keys", _help),
        Command("tokens", "", "how full the context window is, what the last reply took", actions.tokens),
        Command("show", "[N]", "the last N entries of the memory, 10 by default", actions.show),
        Command("compact", "[FOCUS]", "summarise the memory now, keeping FOCUS above all", actions.compact),
        Command(
            "archives",
            "[NAME]",
            "list what compactions archived, or print one",
            actions.archives,
            actions.archive_names,
        ),
        Command("search", "QUERY", "find what was said, archives included", actions.search),
        Command("forget", "WHAT", "remove entries for good: #N, an id, or words of the text", actions.forget),
        Command(
            "undo",
            "[compaction]",
            "take back the last exchange, or the last compaction",
            exchange.undo,
            _compaction,
        ),
        Command("retry", "", "send the last message again, for a reply or another one", exchange.retry),
        Command("edit", "", "change the last message and send it again", exchange.edit),
        Command("model", "[NAME]", "show the model, or talk to another", actions.model, actions.model_names),
        Command("system", "[TEXT|@FILE]", "show the system prompt, or replace it for now", actions.system),
        Command("export", "FILE", "write memory and archives to a file", actions.export, actions.files),
        Command("copy", "[code]", "copy the last reply, or its last block of code", actions.copy, _code),
        Command("multiline", "", "swap what Enter and Alt-Enter do", actions.multiline),
        Command("exit", "", "leave, as `exit`, `quit` and Ctrl-D do", _leave),
    )
}
