"""What the slash commands do."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem import forgetting, input_history
from agentmem.display import shell_path, visible_line
from agentmem.entries import parse
from agentmem.errors import AgentMemError, NotFound, UsageError
from agentmem.figures import counted
from agentmem.repl import views
from agentmem.selection import Selection
from agentmem.stamps import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem.entries import Entry
    from agentmem.repl.chat import Chat

_SHOWN = 10
"""Entries that /show prints, and hits that /search does, when no number is given."""
_ID = re.compile(r"#\d+|\d{4}-\d\d-\d\d(?:T[\d:.+-]*)?")


# Looking


def tokens(chat: Chat, _argument: str) -> None:
    """Show how full the window is."""
    agent = chat.agent
    compressor = agent.context_compressor
    threshold = compressor.threshold if compressor else None
    chat.show(views.tokens_rows(agent.meter, threshold, agent.last_reply.usage, chat.width))


def show(chat: Chat, argument: str) -> None:
    """Print the last entries."""
    if argument and not (argument.isdecimal() and int(argument)):
        raise UsageError(f"/show takes a number of entries, 1 or more, not {argument!r}")
    entries, before = chat.memory.tail(int(argument or _SHOWN))
    if not entries:
        chat.say_line("nothing remembered yet")
    _print_entries(chat, entries, before + 1)


def _print_entries(chat: Chat, entries: Iterable[Entry], first: int) -> None:
    moment = now()
    for number, entry in enumerate(entries, first):
        rows = views.entry_rows(number, entry, chat.name, chat.canvas, chat.width, moment)
        chat.show(rows if number == first else [(), *rows])


def archives(chat: Chat, argument: str) -> None:
    """List the archives, or print one."""
    memory = chat.memory
    if argument:
        _, content = memory.read_archive(argument)
        _print_entries(chat, parse(content).entries, 1)
        return
    found = memory.archives()
    if not found:
        chat.say_line("no archives; this memory was never compacted")
    chat.show(views.archive_rows(found, now()))


def archive_names(chat: Chat) -> Iterable[str]:
    """Give the names of the archives, newest first."""
    agent = chat.opening.agent
    memory = agent.short_memory.memory if agent else None
    return ["latest", *(each.name for each in reversed(memory.archives()))] if memory else []


def search(chat: Chat, argument: str) -> None:
    """Print what fits a query best."""
    if not argument:
        raise UsageError('say what to look for: words, "a phrase", or a prefix*')
    from agentmem.search import Search, parse_query

    hits = Search(chat.memory.folder).find(argument, limit=_SHOWN)
    if not hits:
        chat.say_line("nothing found")
    for number, hit in enumerate(hits):
        rows = views.hit_rows(parse_query(argument), hit, chat.width)
        chat.show([(), *rows] if number else rows)


# Changing what is remembered


def compact(chat: Chat, argument: str) -> None:
    """Compact now."""
    chat.compact(argument)


def forget(chat: Chat, argument: str) -> None:
    """Remove entries for good, after asking."""
    if not argument:
        raise UsageError("say what to forget: #N as /show numbers it, an id, or words of the text")
    memory = chat.memory
    wanted = (
        forgetting.Wanted(entries=(argument,))
        if _ID.fullmatch(argument)
        else forgetting.Wanted(selection=Selection(match=argument))
    )
    plan = forgetting.plan(memory, wanted, input_history.load(memory.folder))
    for each in plan.gone:
        chat.show([((views.DIM, f"{each.file}:"),), *views.brief_rows(each.entries, chat.width)])
    sure = chat.ask("forget these for good? [y/N]") in {"y", "yes"}
    drop = _summaries_to_drop(chat, plan) if sure else None
    if drop is None:
        chat.say_line("nothing was removed")
        return
    forgetting.carry_out(memory, plan, drop=drop)
    chat.history.forget(plan.covers_line)
    chat.reload()
    chat.say_line(
        f"forgot {counted(plan.count, 'entry')}; copies may remain in exports, backups and with the provider"
    )
    for file, entry in forgetting.remains(memory, plan).entries[:_SHOWN]:
        chat.say_line(f"still said in {file}: {views.brief(entry.text, 50)}")


def _summaries_to_drop(chat: Chat, plan: forgetting.Plan) -> Sequence[tuple[str, Entry]] | None:
    """Ask what becomes of the summaries made from what goes; None when the person answers neither."""
    if not plan.summaries:
        return ()
    chat.show([((views.DIM, "summaries made from this:"),)])
    chat.show(views.brief_rows([entry for _, entry in plan.summaries], chat.width))
    answer = chat.ask("[d]rop or [k]eep them? (`agentmem forget` can have them made anew)")
    if answer and "keep".startswith(answer):
        return ()
    return plan.summaries if answer and "drop".startswith(answer) else None


# The session


def model(chat: Chat, argument: str) -> None:
    """Show or switch the model."""
    if not argument:
        length = chat.agent.meter.context_length
        chat.say_line(f"{chat.agent.model.name} · context of {length:,} tokens", "")
        return
    chat.use_model(argument)
    length = chat.agent.meter.context_length
    chat.say_line(f"talking to {argument} now · context of {length:,} tokens")


def model_names(chat: Chat) -> Iterable[str]:
    """Give the names of models, those without a provider's prefix first."""
    del chat
    from agentmem.models.catalog import chat_models

    return sorted(["local", *chat_models()], key=lambda name: ("/" in name, name))


def system(chat: Chat, argument: str) -> None:
    """Show or replace the system prompt of this session."""
    conversation = chat.agent.short_memory
    if not argument:
        chat.say_line(conversation.system_prompt or "no system prompt", "")
        return
    if argument.startswith("@"):
        path = Path(argument[1:]).expanduser()
        try:
            argument = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
    conversation.system_prompt = argument.strip()
    chat.agent.window.measure()
    chat.measure()
    chat.say_line("the system prompt is replaced for this session; chat --system … --save keeps one")


def export(chat: Chat, argument: str) -> None:
    """Write the memory to a file; its ending says the format."""
    path = Path(argument).expanduser()
    from agentmem.exporting import selected, write_file
    from agentmem.formats.registry import ENDINGS, EXPORTS

    if not argument or path.suffix not in ENDINGS:
        raise UsageError(f"name a file that ends in {', '.join(ENDINGS)}")

    memory = chat.memory
    entries = selected(memory, Selection(), archives=True)
    try:
        write_file(path, EXPORTS[ENDINGS[path.suffix]](entries, chat.name))
    except UsageError:
        raise AgentMemError(f"{path} exists; choose another name") from None
    chat.say_line(f"wrote {shell_path(path.absolute())}, archives included")


def files(_chat: Chat) -> Iterable[str]:
    """Give file names for /export."""
    from agentmem.formats.registry import ENDINGS

    return [f"conversation{ending}" for ending in ENDINGS if not os.path.exists(f"conversation{ending}")]


def copy(chat: Chat, argument: str) -> None:
    """Copy the last reply, or its last block of code."""
    from agentmem.repl.clipboard import copy as to_clipboard

    if argument not in {"", "code"}:
        raise UsageError(f"/copy takes nothing or `code`, not {argument!r}")
    record = chat.agent.short_memory.record
    text = next((turn.content for turn in reversed(record) if turn.role == chat.name), "")
    if not text:
        raise NotFound("there is no reply to copy yet")
    if argument:
        from markdown_it import MarkdownIt

        kinds = {"fence", "code_block"}
        blocks = [token.content for token in MarkdownIt().parse(text) if token.type in kinds]
        if not blocks:
            raise NotFound("the last reply has no block of code")
        text = blocks[-1]
    way = to_clipboard(text, chat.write)
    if not way:
        raise AgentMemError("too long to copy through the terminal; /export writes a file")
    chat.say_line(f"copied {counted(len(text), 'character')} with {visible_line(way)}")


def multiline(chat: Chat, _argument: str) -> None:
    """Swap what Enter and Alt-Enter do."""
    chat.multiline = not chat.multiline
    chat.say_line(
        "Enter makes a new line, Alt-Enter sends"
        if chat.multiline
        else "Enter sends, Alt-Enter makes a new line"
    )
