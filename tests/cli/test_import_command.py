from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.program import run

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-proj-" + "a1B2" * 12


@pytest.fixture
def memory(workspace: Path) -> Memory:
    kept = Memory(workspace / "agents" / "Ada")
    for number in range(6):
        kept.append(
            "User" if number % 2 == 0 else "Ada", f"Nr {number}: ### x\n---\n\n「東京」 😀 \\### a — b"
        )
    document, cursor = kept.load()
    kept.fold(cursor.snapshot(), "They counted.", document.entries[-2:])
    kept.append("Tool (weather)", '{"rain": true}')
    return kept


def exported(*options: str, name: str = "jsonl") -> str:
    ran = run("export", "Ada", "-f", name, *options)
    assert ran.code == 0, ran.err
    return ran.out


def said(workspace: Path, agent: str = "Ada") -> list[tuple[str, str]]:
    return [(entry.role, entry.text) for entry in Memory(workspace / "agents" / agent).read().entries]


@pytest.mark.parametrize("options", [[], ["--archives"]], ids=["memory", "archives"])
@pytest.mark.parametrize("name", ["jsonl", "json"])
def test_export_import_export_is_identical(
    memory: Memory, tmp_path: Path, name: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = exported(*options, name=name)
    assert first.count('"id"') == (6 if options else 2) + 2
    file = tmp_path / "out"
    file.write_text(first)
    monkeypatch.setenv("WORKSPACE_DIR", str(tmp_path / "new"))
    assert run("import", "Ada", str(file)).code == 0
    assert exported(*options, name=name) == first
    assert memory.exists()


def test_a_swarms_folder_is_read_as_it_is_and_its_file_can_be_imported(
    workspace: Path, tmp_path: Path
) -> None:
    text = (
        "# Agent Memory\n\n**Conversation:** Quant_id_0b6f_conversation\n**Created:** 2026-04-20T18:33:12\n\n---\n\n"
        "## Interaction Log\n\n### User — 2026-04-20T18:33:15\n\nCheapest?\n\n---\n\n"
        "### Quant — 2026-04-20T18:33:19\n\neu-west\n\n---\n\n"
    )
    folder = workspace / "agents" / "Quant"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(text)
    shown = json.loads(run("show", "Quant", "--json").out)["entries"]
    assert [(each["id"], each["text"]) for each in shown] == [
        ("2026-04-20T18:33:15", "Cheapest?"),
        ("2026-04-20T18:33:19", "eu-west"),
    ]
    assert json.loads(run("search", "Quant", "cheapest", "--json").out)["hits"][0]["text"] == "Cheapest?"
    assert (folder / "MEMORY.md").read_text() == text
    assert run("import", "Ada", str(folder / "MEMORY.md")).code == 0
    assert said(workspace) == [("User", "Cheapest?"), ("Ada", "eu-west")]
    assert tmp_path.exists()


CHATGPT = [
    {
        "title": "Moon",
        "create_time": 1.7e9,
        "current_node": "b",
        "mapping": {
            "r": {"id": "r", "parent": None, "children": ["a"], "message": None},
            "a": {
                "id": "a",
                "parent": "r",
                "message": {
                    "author": {"role": "user"},
                    "create_time": 1.7e9,
                    "content": {"content_type": "text", "parts": ["How far is the moon?"]},
                },
            },
            "b": {
                "id": "b",
                "parent": "a",
                "message": {
                    "author": {"role": "assistant"},
                    "create_time": 1.7e9 + 3,
                    "content": {"content_type": "text", "parts": [f"Far. The key is {KEY}"]},
                },
            },
        },
    }
]


def chatgpt(folder: Path, content: str = "") -> str:
    path = folder / "conversations.json"
    path.write_text(content or json.dumps(CHATGPT))
    return str(path)


def test_what_is_piped_in_is_imported(memory: Memory, workspace: Path) -> None:
    assert memory.exists()
    assert run("import", "Bob", "-", stdin=exported()).code == 0
    assert [text for _, text in said(workspace, "Bob")] == [text for _, text in said(workspace)]
    ran = run("import", "Eve", "-", stdin="[{")
    assert ran.code == 1
    assert ran.err.startswith("agentmem: stdin: ")
    assert not (workspace / "agents" / "Eve").exists()


def test_an_import_says_what_it_took_and_takes_nothing_twice(workspace: Path, tmp_path: Path) -> None:
    file = chatgpt(tmp_path)
    dry = json.loads(run("import", "Ada", file, "--dry-run", "--json").out)
    assert (dry["taken"], dry["known"], dry["dry_run"]) == (2, 0, True)
    assert not (workspace / "agents" / "Ada").exists()
    ran = run("import", "Ada", file)
    assert "took 2 entries from ChatGPT (2023-11-14 to 2023-11-14)" in ran.err
    assert ran.out == ""
    again = json.loads(run("import", "Ada", file, "--json").out)
    assert (again["taken"], again["known"]) == (0, 2)
    assert len(said(workspace)) == 2


def test_what_is_imported_is_redacted_like_everything_else(workspace: Path, tmp_path: Path) -> None:
    run("import", "Ada", chatgpt(tmp_path))
    assert KEY not in said(workspace)[1][1]
    assert "[redacted" in said(workspace)[1][1]


def test_imported_entries_stand_where_their_times_put_them(workspace: Path, tmp_path: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    memory.append("User", "Today")
    before = memory.read()
    with memory.path.open("a") as file:
        file.write("typed by hand, unclosed")
    run("import", "Ada", chatgpt(tmp_path))
    assert [role for role, _ in said(workspace)] == ["User", "Ada", "User"]
    assert memory.read().raw.endswith(before.entries[-1].raw + b"typed by hand, unclosed")
    assert stat.S_IMODE(os.stat(memory.path).st_mode) == 0o600


def test_equal_timestamps_of_another_program_are_told_apart(workspace: Path, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    file = tmp_path / "messages.json"
    file.write_text(json.dumps([{"role": "user", "content": "c"}]))
    os.utime(file, (1.7e9, 1.7e9))
    run("import", "Ada", str(file))
    file.write_text(json.dumps(messages))
    os.utime(file, (1.7e9, 1.7e9))
    for _ in range(2):
        run("import", "Ada", str(file))
    stamps = [entry.stamp for entry in Memory(workspace / "agents" / "Ada").read().entries]
    assert len(set(stamps)) == 3
    assert sorted(text for _, text in said(workspace)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (json.dumps(CHATGPT)[:-40], "the file ends in the middle"),
        (
            json.dumps([*CHATGPT, {"mapping": {}, "current_node": "x", "create_time": "never"}]),
            "[1].create_time",
        ),
        ('{"id": "2026-04-20T18:33:15", "role": "User", "text": "a"}\n{"id": 5}', "line 2.role"),
        (
            '{"id": "2026-04-20T18:33:15", "role": "User", "text": "a", "archive": "../../x"}',
            "line 1.archive: not an archive's name",
        ),
        (
            '{"id": "2026-04-20T18:33:15", "role": "User", "text": "a", "archive": "history_1.md"}',
            "line 1.archive: not an archive's name",
        ),
        ("", "no entry"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line_and_nothing_is_imported(
    workspace: Path, tmp_path: Path, content: str, place: str
) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(content)
    ran = run("import", "Ada", str(path))
    assert ran.code == 1
    assert place in ran.err
    assert ran.err.count("\n") == 1
    assert not (workspace / "agents" / "Ada").exists()
