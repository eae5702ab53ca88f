"""`agentmem export`: an agent's memory in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from agentmem.cli import options, output
from agentmem.errors import UsageError
from agentmem.exporting import orphans_beside, selected, write_file
from agentmem.formats.registry import ENDINGS, EXPORTS


def export(
    agent: options.AgentName,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="|".join(EXPORTS),
            help="What to write [default: by the ending of FILE, else markdown].",
            show_default=False,
            autocompletion=lambda incomplete: [each for each in EXPORTS if each.startswith(incomplete)],
        ),
    ] = None,
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
    quiet: options.Quiet = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Write the memory of AGENT in another format."""
    output.end_quietly_on_closed_pipe()
    ending = target.suffix.lower() if target else ""
    format_ = format_ if format_ is not None else ENDINGS.get(ending, "markdown")
    options.check_word("--format", format_, EXPORTS)
    memory = options.existing_memory(agent, workspace)
    selection = options.selection(last=last, since=since, before=before, role=role, grep=grep)
    pieces = EXPORTS[format_](selected(memory, selection, archives=archives), agent)
    if role and (unheard := options.unheard(role, memory)):
        output.notice(f"no entry is like that{unheard}")
    if target is None:
        for piece in pieces:
            output.write_text(piece)
        return
    if os.path.isdir(target):
        raise UsageError(f"{target} is a folder; name the file to write in it")
    if target.resolve().is_relative_to(memory.folder.resolve()):
        raise UsageError(f"{target} is in {agent}'s own folder; write the export somewhere else")
    write_file(target, pieces, force=force)
    output.teller(quiet=quiet)(f"wrote {target}")
    for name in orphans_beside(target):
        output.notice(f"an export that was killed left {target.with_name(name)}; it can be deleted")
