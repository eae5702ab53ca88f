from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from agentmem.cli import main
from agentmem.entries import make_entry
from agentmem.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.loopback import Provider


@pytest.fixture
def memory(workspace: Path) -> Memory:
    kept = Memory(workspace / "agents" / "Ada")
    kept.append("User", "one")
    kept.fold(kept.load()[1].snapshot(), "what was said")
    kept.append("User", "two")
    return kept


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    def look(*words: str) -> tuple[int, dict[str, Any]]:
        status = main(["doctor", "--json", *words])
        return status, json.loads(capsys.readouterr().out)

    return look


def kinds(found: dict[str, Any]) -> list[str]:
    return [each["kind"] for each in found["findings"]]


def test_a_sound_workspace_has_nothing_to_report(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    assert memory.exists()
    status, found = doctor()
    assert (status, found["findings"]) == (0, [])


def test_wide_modes_are_named_and_narrowed(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    archive = memory.archives()[0].path
    for path, mode in ((memory.folder, 0o755), (memory.path, 0o644), (archive, 0o444)):
        path.chmod(mode)
    status, found = doctor()
    assert status == 1
    assert kinds(found) == ["mode"] * 3
    status, found = doctor("--fix")
    assert status == 0
    assert all(each["fixed"] and each["fix"] for each in found["findings"])
    assert [path.stat().st_mode & 0o777 for path in (memory.folder, memory.path, archive)] == [
        0o700,
        0o600,
        0o400,
    ]


def test_a_torn_entry_is_named_with_its_line_and_closed_without_losing_a_byte(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    torn = make_entry("Ada", "2026-04-20T18:33:19.480122+01:00", "half of it")
    before = memory.path.read_bytes() + torn.raw[:-12]
    memory.path.write_bytes(before)
    status, found = doctor("Ada")
    assert status == 1
    assert kinds(found) == ["torn entry"]
    assert found["findings"][0]["line"] == before[: -len(torn.raw) + 12].count(b"\n") + 1
    assert memory.path.read_bytes() == before
    status, found = doctor("Ada", "--fix")
    assert status == 0
    assert memory.path.read_bytes().startswith(before)
    status, found = doctor("Ada")
    assert (status, kinds(found)) == (0, ["cut entry"])


def test_what_a_crash_left_is_cleared_away(
    memory: Memory, workspace: Path, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    (memory.folder / ".tmp-0123456789abcdef").write_bytes(b"half a rewrite")
    (memory.folder / "archive" / ".tmp-0123456789abcdef").write_bytes(b"half an archive")
    deleted = workspace / "agents" / ".deleted-0123456789abcdef"
    deleted.mkdir()
    (deleted / "MEMORY.md").write_bytes(b"was being deleted")
    for path in (deleted, *memory.folder.rglob(".tmp-*"), deleted / "MEMORY.md"):
        path.chmod(0o700)
    before = memory.path.read_bytes(), memory.archives()[0].path.read_bytes()
    status, found = doctor()
    assert status == 1
    assert sorted({*kinds(found)}) == ["broken deletion", "mode", "orphan temp"] or sorted(
        {*kinds(found)}
    ) == [
        "broken deletion",
        "orphan temp",
    ]
    status, _ = doctor("--fix")
    assert status == 0
    assert not list(workspace.rglob(".tmp-*"))
    assert not deleted.exists()
    assert (memory.path.read_bytes(), memory.archives()[0].path.read_bytes()) == before


def test_archives_that_are_missing_double_or_cut_short(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    archive = memory.archives()[0].path
    content = archive.read_bytes()
    for name, part in (
        ("history_2026-01-01_00-00-00.md", content),
        ("history_2026-01-01_00-00-01.md", content[:99]),
    ):
        (archive.parent / name).write_bytes(part)
        (archive.parent / name).chmod(0o400)
    status, found = doctor()
    assert sorted(kinds(found)) == ["duplicate archive", "incomplete archive"]
    archive.unlink()
    status, found = doctor()
    assert status == 1
    assert "missing archive" in kinds(found)
    memory.path.unlink()
    status, found = doctor()
    assert "no memory" in kinds(found)


def test_copies_that_synchronisers_left_say_whether_something_is_only_in_them(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    content = memory.path.read_bytes()
    only = make_entry("User", "2026-04-20T18:33:19.480122+01:00", "only here").raw
    for name, more in (
        ("MEMORY.sync-conflict-20260420-183319-ABCDEFG.md", only),
        ("MEMORY (Ada's conflicted copy 2026-04-20).md", b""),
        ("MEMORY 2.md", b""),
        ("MEMORY.md~", b""),
        (".MEMORY.md.swp", b""),
    ):
        (memory.folder / name).write_bytes(content + more)
        (memory.folder / name).chmod(0o600)
    status, found = doctor()
    assert (status, kinds(found)) == (0, ["conflict copy"] * 5)
    with_more = [each["path"] for each in found["findings"] if "1 entry that is nowhere else" in each["says"]]
    assert [os.path.basename(path) for path in with_more] == [
        "MEMORY.sync-conflict-20260420-183319-ABCDEFG.md"
    ]


def test_twins_by_case_or_normalisation(
    memory: Memory, workspace: Path, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    assert memory.exists()
    for name in ("ADA", "café", "cafe\u0301"):
        (workspace / "agents" / name).mkdir(mode=0o700)
    status, found = doctor()
    assert status == 1
    assert kinds(found).count("twin") == 2


def test_a_damaged_index_is_replaced(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "Ada", "two"]) == 0
    capsys.readouterr()
    index = memory.folder / ".agentmem" / "index.db"
    assert doctor()[0] == 0
    index.write_bytes(b"no database" * 999)
    status, found = doctor()
    assert (status, kinds(found)) == (1, ["index"])
    assert doctor("--fix")[0] == 0
    assert not index.exists()
    capsys.readouterr()
    assert main(["search", "Ada", "two"]) == 0
    assert "two" in capsys.readouterr().out


def test_secrets_and_bytes_that_are_no_text_are_noted(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    memory.append("User", f"my key is sk-{'a1B2c3D4' * 6}")
    memory.path.write_bytes(memory.path.read_bytes() + b"\xff\xfe" + b"\0" * 64)
    status, found = doctor()
    assert status == 0
    assert sorted(kinds(found)) == ["not UTF-8", "secret", "zero bytes"]
    assert "a1B2c3D4" not in json.dumps(found)


def test_settings_come_with_their_source(
    memory: Memory,
    doctor: Callable[..., tuple[int, dict[str, Any]]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (memory.folder / "agent.toml").write_text("threshold = 0.5\n")
    (memory.folder / "agent.toml").chmod(0o600)
    monkeypatch.setenv("AGENTMEM_MODEL", "gpt-4o")
    settings = doctor("Ada")[1]["settings"]
    assert settings["threshold"] == {"value": "0.5", "from": str(memory.folder / "agent.toml")}
    assert settings["model"] == {"value": "gpt-4o", "from": "AGENTMEM_MODEL"}
    assert settings["lock"]["from"] == "default"
    capsys.readouterr()
    main(["doctor", "Ada"])
    assert re.search(r"model +gpt-4o +AGENTMEM_MODEL", capsys.readouterr().out)


def test_the_model_is_asked_only_when_that_is_wanted(
    memory: Memory, provider: Provider, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    assert memory.exists()
    assert doctor("Ada")[1]["model"] is None
    assert provider.asked == []
    provider.answers.append("ok")
    status, found = doctor("Ada", "--model-check")
    assert status == 0
    assert found["model"]["ok"] is True
    assert len(provider.asked) == 1


def test_the_commands_it_names_can_be_copied_whatever_the_agents_name(
    memory: Memory, doctor: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    folder = memory.folder.rename(memory.folder.with_name("Grace Hopper"))
    copy = (folder / "MEMORY.md").rename(folder / "MEMORY 2.md")
    copy.write_bytes(make_entry("User", "2026-04-20T18:33:15", "only here").raw)
    says = " ".join(each["says"] for each in doctor()[1]["findings"])
    assert "`agentmem archives 'Grace Hopper' history_" in says
    assert f"`agentmem import 'Grace Hopper' '{copy}'`" in says
