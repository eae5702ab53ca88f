from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest

from agentmem.cli import main
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "chat": ["chat", "{}", "hello"],
    "show": ["show", "{}"],
    "compact": ["compact", "{}", "--summary", "short"],
    "archives": ["archives", "{}"],
    "forget": ["forget", "{}", "--all", "--yes"],
    "export": ["export", "{}"],
}
BAD = {
    "parent": "../../x",
    "absolute": "/abs",
    "below": "a/b",
    "backslash": "a\\b",
    "empty": "",
    "dot": ".",
    "dots": "..",
    "hidden": ".x",
    "ends with a dot": "x.",
    "ends with a space": "x ",
    "role": "User",
    "role in another case": "sYSTEM",
    "role of swarms": "Human",
    "device": "CON",
    "device with an ending": "nul.txt",
    "long": "x" * 300,
    "NUL": "a\0b",
    "newline": "a\nb",
    "escape sequence": "\x1b[31mx",
    "right to left": "a\u202eb",
    "surrogate": "a\ud800",
    "decomposed": unicodedata.normalize("NFD", "café"),
    "decomposed twin": unicodedata.normalize("NFD", "Zoë"),
    "other case": "aDA",
    "other case, not ASCII": "zOË",
    "em dash": "a — 2026-04-20T18",
}


def everything(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in root.rglob("*")}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BAD.values(), ids=BAD)
def test_a_bad_name_is_a_usage_error_and_creates_nothing(
    workspace: Path, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    for existing in ("Ada", "Zoë"):
        (workspace / "agents" / existing).mkdir(parents=True)
    before = everything(workspace.parent)
    # No model is reachable: a name that got that far would end with another status.
    status = main([word.format(name) for word in COMMANDS[command]])
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.isprintable() or said.err.rstrip("\n").isprintable()
    assert everything(workspace.parent) == before


def test_a_twin_is_refused_naming_the_agent_there_is(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "agents" / "café").mkdir(parents=True)
    assert main(["show", "CAFÉ"]) == 2
    assert "'café'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Ada", "Grace Hopper", "Куратор", "日本語", "x", "a-b_c.d", "9", "हिन्दी"])
def test_names_of_every_script_are_names(tmp_path: Path, name: str) -> None:
    assert Workspace(tmp_path).folder(unicodedata.normalize("NFC", name)).name
