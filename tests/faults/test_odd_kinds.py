"""Files and folders that are of another kind, belong to somebody else, or have no room."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.requires import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.conftest import Commands

NOBODY = 65534
COMPACT = ("compact", "Ada", "--summary", "short", "--keep-tokens", "0")
FORGET = ("forget", "Ada", "--match", "two", "--yes")


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace below a folder that everybody may enter; pytest's own is closed."""
    folder = Path(tempfile.mkdtemp(prefix="agentmem-"))
    folder.chmod(0o755)
    yield folder / "workspace"
    shutil.rmtree(folder)


@pytest.fixture
def memory(root: Path) -> Memory:
    kept = Memory(root / "agents" / "Ada")
    for text in ("one", "two"):
        kept.append("User", text)
    return kept


def tree(root: Path) -> dict[str, bytes | str]:
    """Return what is there, but for locks and what is derived."""
    return {
        str(path): os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        for path in root.rglob("*")
        if ".agentmem" not in path.parts and path.name != "notice.toml"
    }


def one_line(output: str, path: Path) -> None:
    complaints = [line for line in output.splitlines() if "cannot" in line or "others may write" in line]
    assert len(complaints) == 1, output
    assert str(path) in complaints[0]
    assert "internal error" not in output


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def a_foreign_link(path: Path) -> None:
    outside = path.parent.parent.parent.parent / "outside"
    outside.write_bytes(b"somebody else's")
    path.symlink_to(outside)


KINDS: list[Callable[[Path], None]] = [a_folder, a_pipe, a_dangling_link, a_foreign_link]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_another_kind_is_refused_by_name(
    memory: Memory, root: Path, commands: Commands, kind: Callable[[Path], None]
) -> None:
    memory.path.unlink()
    kind(memory.path)
    before = tree(root.parent)
    for words in (("show", "Ada"), ("chat", "Ada", "hi"), COMPACT, FORGET, ("export", "Ada")):
        ran = commands.run(*words, root=root)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, memory.path)
    assert commands.run("doctor", root=root).status == 1
    assert tree(root.parent) == before


@pytest.mark.parametrize("kind", [a_pipe, a_dangling_link, a_foreign_link])
def test_an_archive_folder_of_another_kind_is_refused_by_name(
    memory: Memory, root: Path, commands: Commands, kind: Callable[[Path], None]
) -> None:
    shelf = memory.folder / "archive"
    kind(shelf)
    before = tree(root.parent)
    for words in (COMPACT, ("archives", "Ada"), FORGET):
        ran = commands.run(*words, root=root)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, shelf)
    assert tree(root.parent) == before
    assert "one" in commands.run("show", "Ada", root=root).output
    assert commands.run("doctor", root=root).status == 1


def test_one_broken_agent_does_not_hide_the_others(memory: Memory, root: Path, commands: Commands) -> None:
    (memory.folder.parent / "Bad" / "MEMORY.md").mkdir(parents=True)
    ran = commands.run("show", root=root)
    assert ran.status == 0
    assert "Ada" in ran.output
    one_line(ran.output, memory.folder.parent / "Bad" / "MEMORY.md")


def test_a_linked_agent_folder_is_refused(memory: Memory, root: Path, commands: Commands) -> None:
    moved = root.parent / "elsewhere"
    memory.folder.rename(moved)
    memory.folder.symlink_to(moved)
    before = tree(root.parent)
    for words in (("show", "Ada"), COMPACT, FORGET, ("forget", "Ada", "--all", "--yes")):
        ran = commands.run(*words, root=root)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, memory.folder)
    assert tree(root.parent) == before


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


@needs_root
@pytest.mark.parametrize("what", ["MEMORY.md", "folder", "agents", "workspace"])
def test_what_is_read_only_or_somebody_elses_is_shown_and_not_written(
    memory: Memory, root: Path, commands: Commands, what: str
) -> None:
    """Root's files, readable by everybody, and a user without any right to write them."""
    closed = {
        "MEMORY.md": [memory.path],
        "folder": [memory.folder, memory.path],
        "agents": [memory.folder.parent, memory.folder, memory.path],
        "workspace": [root, memory.folder.parent, memory.folder, memory.path],
    }[what]
    for path in [root, *root.rglob("*")]:
        if path not in closed:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = tree(root)
    shown = commands.run("show", "Ada", root=root, uid=NOBODY)
    assert shown.status == 0, shown.output
    assert "one" in shown.output
    chat = ("chat", "Ada", "hi")
    for words in (chat, COMPACT, FORGET) if what != "MEMORY.md" else (chat,):
        ran = commands.run(*words, root=root, uid=NOBODY)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, memory.folder)
    assert tree(root) == before
    if what == "workspace":
        ran = commands.run("chat", "Grace", "hi", root=root, uid=NOBODY)
        assert ran.status == 74
        one_line(ran.output, root)


@needs_root
def test_what_may_not_be_read_is_named(memory: Memory, root: Path, commands: Commands) -> None:
    for path in [root, *root.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    os.chown(memory.path, 0, 0)
    before = tree(root)
    for words in (("show", "Ada"), ("chat", "Ada", "hi"), COMPACT, FORGET):
        ran = commands.run(*words, root=root, uid=NOBODY)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, memory.path)
    assert tree(root) == before


def test_a_missing_workspace_is_empty_and_made_when_it_is_needed(root: Path, commands: Commands) -> None:
    assert commands.run("show", root=root).status == 0
    assert commands.run("show", "Ada", root=root).status == 66
    assert commands.run("doctor", root=root).status == 0
    assert not root.exists()
    Memory(root / "agents" / "Ada").append("User", "hi")
    assert commands.run("show", "Ada", root=root).status == 0


def test_a_workspace_that_is_a_file_is_named(root: Path, commands: Commands) -> None:
    root.write_text("not a folder")
    for words in (("show",), ("show", "Ada"), ("chat", "Ada", "hi")):
        ran = commands.run(*words, root=root)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, root)
    assert root.read_text() == "not a folder"


@pytest.fixture
def small(root: Path) -> Iterator[Path]:
    """A file system with room for 256 kB."""
    root.mkdir()
    how = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(root)]
    if subprocess.run(how, capture_output=True, check=False).returncode:
        missing("no right to mount a file system")
    yield root
    subprocess.run(["umount", "-l", str(root)], check=True)


def test_a_full_disk_loses_nothing(small: Path, commands: Commands) -> None:
    memory = Memory(small / "agents" / "Ada")
    stored = [memory.append("User", f"{number} {'x' * 20_000}") for number in range(7)]
    before = memory.path.read_bytes()
    said = ("chat", "Ada", f"too much {'y' * 120_000}", "--no-compression")
    for words in (COMPACT, ("forget", "Ada", "--entry", stored[0].stamp, "--yes"), said):
        ran = commands.run(*words, root=small)
        assert ran.status == 74, (words, ran.output)
        one_line(ran.output, memory.folder)
        assert "No space left" in ran.output
        assert memory.path.read_bytes() == before
    assert commands.run("show", "Ada", root=small).status == 0
    assert not list(small.rglob(".tmp-*"))
    assert memory.append("User", "small").text == "small"
    assert memory.path.read_bytes().startswith(before)


def test_a_file_that_may_not_grow_loses_nothing(memory: Memory) -> None:
    """A short write first, then none: what `RLIMIT_FSIZE` does, and a full disk with some room left."""
    before = memory.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))
    try:
        with pytest.raises(Exception, match=r"cannot write .*MEMORY\.md: File too large"):
            memory.append("User", "a text that is longer than what is left, so that only a part of it fits")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert memory.path.read_bytes() == before
    memory.append("User", "three")
    assert [entry.text for entry in memory.read().entries] == ["one", "two", "three"]
