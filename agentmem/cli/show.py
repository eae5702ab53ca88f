"""`agentmem show`: the agents, or one agent's memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from agentmem import figures, settings
from agentmem.cli import options, output, screen
from agentmem.display import visible, visible_line
from agentmem.entries import Entry
from agentmem.errors import NotFound, StorageError, UsageError
from agentmem.formats.exported import exported
from agentmem.formats.jsonl import as_object, dump
from agentmem.memory import Memory
from agentmem.memory.reading import Glance
from agentmem.selection import Selection
from agentmem.stamps import to_minute
from agentmem.workspace import Workspace


def show(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="The agent; without one, all agents are listed.",
            autocompletion=options.complete_agents,
            show_default=False,
        ),
    ] = None,
    last: options.Last = None,
    since: options.Since = None,
    before: options.Before = None,
    role: options.Role = None,
    grep: options.Grep = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print MEMORY.md byte for byte.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print where MEMORY.md is.")] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Print how many tokens the entries take, by role.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on printing entries as they are added.")
    ] = False,
    exact: options.Exact = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Show the memory of AGENT, or list the agents."""
    output.end_quietly_on_closed_pipe()
    chosen_by = {"--last": last, "--since": since, "--before": before, "--role": role, "--grep": grep}
    ways = {"--raw": raw, "--path": path, "--tokens": tokens, "--follow": follow}
    _check(agent, chosen_by, ways, json=json)
    if agent is None:
        list_agents(Workspace(settings.workspace_root(workspace)), json=json, exact=exact)
        return
    memory = options.existing_memory(agent, workspace)
    if path:
        output.write(f"{memory.path}\n")
        return
    if not memory.exists():
        raise NotFound(f"{agent} has no memory yet: {memory.path} does not exist")
    if raw:
        output.write_bytes(memory.read().raw)
        return
    selection = options.selection(last=last, since=since, before=before, role=role, grep=grep)
    if follow:
        _follow(memory, selection, agent, json=json, exact=exact)
        return
    chosen = select(memory, selection)
    if tokens:
        from agentmem.cli.weighing import weigh

        weigh(list(chosen), agent, memory.folder, json=json)
        return
    if json:
        output.write_json(
            {
                "agent": agent,
                "path": str(memory.path),
                "entries": [
                    {"number": number, **as_object(exported(entry), agent)} for number, entry in chosen
                ],
            }
        )
        return
    _print(chosen, agent, memory, exact=exact, role=role)


def _print(
    chosen: Iterable[tuple[int, Entry]], agent: str, memory: Memory, *, exact: bool, role: str | None
) -> None:
    first = next(chosen := iter(chosen), None)
    if first is None:
        empty = not memory.tail(1)[0]
        output.notice(
            f"{agent} remembers nothing yet"
            if empty
            else f"no entry is like that{options.unheard(role, memory)}"
        )
    elif screen.wanted():
        screen.show_entries([first, *chosen], agent, exact=exact)
    else:
        for number, entry in chain([first], chosen):
            output.write(rendered(number, entry))


def _check(
    agent: str | None, chosen_by: Mapping[str, object], ways: Mapping[str, object], *, json: bool
) -> None:
    """Refuse options that would be ignored.

    Raises:
        UsageError: they do not go together, or without an AGENT.
    """
    wanted = options.given({**chosen_by, **ways})
    if agent is None and wanted:
        raise UsageError(f"{wanted[0]} is about one agent's memory; name the AGENT")
    for name, does in (("--raw", "prints the whole file"), ("--path", "prints where the file is")):
        if ways[name]:
            options.refuse_beside(name, does, {**chosen_by, **ways, name: None, "--json": json})
    if ways["--follow"]:
        options.refuse_beside("--follow", "prints entries", {"--tokens": ways["--tokens"]})


def _follow(memory: Memory, selection: Selection, agent: str, *, json: bool, exact: bool) -> None:
    """Print entries as they come; as JSON, one a line."""
    from agentmem.cli.following import arriving

    for number, entry in arriving(memory, selection):
        if json:
            output.write(dump({"number": number, **as_object(exported(entry), agent)}) + "\n")
        elif screen.wanted():
            screen.show_entries([(number, entry)], agent, exact=exact, paged=False)
        else:
            output.write(rendered(number, entry))


def select(memory: Memory, selection: Selection) -> Iterable[tuple[int, Entry]]:
    """Return the chosen entries of MEMORY.md with their numbers, reading and keeping no more than it takes."""
    if selection.only_last:
        entries, skipped = memory.tail(selection.last or 0)
        return list(enumerate(entries, skipped + 1))
    chosen = (each for each in enumerate(memory.walk(), 1) if selection.accepts(each[1]))
    return chosen if selection.last is None else deque(chosen, maxlen=selection.last)


def rendered(number: int, entry: Entry) -> str:
    """Return an entry as plain text, safe for a terminal."""
    note = f"  ({entry.note})" if entry.note else ""
    cut = "" if entry.terminated or entry.aside else "  (unfinished)"
    return f"#{number}  {visible_line(entry.role)}  {entry.stamp}{visible_line(note)}{cut}\n{visible(entry.content)}\n\n"


def list_agents(workspace: Workspace, *, json: bool, exact: bool) -> None:
    """Print the agents with their size and age."""
    folders = map(workspace.agents.joinpath, workspace.names())
    rows = [(folder, seen) for folder in folders if (seen := _glance(folder))]
    if json:
        found = [_as_object(folder.name, seen) for folder, seen in rows]
        output.write_json({"workspace": str(workspace.root), "agents": found})
    elif not rows:
        output.notice(f"no agents in {workspace.root} yet; `agentmem chat NAME` makes one")
    elif screen.wanted():
        screen.show_agents(rows, exact=exact)
    else:
        table = [_as_text(folder.name, seen) for folder, seen in rows]
        output.write(output.table(table, right=("entries", "tokens", "size", "archives")))


def _glance(folder: Path) -> Glance | None:
    """Return what the list says of an agent, or None when its files cannot be read, which is said at once."""
    try:
        return Memory(folder).glance()
    except StorageError as error:
        output.notice(f"left out: {error}")
        return None


def _as_object(agent: str, seen: Glance) -> dict[str, object]:
    return {
        "agent": agent,
        "entries": seen.entries,
        "tokens": figures.tokens_in(seen.size),
        "size": seen.size,
        "archives": seen.archives,
        "last": seen.last.stamp if seen.last else None,
    }


def _as_text(agent: str, seen: Glance) -> dict[str, str]:
    return {
        "agent": visible_line(agent),
        "entries": str(seen.entries),
        "tokens": f"~{figures.tokens(figures.tokens_in(seen.size))}",
        "size": figures.size(seen.size),
        "archives": str(seen.archives),
        "last entry": to_minute(seen.last.stamp) if seen.last else "",
    }
