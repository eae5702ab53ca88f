"""`agentmem export`: an agent's memory in another format."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from agentmem.cli import options, output
from agentmem.errors import UsageError
from agentmem.exporting import selected, write_file
from agentmem.formats.registry import EXPORTS


def export(
    agent: options.AgentName,
    format_: Annotated[
        str, typer.Option("--format", "-f", metavar="|".join(EXPORTS), help="What to write.")
    ] = "markdown",
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, mode 0600 [default: stdout]."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    archives: Annotated[
        bool, typer.Option("--archives", help="Include the archives, each entry once.")
    ] = False,
    last: options.Last = None,
    since: options.Since = None,
    before: options.Before = None,
    role: options.Role = None,
    grep: options.Grep = None,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Write the memory of AGENT in another format."""
    output.end_quietly_on_closed_pipe()
    if format_ not in EXPORTS:
        near = get_close_matches(format_, EXPORTS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no format {format_!r}; {hint}there are {', '.join(EXPORTS)}")
    memory = options.existing_memory(agent, workspace)
    selection = options.selection(last=last, since=since, before=before, role=role, grep=grep)
    pieces = EXPORTS[format_](selected(memory, selection, archives=archives), agent)
    if target is None:
        for piece in pieces:
            output.write_text(piece)
        return
    if target.resolve().is_relative_to(memory.folder.resolve()):
        raise UsageError(f"{target} is in {agent}'s own folder; write the export somewhere else")
    write_file(target, pieces, force=force)
    output.notice(f"wrote {target}")
