"""The last exchange: sent again, changed, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.errors import NotFound, UsageError
from agentmem.figures import counted
from agentmem.repl import views
from agentmem.roles import is_user
from agentmem.selection import any_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.entries import Entry
    from agentmem.repl.chat import Chat
    from agentmem.turns import Turn


def say(chat: Chat, text: str) -> None:
    """Send a message, and say how to send it again after an error."""
    if not chat.say(text) and chat.agent.short_memory.can_resend(text):
        chat.say_line("the message is kept; /retry sends it again")


def undo(chat: Chat, argument: str) -> None:
    """Take the last exchange back, or the last compaction."""
    if argument not in {"", "compaction"}:
        raise UsageError(
            f"/undo takes back the last exchange, /undo compaction the last compaction; not {argument!r}"
        )
    if argument or chat.just_compacted:
        archive = chat.memory.undo()
        chat.just_compacted = False
        chat.reload()
        chat.say_line(f"the memory is again as in archive/{archive}, followed by what came after")
        return
    gone = take_back(chat, last_exchange(chat))
    chat.say_line(f"took back {counted(len(gone), 'entry')}: {views.brief(gone[0].text, 50)}")
    among = any_of(gone)
    for each in chat.memory.archives()[-1:]:
        if any(map(among, chat.memory.walk(each.name))):
            chat.say_line(f"archive/{each.name} still has it; /forget removes it from there too")


def retry(chat: Chat, _argument: str) -> None:
    """Send the last message again: the one without a reply, or for another reply."""
    exchange = last_exchange(chat)
    if len(exchange) == 1:
        chat.retry()
    elif not replace(chat, exchange[1:], chat.retry):
        chat.say_line("the reply that was there stays")


def edit(chat: Chat, _argument: str) -> None:
    """Put the last message on the line again; sending it replaces the exchange."""
    exchange = last_exchange(chat)
    chat.draft = exchange[0].text
    chat.replaced = exchange
    chat.say_line("change it and send it: it will replace the last exchange; Ctrl-C leaves all as it is")


def resend(chat: Chat, text: str, exchange: list[Entry]) -> None:
    """Send a message in the place of the last exchange, which stays when no reply comes."""
    if replace(chat, exchange, lambda: chat.say(text)):
        return
    among = any_of(exchange)
    take_back(chat, [entry for entry in last_exchange(chat) if not among(entry)])
    chat.draft, chat.replaced = text, exchange
    chat.say_line("nothing was replaced; Enter sends it again, Ctrl-C leaves all as it was")


def replace(chat: Chat, entries: list[Entry], turn: Callable[[], object]) -> bool:
    """Take a turn as if entries had not been said, and remove them once something of a reply has come.

    Returns:
        Whether it has; without a reply they stay.
    """
    conversation, among = chat.agent.short_memory, any_of(entries)
    conversation.set_aside(entries)
    chat.agent.window.measure()
    try:
        turn()
    finally:
        replied = any(
            said.entry and said.role == chat.name and not among(said.entry) for said in _since_user(chat)
        )
        if replied:
            take_back(chat, entries)
        else:
            conversation.reload()
            chat.agent.window.measure()
            chat.measure()
    return replied


def last_exchange(chat: Chat) -> list[Entry]:
    """Return the last message of the user and what followed it.

    Raises:
        NotFound: there is none.
    """
    memory = chat.memory
    entries = [turn.entry for turn in _since_user(chat) if turn.entry]
    if not entries:
        compacted = "since the compaction, which /undo compaction takes back" if memory.archives() else "yet"
        raise NotFound(f"nothing was said {compacted}")
    return entries


def take_back(chat: Chat, entries: list[Entry]) -> list[Entry]:
    """Remove entries from the memory and the context; those that are in an archive by now stay there."""
    among = any_of(entries)
    chat.memory.forget(lambda file, entry: file == "MEMORY.md" and among(entry))
    chat.reload()
    return entries


def _since_user(chat: Chat) -> list[Turn]:
    """Return the last message of the user and what followed it, or nothing when there is none."""
    record = chat.agent.short_memory.record
    start = max((at for at, turn in enumerate(record) if is_user(turn.role)), default=len(record))
    return record[start:]
