"""`agentmem forget`: remove entries, or an agent, from memory and archives."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from agentmem.cli import options, output
from agentmem.display import visible_line
from agentmem.entries import Entry, parse
from agentmem.errors import NotFound, UsageError
from agentmem.formats.exported import exported
from agentmem.formats.jsonl import as_object
from agentmem.memory import Forgotten, Memory
from agentmem.selection import any_of, pick_entry

_PREVIEW = 72  # characters of an entry shown before it goes


def forget(
    agent: options.AgentName,
    entry: Annotated[
        list[str] | None,
        typer.Option(
            "--entry", metavar="ID", help="This entry: #N, or its timestamp or a prefix; repeatable."
        ),
    ] = None,
    match: Annotated[
        str | None, typer.Option("--match", metavar="TEXT", help="Entries that contain this, in any case.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The agent, with everything it has.")] = False,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Remove entries from the memory and the archives of AGENT for good."""
    memory = options.existing_memory(agent, workspace)
    if not (entry or match or everything):
        raise UsageError("say what to forget: --entry, --match or --all")
    if everything and (entry or match):
        raise UsageError("--all forgets the whole agent and takes no other selector")
    command = f"agentmem {shlex.join([*sys.argv[1:], '--yes'])}"
    if everything:
        _forget_agent(agent, memory, command, dry_run=dry_run, yes=yes, json=json)
        return
    wanted = any_of(_named(memory, entry)) if entry else None
    selection = options.selection(match=match)

    def chosen(_file: str, each: Entry) -> bool:
        return (wanted is None or wanted(each)) and selection.accepts(each)

    found = memory.forget(chosen, dry_run=True)
    if not found:
        raise NotFound(f"nothing of {agent}'s memory or archives is meant by that; nothing was removed")
    _preview(found)
    gone = dry_run or yes or output.confirm("forget these for good?", command)
    if gone and not dry_run:
        found = memory.forget(chosen)
    _report(agent, found, json=json, done=gone and not dry_run)


def _named(memory: Memory, names: list[str]) -> list[Entry]:
    entries = list(memory.read().entries)
    archived = [
        each for archive in memory.archives() for each in parse(memory.read_archive(archive.name)[1]).entries
    ]
    return [pick_entry(entries if name.startswith("#") else [*entries, *archived], name) for name in names]


def _preview(found: list[Forgotten]) -> None:
    for each in found:
        print(f"{each.file}:", file=sys.stderr)
        for entry in each.entries:
            text = visible_line(entry.text[: _PREVIEW + 1])
            short = text if len(text) <= _PREVIEW else f"{text[:_PREVIEW]}…"
            print(f"  {entry.stamp}  {visible_line(entry.role)}  {short}", file=sys.stderr)


def _report(agent: str, found: list[Forgotten], *, json: bool, done: bool) -> None:
    count = sum(len(each.entries) for each in found)
    if json:
        files = {each.file: [as_object(exported(entry), agent) for entry in each.entries] for each in found}
        output.write_json({"agent": agent, "forgotten": done, "files": files})
    verb = "forgot" if done else "nothing was removed; this would forget"
    output.notice(f"{verb} {count} {'entry' if count == 1 else 'entries'} in {len(found)} file(s)")
    if done:
        output.notice("copies may remain in exports, backups and with the model's provider")


def _forget_agent(agent: str, memory: Memory, command: str, *, dry_run: bool, yes: bool, json: bool) -> None:
    archives = len(memory.archives())
    what = f"{agent}: {memory.folder} with its memory and {archives} archive(s)"
    gone = not dry_run and (yes or output.confirm(f"forget {what}, for good?", command))
    if gone:
        memory.delete()
    if json:
        output.write_json({"agent": agent, "forgotten": gone, "folder": str(memory.folder)})
    output.notice(f"{'forgot' if gone else 'nothing was removed; this would forget'} {what}")
