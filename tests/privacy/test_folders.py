"""Links, paths and modes: nothing outside is touched, and nothing inside is open to others."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.privacy.canaries import contents, fold
from tests.program import COMMAND, agree, environment, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

FORGET = ["forget", "Ada", "--all", "--yes"]
COMMANDS: list[list[str]] = [
    ["chat", "Ada", "hello", "-m", "gpt-4o", "-q"],
    ["show", "Ada"],
    ["compact", "Ada", "--summary", "short", "--keep-tokens", "0"],
    ["archives", "Ada"],
    ["export", "Ada", "--archives"],
    ["forget", "Ada", "--match", "teal", "--yes", "--summaries", "drop"],
    FORGET,
]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A whole agent outside of the workspace."""
    memory = Memory(tmp_path / "outside" / "agents" / "Ada")
    memory.append("User", "teal, outside")
    fold(memory, "about teal")
    memory.append("User", "teal again, outside")
    return memory.folder


@pytest.fixture
def memory(workspace: Path) -> Memory:
    agree(workspace)
    made = Memory(workspace / "agents" / "Ada")
    made.append("User", "teal")
    fold(made, "about colours")
    made.append("User", "teal again")
    return made


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_an_agent_folder_that_is_a_link_is_refused(
    provider: Provider, workspace: Path, outside: Path, words: list[str]
) -> None:
    agree(workspace)
    (workspace / "agents").mkdir(mode=0o700)
    (workspace / "agents" / "Ada").symlink_to(outside)
    before = contents(outside)
    ran = run(*words)
    assert ran.code == 74, ran.err
    assert "symbolic link" in ran.err
    assert contents(outside) == before
    assert not provider.asked


@pytest.mark.parametrize("words", [*COMMANDS[2:6], ["archives", "Ada", "latest"]], ids=" ".join)
@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_an_archive_that_is_a_link_is_refused(
    memory: Memory, outside: Path, words: list[str], whole: bool
) -> None:
    name = memory.archives()[0].name
    target = memory.folder / "archive"
    if whole:
        target.rename(memory.folder / "put aside")
        target.symlink_to(outside / "archive")
    else:
        (target / name).unlink()
        (target / name).symlink_to(next((outside / "archive").iterdir()))
    before, mine = contents(outside), memory.path.read_bytes()
    ran = run(*words)
    listing = words == ["archives", "Ada"] or words[0] == "compact"
    assert ran.code == 74 or (listing and not whole), ran.err
    assert contents(outside) == before
    assert "outside" not in ran.out
    if words[0] != "compact":
        assert memory.path.read_bytes() == mine


def test_temporary_names_that_are_links_lose_the_link_only(memory: Memory, outside: Path) -> None:
    links = [memory.folder / ".tmp-0123", memory.folder / "archive" / ".tmp-4567"]
    links.append(memory.folder / ".agentmem" / ".tmp-89ab")
    for link in links:
        link.symlink_to(outside / "MEMORY.md")
    (memory.folder / ".agentmem" / "parts").symlink_to(outside)
    before = contents(outside)
    assert run("forget", "Ada", "--match", "teal", "--yes", "--summaries", "drop").code == 0
    assert contents(outside) == before
    assert not any(os.path.lexists(link) for link in links)


@pytest.mark.parametrize("name", [".agentmem", "MEMORY.md"])
def test_a_link_in_the_place_of_a_part_is_refused(memory: Memory, outside: Path, name: str) -> None:
    (memory.folder / name).rename(memory.folder / "put aside")
    (memory.folder / name).symlink_to(outside / name)
    before = contents(outside)
    assert run("forget", "Ada", "--match", "teal", "--yes", "--summaries", "drop").code == 74
    assert run("compact", "Ada", "--summary", "x", "--keep-tokens", "0", OPENAI_API_KEY="x").code == 74
    assert contents(outside) == before


def test_an_index_or_a_history_that_is_a_link_is_not_followed(memory: Memory, outside: Path) -> None:
    for name in ("index.db", "history"):
        (memory.folder / ".agentmem" / name).symlink_to(outside / "MEMORY.md")
    before = contents(outside)
    assert run("search", "Ada", "teal").code == 0
    assert run("show", "Ada").code == 0
    ran = run("forget", "Ada", "--match", "teal", "--yes", "--summaries", "drop")
    assert ran.code in {0, 74}
    assert contents(outside) == before


def test_forgetting_an_agent_does_not_follow_links(memory: Memory, outside: Path, workspace: Path) -> None:
    (memory.folder / "folder").symlink_to(outside)
    (memory.folder / "file").symlink_to(outside / "MEMORY.md")
    (memory.folder / "archive" / "folder").symlink_to(outside / "archive")
    (memory.folder / ".agentmem" / "folder").symlink_to(outside)
    os.link(outside / "MEMORY.md", memory.folder / "hard link")
    before = contents(outside)
    assert run(*FORGET).code == 0
    assert contents(outside) == before
    assert os.listdir(workspace / "agents") == []


@pytest.mark.parametrize("level", [0, 1, 2], ids=["agent", "agents", "workspace"])
@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_a_folder_that_others_may_write_to_is_refused(
    provider: Provider, memory: Memory, level: int, mode: int
) -> None:
    shared = [memory.folder, *memory.folder.parents][level]
    shared.chmod(mode)
    before = contents(memory.folder)
    for words in (words for words in COMMANDS if words[0] in {"chat", "compact", "forget"}):
        ran = run(*words)
        assert ran.code == 74, (words, ran)
        assert f"others may write to {shared} (mode {mode:04o})" in ran.err
        assert f"chmod go-w {shared}" in ran.err
    assert contents(memory.folder) == before
    assert not provider.asked
    assert run("show", "Ada").code == 0


def test_a_new_agent_is_not_made_in_a_shared_workspace(provider: Provider, workspace: Path) -> None:
    workspace.mkdir()
    workspace.chmod(0o775)
    for options in ((), ("-q",)):
        ran = run("chat", "Ada", "hello", "-m", "gpt-4o", *options)
        assert ran.code == 74
        assert ran.err.count("\n") == 1
    assert os.listdir(workspace) == []
    assert not provider.asked


@pytest.mark.parametrize(
    "name", ["../MEMORY.md", "archive/../../x", "/etc/passwd", "..", ".", "../../Ada/archive/history_2026"]
)
def test_an_archive_is_only_ever_one_of_the_list(memory: Memory, name: str) -> None:
    before = contents(memory.folder)
    for words in (
        ["archives", "Ada", name],
        ["archives", "Ada", name, "--restore", "--yes"],
        ["forget", "Ada", "--archive", name, "--yes"],
    ):
        assert run(*words).code == 66, words
    assert contents(memory.folder) == before


# Modes


def modes(workspace: Path) -> dict[str, str]:
    """Return what has another mode than it should."""
    wrong = {}
    for path in [workspace, *workspace.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        wanted = 0o700 if path.is_dir() else 0o400 if path.parent.name == "archive" else 0o600
        if mode != wanted:
            wrong[str(path.relative_to(workspace))] = f"{mode:04o}"
    return wrong


@pytest.mark.parametrize("umask", ["000", "077", "027"])
def test_modes_after_every_command(provider: Provider, workspace: Path, tmp_path: Path, umask: str) -> None:
    source = tmp_path / "messages.json"
    source.write_text(json.dumps([{"role": "user", "content": "imported teal"}]))
    target = tmp_path / "out.jsonl"
    steps = [
        ["chat", "Ada", "teal", "-m", "gpt-4o", "--save"],
        ["chat", "Ada", "teal again"],
        ["show", "Ada"],
        ["show"],
        ["search", "Ada", "teal"],
        ["compact", "Ada", "--summary", "about teal", "--keep-tokens", "0"],
        ["archives", "Ada"],
        ["chat", "Ada", "more"],
        ["compact", "Ada", "--summary", "about more", "--keep-tokens", "0"],
        ["compact", "Ada", "--undo"],
        ["archives", "Ada", "latest", "--restore", "--yes"],
        ["archives", "Ada", "latest"],
        ["import", "Ada", str(source)],
        ["import", "Eve", str(source)],
        ["export", "Ada", "-f", "jsonl", "--archives", "-o", str(target)],
        ["search", "Ada", "imported"],
        ["forget", "Ada", "--match", "again", "--yes", "--summaries", "drop"],
        ["forget", "Ada", "--archive", "latest", "--yes", "--summaries", "keep"],
        ["show", "Ada", "--last", "1"],
        ["doctor"],
        ["doctor", "--fix"],
        ["forget", "Eve", "--all", "--yes"],
    ]
    provider.answers += ["hi"] * 3
    for words in steps:
        script = ["sh", "-c", f'umask {umask}; exec "$@"', "sh", *COMMAND, *words]
        ended = subprocess.run(
            script, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0 or words[0] == "doctor", (words, ended.stderr)
        assert modes(workspace) == {}, words
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
