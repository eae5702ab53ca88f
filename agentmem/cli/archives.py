"""`agentmem archives`: list, print or restore what compactions archived."""

from __future__ import annotations

from typing import Annotated

import typer

from agentmem.cli import options, output, screen
from agentmem.cli.show import rendered
from agentmem.entries import parse
from agentmem.formats.exported import exported
from agentmem.formats.jsonl import as_object
from agentmem.memory import Archive


def archives(
    agent: options.AgentName,
    archive: Annotated[
        str | None,
        typer.Argument(
            metavar="[ARCHIVE]",
            help="An archive's name, an unambiguous prefix of it, or latest.",
            autocompletion=options.complete_archives,
            show_default=False,
        ),
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Make ARCHIVE the memory again; the present one is archived.")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the archive byte for byte.")] = False,
    exact: options.Exact = False,
    yes: options.Yes = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """List the archives of AGENT, or print one."""
    output.end_quietly_on_closed_pipe()
    memory = options.existing_memory(agent, workspace)
    if archive is None:
        if restore:
            raise typer.BadParameter("--restore needs the ARCHIVE to restore", param_hint="ARCHIVE")
        _list(agent, memory.archives(), json=json, exact=exact)
        return
    found, content = memory.read_archive(archive)
    if restore:
        command = f"agentmem archives {agent!r} {found.name} --restore --yes"
        if yes or output.confirm(f"put {found.name} back as {agent}'s memory?", command):
            kept = memory.restore(found.name)
            output.notice(f"restored {found.name}; the memory before it is archive/{kept}")
    elif raw:
        output.write_bytes(content)
    elif json:
        entries = [as_object(exported(entry, found.name), agent) for entry in parse(content).entries]
        output.write_json({"agent": agent, "archive": found.name, "entries": entries})
    elif screen.wanted():
        screen.show_entries(enumerate(parse(content).entries, 1), agent, exact=exact)
    else:
        for number, entry in enumerate(parse(content).entries, 1):
            output.write(rendered(number, entry))


def _list(agent: str, found: list[Archive], *, json: bool, exact: bool) -> None:
    if json:
        rows = [{"archive": each.name, "path": str(each.path), "size": each.size} for each in found]
        output.write_json({"agent": agent, "archives": rows})
    elif not found:
        output.notice(f"{agent} has no archives; its memory was never compacted")
    elif screen.wanted():
        screen.show_archives(found, exact=exact)
    else:
        output.write(
            output.table(
                ({"archive": each.name, "size": output.human_size(each.size)} for each in found),
                right=("size",),
            )
        )
