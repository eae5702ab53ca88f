"""`agentmem import`: bring a conversation in from a file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from agentmem import settings
from agentmem.cli import options, output
from agentmem.errors import ImportRefused
from agentmem.figures import counted
from agentmem.importing import Report, import_file
from agentmem.memory import Memory
from agentmem.workspace import Workspace


def import_(
    agent: options.AgentName,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An export of agentmem (jsonl, json, Markdown), a MEMORY.md, OpenAI messages, conversations.json of "
            "ChatGPT or Claude, or what `llm logs --json` prints; - is stdin.",
            show_default=False,
        ),
    ],
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Take the conversations in FILE into the memory of AGENT: all that is new, or nothing."""
    folder = Workspace(settings.workspace_root(workspace)).folder(agent)
    memory = Memory.configured(folder, settings.load(agent_folder=folder))
    with _file(file) as path:
        report = import_file(memory, path, agent, dry_run=dry_run)
    if json:
        output.write_json(
            {
                "agent": agent,
                "format": report.format,
                "taken": report.taken,
                "known": report.known,
                "left": dict(report.left),
                "dry_run": dry_run,
            }
        )
    output.teller(quiet=quiet)(_summary(report, dry_run=dry_run))


@contextmanager
def _file(given: Path) -> Iterator[Path]:
    """Return the path of the file, which for `-` holds what is piped in; it is read more than once."""
    if str(given) != "-":
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        try:
            yield path
        except ImportRefused as error:
            raise ImportRefused(str(error).replace(str(path), "stdin")) from None


def _summary(report: Report, *, dry_run: bool) -> str:
    """Return what was taken and what was not, in one line."""
    verb = "would take" if dry_run else "took"
    span = ""
    if report.first and report.last:
        span = f" ({report.first:%Y-%m-%d} to {report.last:%Y-%m-%d})"
    parts = [f"{verb} {counted(report.taken, 'entry')} from {report.format}{span}"]
    if report.known:
        parts.append(f"{report.known} already here")
    parts += [f"not taken: {number} {what}" for what, number in sorted(report.left.items())]
    return "; ".join(parts)
