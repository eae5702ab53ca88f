"""`agentmem compact`: summarise an agent's memory now."""

from __future__ import annotations

import dataclasses
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem.cli import options, output, screen
from agentmem.errors import CompactionFailed, ConfigurationError, NothingToCompact, UsageError
from agentmem.models import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from agentmem.agent import Agent
    from agentmem.compressor import Compaction
    from agentmem.models.base import Model, Piece, Request
    from agentmem.settings import Settings

_OPTIONS = {
    "summarizer_model": "--model",
    "summarizer_temperature": "--temperature",
    "summarizer_max_tokens": "--max-tokens",
}


def compact(
    agent: options.AgentName,
    summary: Annotated[
        str | None,
        typer.Option(
            "--summary",
            metavar="TEXT|@FILE|-",
            help="Use this text as the summary [default: the model writes one].",
        ),
    ] = None,
    focus: Annotated[
        str,
        typer.Option(
            "--focus",
            metavar="TEXT",
            help="What to keep above all [default: nothing in particular].",
            show_default=False,
        ),
    ] = "",
    model: Annotated[
        str | None,
        options.setting("summarizer_model", "--model", "-m", value="NAME", complete=options.complete_models),
    ] = None,
    keep_tokens: Annotated[str | None, options.setting("keep_tokens", "--keep-tokens", value="N")] = None,
    temperature: Annotated[
        str | None, options.setting("summarizer_temperature", "--temperature", value="T")
    ] = None,
    max_tokens: Annotated[
        str | None, options.setting("summarizer_max_tokens", "--max-tokens", value="N")
    ] = None,
    context_length: options.ContextLength = None,
    api_base: options.ApiBase = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the last compaction back.")] = False,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Summarise the memory of AGENT now; the raw log goes to the archive."""
    by_model = {"--focus": focus, "--temperature": temperature, "--max-tokens": max_tokens}
    if summary is not None:
        options.refuse_beside("--summary", "takes the model's place", by_model)
    tell = output.teller(quiet=quiet)
    if undo:
        new = {"--summary": summary, "--keep-tokens": keep_tokens, "--context-length": context_length}
        rest = {**new, **by_model, "--model": model, "--api-base": api_base, "--dry-run": dry_run}
        options.refuse_beside("--undo", "takes the last compaction back", rest)
        archive = options.existing_memory(agent, workspace).undo()
        if json:
            output.write_json({"agent": agent, "restored": archive})
        tell(f"the memory is again as in archive/{archive}, followed by what came after")
        return
    folder = options.existing_folder(agent, workspace)
    text = output.read_argument(summary) if summary is not None else None
    if text is not None and not text.strip():
        raise UsageError("the summary is empty; give a text, @FILE, or - and pipe it in")

    from agentmem import settings
    from agentmem.agent import Agent

    flags = {
        "summarizer_model": model,
        "summarizer_temperature": temperature,
        "summarizer_max_tokens": max_tokens,
        "keep_tokens": keep_tokens,
        "context_length": context_length,
        "api_base": api_base,
        "compression": True,
    }
    # A summary needs no tools, and to load them is to run their code.
    loaded = settings.load(flags, agent_folder=folder, options=_OPTIONS)
    resolved = dataclasses.replace(loaded, tools=())
    step = _Step(tell, live=not quiet and screen.wanted(sys.stderr))
    with Agent(
        agent,
        workspace_dir=workspace,
        resolved=resolved,
        model=_model(resolved, needed=text is None),
        notice=step.tell,
    ) as opened:
        report = _compacted(opened, step, focus=focus, summary=text, dry_run=dry_run)
        window = opened.meter.context_length
    if json:
        output.write_json({"agent": agent, **_as_json(report)})
    elif dry_run:
        output.write_text(f"{report.summary}\n")
    if quiet:
        return
    if screen.wanted(sys.stderr):
        from agentmem.cli.compacted import drawn

        width = output.width(sys.stderr)
        screen.show(drawn(report, agent, window, resolved.threshold, width, dry_run=dry_run), sys.stderr)
    else:
        output.notice(report.line)


def _compacted(agent: Agent, step: _Step, *, focus: str, summary: str | None, dry_run: bool) -> Compaction:
    """Compact, and say of a failure what can be done about it."""
    shown = screen.waiting(lambda: step.now) if step.live and summary is None else nullcontext()
    try:
        with shown:
            return agent.compact(focus=focus, summary=summary, dry_run=dry_run, progress=step.take)
    except NothingToCompact as error:
        advice = "; --keep-tokens 0 keeps nothing back" if agent.settings.keep_tokens != 0 else ""
        raise NothingToCompact(f"{error}{advice}") from None
    except CompactionFailed as error:
        advice = "the memory is as it was; --model names another summariser, --summary gives the text"
        raise CompactionFailed(f"{error}; {advice}") from None
    except KeyboardInterrupt:
        step.tell("stopped; the memory is as it was")
        raise


class _Step:
    """What the summariser is at: told as it comes, or on a live terminal for whoever shows it there.

    Attributes:
        live: it is shown elsewhere.
        now: what it is at.
    """

    def __init__(self, tell: Callable[[str], None], *, live: bool) -> None:
        self.live = live
        self.now = "summarising"
        self._tell = tell

    def take(self, part: int, parts: int) -> None:
        """Take note of a part that begins."""
        self.now = f"summarising: part {part} of {parts}" if parts > 1 else "summarising"
        if not self.live:
            self._tell(self.now)

    def tell(self, message: str) -> None:
        """Tell something else, on a row of its own."""
        if self.live:
            sys.stderr.write(screen.ERASE)
        self._tell(message)


def _as_json(report: Compaction) -> dict[str, object]:
    return {
        "archive": report.archive or None,
        "tokens_before": report.before,
        "tokens_after": report.after,
        "summarised": report.summarised,
        "kept": report.kept,
        "calls": report.calls,
        "prompt_tokens": report.usage.prompt_tokens or None,
        "completion_tokens": report.usage.completion_tokens or None,
        "cost": report.usage.cost,
        "details": report.details,
        "details_kept": report.details_kept,
        "invented": report.invented,
        "parts_left_out": report.left_out,
        "tokens_left_out": report.unread,
        "summary": report.summary,
    }


def _model(resolved: Settings, *, needed: bool) -> Model:
    """Open the agent's own model; where none is configured, the summariser alone will do."""
    from agentmem import models

    try:
        return models.open_model(resolved)
    except ConfigurationError:
        if resolved.summarizer_model:
            return models.open_model(resolved, resolved.summarizer_model)
        if needed:
            raise
        return _NoModel()


class _NoModel:
    """Stands in where a summary is given and nobody has to write one."""

    name = ""

    def stream(self, _request: Request) -> Generator[Piece, None, None]:
        raise ConfigurationError("no model is configured")

    def context_length(self) -> int:
        return catalog.FALLBACK_CONTEXT_LENGTH

    def supports_tools(self) -> bool:
        return False

    def close(self) -> None:
        """Have nothing to let go of."""
