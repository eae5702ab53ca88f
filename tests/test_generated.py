from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import typer

from agentmem.cli import app
from agentmem.cli.loading import COMMANDS
from agentmem.memory import Memory
from tests import generate
from tests.requires import needs
from tests.terminal import Terminal

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "man").glob("*.1"))
SELECTORS = frozenset(
    [
        "last",
        "since",
        "before",
        "role",
        "grep",
        "entry",
        "match",
        "regex",
        "older_than",
        "archive",
        "summaries",
    ]
)
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}


def test_files_are_what_the_commands_make_of_them() -> None:
    made = generate.files()
    kept = {
        f"{path.parent.name}/{path.name}"
        for name in ("completions", "man")
        for path in (ROOT / name).iterdir()
    }
    assert kept | {"README.md"} == set(made), "run python -m tests.generate"
    for name, text in made.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: run python -m tests.generate"


def test_every_option_is_in_the_manual() -> None:
    for name in COMMANDS:
        help_ = subprocess.run(
            [sys.executable, "-m", "agentmem", name, "--help"], capture_output=True, text=True, check=True
        ).stdout
        page = (ROOT / "man" / f"agentmem-{name}.1").read_text(encoding="utf-8").replace("\\-", "-")
        for option in re.findall(r"--[a-z][a-z-]+", help_):
            assert option in page


def test_every_option_with_a_value_says_its_default() -> None:
    group = cast("Any", typer.main.get_command(app))
    for name in COMMANDS:
        command = group.commands[name]
        context = command.make_context(name, [], resilient_parsing=True)
        for parameter in command.get_params(context):
            term, text = parameter.get_help_record(context) or ("", "")
            if parameter.param_type_name != "option" or parameter.is_flag:
                continue
            # What selects entries has no default: without it, all are chosen.
            assert "[default: " in text or parameter.name in SELECTORS, f"{name} {term}: {text}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_clean_and_shown(page: Path) -> None:
    needs("mandoc")
    linted = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False
    )
    assert not linted.stdout
    needs("man")
    environment = {**os.environ, "MANPAGER": "cat", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    shown = subprocess.run(
        ["man", "--warnings", "-l", page], capture_output=True, text=True, check=True, env=environment
    )
    assert not shown.stderr
    assert f"{page.stem} - " in " ".join(shown.stdout.split())


@pytest.fixture
def on_path(tmp_path: Path, workspace: Path) -> dict[str, str]:
    """A PATH with agentmem on it, and a workspace with two agents, one of them with an archive."""
    program = tmp_path / "bin" / "agentmem"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m agentmem "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    for name in ("Ada", "Grace Hopper"):
        Memory(workspace / "agents" / name).append("User", "hello")
    archive = workspace / "agents" / "Ada" / "archive" / "history_2026-04-20_14-30-45.md"
    archive.parent.mkdir()
    archive.write_text("# Agent Memory\n", encoding="utf-8")
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {
        "PATH": path,
        "WORKSPACE_DIR": str(workspace),
        "PYTHONPATH": str(ROOT),
        "HOME": os.environ["HOME"],
    }


def source(shell: str) -> str:
    folder = ROOT / "completions"
    if shell == "zsh":
        return f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='READY '"
    if shell == "fish":
        return f"source {folder}/agentmem.fish; function fish_prompt; echo -n 'READY '; end; function fish_greeting; end"
    return f"source {folder}/agentmem.bash; PS1='READY '"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("agentmem arch", "agentmem archives "),
        ("agentmem show A", "agentmem show Ada"),
        ("agentmem show Gr", "agentmem show Grace\\ Hopper"),
        ("agentmem archives Ada hist", "agentmem archives Ada history_2026-04-20_14-30-45.md"),
        (
            "agentmem forget Ada --archive hist",
            "agentmem forget Ada --archive history_2026-04-20_14-30-45.md",
        ),
        ("agentmem export Ada --format mark", "agentmem export Ada --format markdown"),
        ("agentmem chat Ada --no-str", "agentmem chat Ada --no-stream"),
        ("agentmem chat Ada --model loca", "agentmem chat Ada --model local"),
    ],
)
def test_completion_in_a_real_shell(shell: str, typed: str, completed: str, on_path: dict[str, str]) -> None:
    needs(shell)
    with Terminal(SHELLS[shell], columns=120, environment=on_path) as terminal:
        terminal.send(f"{source(shell)}\r")
        terminal.wait_until(lambda: any(row.startswith("READY") for row in terminal.lines_unlocked()))
        terminal.send(typed)
        terminal.wait_for(typed)
        terminal.send("\t")
        terminal.wait_until(
            lambda: any(row.startswith(f"READY {completed.strip()}") for row in terminal.lines_unlocked())
        )


@pytest.mark.parametrize("shell", SHELLS)
def test_install_completion_works(shell: str, on_path: dict[str, str]) -> None:
    needs(shell)
    done = subprocess.run(
        ["agentmem", "--install-completion", shell], env=on_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "installed" in done.stdout
    written = [
        path for path in Path(on_path["HOME"]).rglob("*") if path.is_file() and "agentmem" in path.name
    ]
    assert any("_AGENTMEM_COMPLETE" in path.read_text(encoding="utf-8") for path in written)
