"""Asking whether what a settings file names, or a model wants, may run."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from agentmem import approvals, settings
from agentmem.cli import output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentmem.models.base import ToolCall
    from agentmem.settings import Settings, Unapproved

_LONGEST = 200  # characters of a call's arguments that are shown on one line


def load(flags: Mapping[str, object], folder: Path, *, yes: bool) -> Settings:
    """Resolve the settings, asking about each file that would run code; errors as `settings.load`.

    Args:
        flags: as for `settings.load`.
        folder: the agent's folder.
        yes: approve without asking.
    """
    resolved = settings.load(flags, agent_folder=folder)
    allowed = [each for each in resolved.unapproved if _allowed(each, yes=yes)]
    for each in allowed:
        approvals.approve(settings.approvals_path(), each.path, each.mark)
    if allowed:
        resolved = settings.load(flags, agent_folder=folder)
    source = resolved.sources["tools"]
    if resolved.tools and source.endswith(".toml") and not (yes or output.interactive()):
        # On a terminal each call is confirmed; here nobody can.
        output.notice(
            f"the tools that {source} names are left out, since nobody can be asked; --yes lets them run"
        )
        resolved = dataclasses.replace(resolved, tools=())
    return resolved


def _allowed(file: Unapproved, *, yes: bool) -> bool:
    keys = " and ".join(file.values)
    if yes:
        return True
    if not output.interactive():
        output.notice(
            f"{file.path}: {keys} left out, since nobody has approved that file; chat on a terminal asks, "
            "--yes approves it"
        )
        return False
    for key, value in file.values.items():
        shown = ", ".join(value) if isinstance(value, tuple) else str(value)
        does = "send what is said elsewhere" if key == "api_base" else "run code"
        output.notice(f"{file.path} would {does}: {key} = {shown}")
    return output.confirm("approve this file as it is now?", "--yes")


def confirm_calls(*, yes: bool, tell: Callable[[str], None]) -> Callable[[ToolCall], bool]:
    """Return what shows each tool call on stderr and, on a terminal, asks whether it may run.

    Args:
        yes: ask nothing.
        tell: shows the calls that nobody is asked about.
    """
    always: set[str] = set()

    def confirm(call: ToolCall) -> bool:
        shown = f"tool {call.name} {_short(call.arguments)}"
        if yes or call.name in always or not output.interactive():
            tell(shown)
            return True
        output.notice(f"tool {call.name} {call.arguments}")  # whole: it is about to be decided on
        answer = output.ask("run it? [y]es, [a]lways this tool, [N]o")
        if answer in {"a", "always"}:
            always.add(call.name)
        return answer in {"y", "yes", "a", "always"}

    return confirm


def outcome(call: ToolCall, result: str) -> str:
    """Return in one line how a call ended."""
    return f"tool {call.name} → {_short(result)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
