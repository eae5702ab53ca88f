"""`agentmem import`: bring a conversation in from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentmem import settings
from agentmem.cli import options, output
from agentmem.figures import counted
from agentmem.importing import Report, import_file
from agentmem.memory import Memory
from agentmem.redaction import redact
from agentmem.workspace import Workspace


def import_(
    agent: options.AgentName,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An export of agentmem (jsonl, json, Markdown), a MEMORY.md, OpenAI messages, conversations.json of "
            "ChatGPT or Claude, or what `llm logs --json` prints.",
            show_default=False,
        ),
    ],
    dry_run: options.DryRun = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Take the conversations in FILE into the memory of AGENT: all that is new, or nothing."""
    folder = Workspace(settings.workspace_root(workspace)).folder(agent)
    chosen = settings.load(agent_folder=folder)
    memory = Memory(
        folder, lock_timeout=chosen.lock_timeout, lock=chosen.lock, redact=redact if chosen.redact else str
    )
    report = import_file(memory, file, agent, dry_run=dry_run)
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
    output.notice(_summary(report, dry_run=dry_run))


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
