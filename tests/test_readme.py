from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from agentmem.settings import workspace_root
from tests.documents import README
from tests.program import ROOT, environment, run

if TYPE_CHECKING:
    from pathlib import Path

TEXT = README.read_text(encoding="utf-8")
_VARYING = [
    (re.compile(r"~[\d.]+k?"), "<tokens>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d"), "<time>"),
    (re.compile(r"history_[\d_-]+\.md"), "<archive>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "<minute>"),
    (re.compile(r"\d+(?:\.\d)? (?:k?B)"), "<size>"),
    (re.compile(r"[\d.]+k?(?= → )"), "<tokens>"),
    (re.compile(r"[ ]{2,}"), "  "),
]


def steps(text: str) -> list[tuple[str, str]]:
    """Return the console blocks' commands, each with the output shown beneath it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            found.append((command, shown))
    return found


def fixed(text: str) -> str:
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text.strip()


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as the README has it, with `agentmem` being this checkout."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    (commands / "agentmem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentmem "$@"\n')
    (commands / "agentmem").chmod(0o755)
    return subprocess.run(
        ["bash", "-c", command],
        env=environment(PATH=f"{commands}{os.pathsep}{os.environ['PATH']}", AGENTMEM_MAX_TOKENS="24"),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.embedded
def test_the_tour_is_true(workspace: Path, tmp_path: Path) -> None:
    asked = 0
    for command, shown in steps(TEXT):
        ended = typed(command, tmp_path)
        assert ended.returncode == 0, (command, ended.stderr)
        if "agentmem chat" in command:  # what a model says is its own affair
            asked += 1
            assert ended.stdout.strip(), command
        elif shown:
            assert fixed(shown) in {fixed(ended.stdout), fixed(ended.stderr)}, command
    assert asked >= 2


def test_the_tour_looks_for_traces_where_they_would_be(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORKSPACE_DIR")
    (look,) = (command for command, shown in steps(TEXT) if shown == "no trace\n")
    Memory(workspace_root() / "agents" / "Ada").append("User", "My favourite colour is teal.")
    assert "My favourite colour is teal." in typed(look, tmp_path).stdout
    assert run("forget", "Ada", "--match", "teal", "--yes").code == 0
    assert typed(look, tmp_path).stdout == "no trace\n"


def test_ci_runs_the_readmes_test_command() -> None:
    commands = re.findall(r"^```sh\n(python3 -m venv .*)\n```", TEXT, re.MULTILINE)
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
