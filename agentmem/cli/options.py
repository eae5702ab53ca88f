"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agentmem import settings, spelling
from agentmem.cli import output
from agentmem.errors import AgentMemError, ConfigurationError, UsageError
from agentmem.memory import Memory
from agentmem.roles import USER, tool_of
from agentmem.selection import Selection, compile_pattern, parse_when
from agentmem.stamps import now
from agentmem.workspace import Workspace


def complete_agents(incomplete: str) -> list[str]:
    """List the agents whose name begins as typed."""
    try:
        return [name for name in Workspace(settings.workspace_root()).names() if name.startswith(incomplete)]
    except AgentMemError:
        return []


def complete_archives(ctx: typer.Context, incomplete: str) -> list[str]:
    """List an agent's archives, newest first, and `latest`."""
    try:
        memory = existing_memory(ctx.params.get("agent") or "", ctx.params.get("workspace"))
        names = ["latest", *(each.name for each in reversed(memory.archives()))]
    except AgentMemError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_models(incomplete: str) -> list[str]:
    """List the models whose name begins as typed."""
    from agentmem.models.catalog import chat_models

    return [name for name in ["local", *chat_models()] if name.startswith(incomplete)]


AgentName = Annotated[
    str,
    typer.Argument(
        metavar="AGENT", help="The agent's name.", autocompletion=complete_agents, show_default=False
    ),
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="FOLDER",
        help="Folder that holds all agents [default: $WORKSPACE_DIR, or the user's data folder].",
        show_default=False,
    ),
]


def setting(name: str, *flags: str, value: str, complete: Callable[[str], list[str]] | None = None) -> Any:
    """Return the option that gives a setting, with the help and the default of the table of settings.

    Args:
        name: the setting.
        flags: what the option is called.
        value: what its value is called in help.
        complete: completes it.
    """
    says = settings.TABLE[name].metadata["help"]
    help_ = f"{says[:1].upper()}{says[1:]} [default: {settings.default(name)}]."
    return typer.Option(*flags, metavar=value, help=help_, show_default=False, autocompletion=complete)


ApiBase = Annotated[str | None, setting("api_base", "--api-base", value="URL")]
ContextLength = Annotated[str | None, setting("context_length", "--context-length", value="N")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Errors only on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Exact = Annotated[
    bool, typer.Option("--exact", help="On a terminal: exact times instead of how long ago it was.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
Last = Annotated[
    int | None, typer.Option("--last", metavar="N", min=0, help="Only the newest N entries [default: all].")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="WHEN", help="Only from then on: a date, a time, today, yesterday, 2h, 30d."
    ),
]
Before = Annotated[
    str | None,
    typer.Option("--before", metavar="WHEN", help="Only from before then, written as for --since."),
]
Role = Annotated[
    str | None, typer.Option("--role", metavar="ROLE", help="Only what this role said: User, tool, a name.")
]
Grep = Annotated[
    str | None,
    typer.Option(
        "--grep",
        metavar="PATTERN",
        help="Only entries that a regular expression (as Python has them) finds something in.",
    ),
]


def refuse_beside(name: str, does: str, others: Mapping[str, object]) -> None:
    """Refuse options that would be ignored beside another one.

    Args:
        name: that other one.
        does: what it does, for the message.
        others: what was given for the rest, as for `given`.

    Raises:
        UsageError: one of them was given.
    """
    beside = given(others)
    if beside:
        raise UsageError(f"{name} {does}; leave {' and '.join(beside)} out")


def given(values: Mapping[str, object]) -> list[str]:
    """Return the options that were given; None, False and "" are nothing."""
    return [
        name for name, value in values.items() if value is not None and value is not False and value != ""
    ]


def check_word(option: str, value: str, words: Iterable[str]) -> None:
    """Refuse a value that is none of the words an option takes.

    Raises:
        UsageError: it is none; the message says which there are, and the nearest.
    """
    if value not in words:
        near = spelling.hint(value, words)
        raise UsageError(f"{option} is one of {', '.join(words)}, not {value!r}{near}")


def unheard(role: str | None, memory: Memory) -> str:
    """Return what to add where nothing was found: that nobody of that name said anything here, or ""."""
    said = {entry.role for entry in memory.walk()} if role else set()
    said |= {tool for name in said if (tool := tool_of(name))}
    if (
        not role
        or not said
        or role.casefold() in {"tool", USER.casefold(), *(name.casefold() for name in said)}
    ):
        return ""
    near = spelling.hint(role, {USER, *said})
    return f"; nobody called {role!r} said anything here{near}"


def existing_folder(name: str, workspace: Path | None) -> Path:
    """Return an existing agent's folder; errors as `Workspace.existing`."""
    return Workspace(settings.workspace_root(workspace)).existing(name)


def existing_memory(name: str, workspace: Path | None) -> Memory:
    """Return an existing agent's memory; errors as `Workspace.existing`."""
    folder = existing_folder(name, workspace)
    try:
        resolved = settings.load(agent_folder=folder)
    except ConfigurationError as error:
        # Reading and forgetting must not depend on a settings file.
        output.notice(f"{error} (going on with the default settings)")
        resolved = settings.Settings()
    return Memory.configured(folder, resolved)


def selection(
    *,
    last: int | None = None,
    since: str | None = None,
    before: str | None = None,
    role: str | None = None,
    grep: str | None = None,
    match: str | None = None,
) -> Selection:
    """Build a selection from what was typed.

    Raises:
        UsageError: a time or a pattern is none.
    """
    moment = now()
    return Selection(
        last=last,
        since=parse_when(since, moment) if since else None,
        before=parse_when(before, moment) if before else None,
        role=role or "",
        match=match or "",
        pattern=compile_pattern(grep) if grep else None,
    )
