"""`agentmem compact`: summarise an agent's memory now."""

from __future__ import annotations

from typing import Annotated

import typer

from agentmem.cli import options, output
from agentmem.errors import UsageError


def compact(
    agent: options.AgentName,
    summary: Annotated[
        str | None,
        typer.Option("--summary", metavar="TEXT|@FILE|-", help="Use this text instead of asking the model."),
    ] = None,
    focus: Annotated[
        str, typer.Option("--focus", metavar="TEXT", help="What to keep above all.", show_default=False)
    ] = "",
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Model that writes the summary [default: the agent's].",
            autocompletion=options.complete_models,
        ),
    ] = None,
    keep_tokens: Annotated[
        int | None,
        typer.Option(
            "--keep-tokens",
            metavar="N",
            min=0,
            help="Tokens of recent talk to leave word for word [default: 10 % of the window, at most 4000].",
        ),
    ] = None,
    context_length: Annotated[
        int | None,
        typer.Option("--context-length", metavar="N", min=1, help="The model's context window in tokens."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the last compaction back.")] = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Summarise the memory of AGENT now; the raw log goes to the archive."""
    if undo:
        archive = options.existing_memory(agent, workspace).undo()
        if json:
            output.write_json({"agent": agent, "restored": archive})
        output.notice(f"the memory is again as in archive/{archive}, followed by what came after")
        return
    folder = options.existing_folder(agent, workspace)
    text = output.read_argument(summary) if summary is not None else None
    if text is not None and not text.strip():
        raise UsageError("the summary is empty")

    from agentmem import settings
    from agentmem.agent import Agent

    flags = {"summarizer_model": model, "keep_tokens": keep_tokens, "context_length": context_length}
    resolved = settings.load({**flags, "compression": True}, agent_folder=folder)
    with Agent(agent, workspace_dir=workspace, resolved=resolved, notice=output.notice) as opened:
        report = opened.compact(focus=focus, summary=text, dry_run=dry_run, progress=_progress)
    if json:
        output.write_json(
            {
                "agent": agent,
                "archive": report.archive or None,
                "tokens_before": report.before,
                "tokens_after": report.after,
                "summarised": report.summarised,
                "kept": report.kept,
                "calls": report.calls,
                "summary": report.summary,
            }
        )
    elif dry_run:
        output.write_text(f"{report.summary}\n")
    output.notice(summary_line(report.before, report.after, report.archive))


def summary_line(before: int, after: int, archive: str) -> str:
    """Return a compaction's result in one line."""
    where = f" · raw log in archive/{archive}" if archive else " · nothing was written"
    return f"{output.human_count(before)} → {output.human_count(after)} tokens{where}"


def _progress(part: int, parts: int) -> None:
    output.notice(f"summarising part {part} of {parts}" if parts > 1 else "summarising")
