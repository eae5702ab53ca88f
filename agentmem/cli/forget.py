"""`agentmem forget`: remove entries, archives, or an agent."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem import forgetting, input_history, settings
from agentmem.cli import options, output, screen
from agentmem.cli.forgotten import Outcome, amount, preview, report
from agentmem.converting import parse_duration
from agentmem.errors import AgentMemError, NotFound, StorageError, UsageError
from agentmem.figures import counted
from agentmem.memory import Memory
from agentmem.roles import marked
from agentmem.selection import key_of
from agentmem.stamps import now
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from agentmem.entries import Entry

_CHOICES = ("redo", "drop", "keep")


def _complete_archives(ctx: typer.Context, incomplete: str) -> list[str]:
    every = [forgetting.EVERY] if forgetting.EVERY.startswith(incomplete) else []
    return [*every, *options.complete_archives(ctx, incomplete)]


def _complete_choices(incomplete: str) -> list[str]:
    return [choice for choice in _CHOICES if choice.startswith(incomplete)]


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
    regex: Annotated[
        str | None,
        typer.Option(
            "--regex",
            metavar="PATTERN",
            help="Entries that a regular expression (as Python has them) finds something in.",
        ),
    ] = None,
    role: options.Role = None,
    since: options.Since = None,
    before: options.Before = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="SPAN", help="Entries older than this: 30m, 12h, 90d, 2w."),
    ] = None,
    archive: Annotated[
        list[str] | None,
        typer.Option(
            "--archive",
            metavar="NAME|all",
            autocompletion=_complete_archives,
            help="Only what stands in this archive, or in all; one of which all goes is deleted. Repeatable.",
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            "--last", metavar="N", min=1, help="The newest N entries of what the rest selects [default: all]."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The agent, with everything it has.")] = False,
    summaries: Annotated[
        str | None,
        typer.Option(
            "--summaries",
            metavar="|".join(_CHOICES),
            autocompletion=_complete_choices,
            help="What becomes of summaries made from it: made anew by the model, removed, or left.",
        ),
    ] = None,
    exact: options.Exact = False,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Remove what all the given selectors choose, from the memory and the archives of AGENT, for good."""
    given = {
        "--entry": entry,
        "--match": match,
        "--regex": regex,
        "--role": role,
        "--since": since,
        "--before": before,
        "--older-than": older_than,
        "--archive": archive,
        "--last": last,
    }
    _check(given, everything=everything, summaries=summaries)
    Memory.sweep_deleted(Workspace(settings.workspace_root(workspace)).agents)
    memory = options.existing_memory(agent, workspace)
    tell = output.teller(quiet=quiet)
    if everything:
        _forget_agent(agent, memory, tell, dry_run=dry_run, yes=yes, json=json)
        return
    selection = options.selection(last=last, since=since, before=before, role=role, grep=regex, match=match)
    if older_than:
        limit = _moment(older_than)
        selection = dataclasses.replace(selection, before=min(selection.before or limit, limit))
    wanted = forgetting.Wanted(tuple(entry or ()), selection, tuple(archive or ()))
    try:
        plan = forgetting.plan(memory, wanted, input_history.load(memory.folder))
    except NotFound as error:
        raise NotFound(f"{error}{options.unheard(role, memory)}") from None
    if not (quiet and (yes or dry_run)):
        preview(plan, exact=exact)
    outcome = Outcome(agent, plan)
    if not dry_run and (
        yes or output.confirm(f"{amount(plan)}: forget these for good?", _command(plan, summaries))
    ):
        outcome = _carry_out(outcome, memory, _choice(plan, summaries), workspace)
    report(outcome, tell, json=json)


def _check(given: Mapping[str, object], *, everything: bool, summaries: str | None) -> None:
    """Refuse what could mean more than was intended."""
    for name, value in given.items():
        if value == "" or (isinstance(value, list) and "" in value):
            raise UsageError(f"{name} is empty; nothing was removed")
    selectors = [name for name, value in given.items() if value]
    if not (selectors or everything):
        raise UsageError(f"say what to forget: {', '.join(given)} or --all; nothing was removed")
    if everything and summaries:
        raise UsageError("--all forgets the summaries too; leave --summaries out")
    if everything and selectors:
        raise UsageError(f"--all forgets the whole agent and takes no other selector, not {selectors[0]}")
    if summaries is not None:
        options.check_word("--summaries", summaries, _CHOICES)


def _moment(span: str) -> datetime:
    try:
        return now() - parse_duration(span)
    except (ValueError, OverflowError):
        raise UsageError(f"--older-than takes a span such as 30d, 12h or 2w, not {span!r}") from None


def _command(plan: forgetting.Plan, summaries: str | None) -> str:
    """Return what a script would have to run."""
    choice = ["--summaries", "|".join(_CHOICES)] if plan.summaries and not summaries else []
    return f"agentmem {shlex.join([*sys.argv[1:], *choice, '--yes'])}"


def _choice(plan: forgetting.Plan, summaries: str | None) -> str:
    """Return what becomes of the summaries.

    Raises:
        UsageError: nobody said, and nobody can be asked.
    """
    if summaries or not plan.summaries:
        return summaries or "keep"
    count = len({key_of(entry) for _, entry in plan.summaries})
    what = f"{count} {'summary was' if count == 1 else 'summaries were'} made from this"
    if not output.interactive():
        raise UsageError(
            f"{what}; say what becomes of it with --summaries {'|'.join(_CHOICES)}; nothing was removed"
        )
    answer = output.ask(f"{what}: [r]edo by the model, [d]rop or [k]eep?")
    chosen = [choice for choice in _CHOICES if answer and choice.startswith(answer)]
    if not chosen:
        raise UsageError("neither redo, drop nor keep; nothing was removed")
    return chosen[0]


def _carry_out(outcome: Outcome, memory: Memory, choice: str, workspace: Path | None) -> Outcome:
    plan = outcome.plan
    news: dict[bytes, Entry] = {}
    drop = list(plan.summaries) if choice == "drop" else []
    if choice == "redo":

        def summarise(entries: Sequence[Entry]) -> str:
            return _summary(outcome.agent, memory, workspace, entries)

        def stored(summary: Entry, text: str) -> Entry:
            return memory.stored(summary.role, summary.stamp, marked(text), summary.note)

        news, drop = forgetting.redone(memory, plan, summarise, stored)
    gone = forgetting.carry_out(memory, plan, drop=drop, renewed=news)
    outcome = dataclasses.replace(outcome, done=True, gone=tuple(gone), choice=choice)
    try:
        return dataclasses.replace(outcome, remains=forgetting.remains(memory, plan))
    except StorageError as error:
        output.notice(f"it is done; what may still say the same could not be looked for: {error}")
        return outcome


def _summary(agent: str, memory: Memory, workspace: Path | None, entries: Sequence[Entry]) -> str:
    """Have the model summarise entries, as a compaction would."""
    from agentmem.agent import Agent

    flags = {"memory": False, "compression": True, "keep_tokens": 0}
    # A summary needs no tools, and to load them is to run their code.
    resolved = dataclasses.replace(settings.load(flags, agent_folder=memory.folder), tools=())
    with Agent(agent, workspace_dir=workspace, resolved=resolved, notice=output.notice) as opened:
        for entry in entries:
            opened.short_memory.add(entry.role, entry.content, note=entry.note)
        doing = f"summarising what is left of {counted(len(entries), 'entry')}"
        if not screen.wanted(sys.stderr):
            output.notice(doing)
        try:
            with screen.waiting(lambda: doing):
                return opened.compact(dry_run=True).summary
        except AgentMemError as error:
            advice = "nothing was removed; --summaries drop or keep needs no model"
            raise type(error)(f"the summary cannot be made anew: {error}; {advice}") from None


def _forget_agent(
    agent: str, memory: Memory, tell: Callable[[str], None], *, dry_run: bool, yes: bool, json: bool
) -> None:
    archives = counted(len(memory.archives()), "archive")
    what = f"{agent}: {memory.folder} with its memory and {archives}"
    command = f"agentmem {shlex.join([*sys.argv[1:], '--yes'])}"
    gone = not dry_run and (yes or output.confirm(f"forget {what}, for good?", command))
    if gone:
        memory.delete()
    if json:
        output.write_json({"agent": agent, "forgotten": gone, "folder": str(memory.folder)})
    tell(f"{'forgot' if gone else 'nothing was removed; this would forget'} {what}")
    if gone:
        tell("copies may remain in exports, backups and with the model's provider")
