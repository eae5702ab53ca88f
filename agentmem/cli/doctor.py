"""`agentmem doctor`: what is the matter with the workspace, and where every setting comes from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentmem import checkup, redaction, settings
from agentmem.cli import options, output, screen
from agentmem.display import shell_path, visible_line
from agentmem.errors import AgentMemError, ConfigurationError
from agentmem.figures import counted
from agentmem.workspace import Workspace


@dataclass
class _Case:
    """A finding of one agent, and what became of it."""

    agent: str
    finding: checkup.Finding
    fixed: bool = False
    failed: str = ""


def doctor(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="The agent; without one, all of them.",
            autocompletion=options.complete_agents,
            show_default=False,
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired without losing a byte.")
    ] = False,
    model_check: Annotated[
        bool, typer.Option("--model-check", help="Also send the model a few words; that may cost something.")
    ] = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Check the files of AGENT, or of all agents, and say where every setting comes from.

    Exits with 1 when something is wrong and was not repaired.
    """
    home = Workspace(settings.workspace_root(workspace))
    names = [home.existing(agent).name] if agent else home.names()
    cases = [] if agent else [_Case("", finding) for finding in checkup.twins(home.agents)]
    for name in names:
        memory = options.existing_memory(name, workspace)
        cases += [_Case(name, finding) for finding in checkup.examine(memory)]
    if fix:
        for case in cases:
            _fix(case)
    resolved, broken = _settings(home.agents / agent if agent else None)
    cases += broken
    answer = _ask(resolved) if model_check else None
    if json:
        output.write_json(_as_json(home, cases, resolved, answer))
    else:
        screen.print_lines(_line(case) for case in cases)
        if sources := _sources(resolved):
            screen.print_table(sources)
        screen.print_lines(
            [
                *([] if sources else ["every setting has its default"]),
                *([visible_line(f"model: {answer['says']}")] if answer else []),
            ]
        )
    left = sum(case.finding.grave and not case.fixed for case in cases) + bool(answer and not answer["ok"])
    output.notice(_verdict(names, cases, left))
    if left:
        raise typer.Exit(1)


def _settings(folder: Path | None) -> tuple[settings.Settings, list[_Case]]:
    """Return the settings; where a file or a variable cannot be used, the defaults, and what is wrong."""
    try:
        return settings.load(agent_folder=folder), []
    except ConfigurationError as error:
        plain = settings.Settings(sources=dict.fromkeys(settings.TABLE, "default"))
        return plain, [_Case("", checkup.Finding("settings", settings.config_path(), str(error)))]


def _fix(case: _Case) -> None:
    if not case.finding.repair:
        return
    try:
        case.finding.repair()
    except AgentMemError as error:
        case.failed = str(error)
    except FileNotFoundError:  # an earlier step took it along
        case.fixed = True
    except OSError as error:
        case.failed = error.strerror or str(error)
    else:
        case.fixed = True


def _line(case: _Case) -> str:
    found = case.finding
    if found.kind == "settings":  # says itself where
        return visible_line(f"problem: {found.says}")
    where = f"{shell_path(found.path)}{f':{found.line}' if found.line else ''}"
    step = ""
    if case.fixed:
        step = f" [done: {found.step}]"
    elif case.failed:
        step = f" [not repaired: {case.failed}]"
    elif found.step:
        step = f" [--fix {found.step}]"
    return visible_line(f"{'problem' if found.grave else 'note'}: {where}: {found.says}{step}")


def _verdict(names: list[str], cases: list[_Case], left: int) -> str:
    fixed = sum(case.fixed for case in cases)
    agents = counted(len(names), "agent")
    repaired = f", {fixed} repaired" if fixed else ""
    return f"looked at {agents}: {counted(left, 'problem') if left else 'no problems'}{repaired}"


def _sources(resolved: settings.Settings) -> list[dict[str, str]]:
    return [
        {"setting": name, "value": visible_line(_shown(resolved, name)), "from": resolved.sources[name]}
        for name in settings.TABLE
        if resolved.sources[name] != "default"
    ]


def _shown(resolved: settings.Settings, name: str) -> str:
    value = getattr(resolved, name)
    return redaction.redact(str(value)) if value is not None else ""


def _ask(resolved: settings.Settings) -> dict[str, object]:
    """Send the model a few words; says whether, and how fast, it answered."""
    from agentmem.models import open_model
    from agentmem.models.base import Message, Request

    began = time.monotonic()
    try:
        model = open_model(resolved)
        try:
            for _ in model.stream(Request((Message("user", "Say ok."),), max_tokens=16)):
                pass
        finally:
            model.close()
    except AgentMemError as error:
        return {"ok": False, "says": str(error)}
    return {"ok": True, "says": f"{model.name} answered in {time.monotonic() - began:.1f} s"}


def _as_json(
    home: Workspace, cases: list[_Case], resolved: settings.Settings, answer: dict[str, object] | None
) -> dict[str, object]:
    return {
        "workspace": str(home.root),
        "findings": [
            {
                "agent": case.agent or None,
                "kind": case.finding.kind,
                "grave": case.finding.grave,
                "path": str(case.finding.path),
                "line": case.finding.line,
                "says": case.finding.says,
                "fix": case.finding.step or None,
                "fixed": case.fixed,
                "failed": case.failed or None,
            }
            for case in cases
        ],
        "settings": {
            name: {"value": _shown(resolved, name), "from": resolved.sources[name]} for name in settings.TABLE
        },
        "model": answer,
    }
