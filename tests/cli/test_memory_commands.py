from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agentmem.formats.registry import ENDINGS
from agentmem.memory import Memory
from tests.program import run


@pytest.fixture
def memory(workspace: Path) -> Memory:
    kept = Memory(workspace / "agents" / "Ada")
    kept.append("User", "My favourite colour is teal.")
    kept.append("Ada", "Noted: teal.")
    kept.append("User", "And the cheapest region?")
    kept.append("Ada", "eu-west.")
    return kept


def test_show_numbers_the_entries(memory: Memory) -> None:
    ran = run("show", "Ada")
    assert ran.code == 0
    assert ran.out.count("\n#") == 3
    assert "#4  Ada" in ran.out
    assert "eu-west." in ran.out
    assert memory.exists()


def test_show_last_keeps_the_numbers(memory: Memory) -> None:
    shown = json.loads(run("show", "Ada", "--last", "2", "--json").out)["entries"]
    assert [entry["number"] for entry in shown] == [3, 4]
    assert shown[-1]["id"] == memory.read().entries[-1].stamp


def test_show_selects(memory: Memory) -> None:
    def numbers(*options: str) -> list[int]:
        return [each["number"] for each in json.loads(run("show", "Ada", *options, "--json").out)["entries"]]

    assert numbers("--role", "user") == [1, 3]
    assert numbers("--grep", "t[e]al") == [1, 2]
    assert numbers("--role", "Ada", "--grep", "teal") == [2]
    assert numbers("--since", "2h") == [1, 2, 3, 4]
    assert numbers("--before", "2020-01-01") == []
    assert numbers("--since", memory.read().entries[2].stamp) == [3, 4]


def test_show_raw_is_the_file(memory: Memory) -> None:
    assert run("show", "Ada", "--raw").out.encode() == memory.path.read_bytes()


def test_show_path(memory: Memory) -> None:
    assert run("show", "Ada", "--path").out == f"{memory.path}\n"


def test_show_lists_the_agents(memory: Memory, workspace: Path) -> None:
    listed = json.loads(run("show", "--json").out)
    assert listed["workspace"] == str(workspace)
    assert [(row["agent"], row["entries"]) for row in listed["agents"]] == [("Ada", 4)]
    assert "Ada" in run("show").out
    assert memory.exists()


@pytest.mark.parametrize(
    "words", [["show"], ["archives"], ["export"], ["compact"], ["forget", "--all", "--yes"]]
)
def test_an_unknown_agent_is_66_and_creates_nothing(
    memory: Memory, workspace: Path, words: list[str]
) -> None:
    ran = run(words[0], "Adaa", *words[1:])
    assert ran.code == 66
    assert "'Ada'" in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir(workspace / "agents") == ["Ada"]
    assert memory.exists()


@pytest.mark.parametrize("options", [["--since", "soonish"], ["--grep", "(", "--json"], ["--last", "-1"]])
def test_a_selector_that_makes_no_sense_is_a_usage_error(memory: Memory, options: list[str]) -> None:
    ran = run("show", "Ada", *options)
    assert ran.code == 2
    assert ran.out == ""
    assert memory.exists()


def test_control_characters_are_shown_not_obeyed(memory: Memory) -> None:
    memory.append("User", "\x1b]52;c;ZXZpbA==\x07 \x1b[31mred\x9b2J")
    out = run("show", "Ada", "--last", "1").out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "red" in out


def test_compact_archives_the_raw_log_and_undo_brings_it_back(memory: Memory) -> None:
    before = memory.path.read_bytes()
    ran = run(
        "compact", "Ada", "--summary", "Likes teal.", "--keep-tokens", "0", "--json", OPENAI_API_KEY="x"
    )
    assert ran.code == 0, ran.err
    archive = json.loads(ran.out)["archive"]
    assert [entry.text for entry in memory.read().entries] == ["[Compressed Memory Summary]\n\nLikes teal."]
    path = memory.folder / "archive" / archive
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert f"**Continues:** archive/{archive}".encode() in memory.read().header

    later = memory.append("User", "later")
    assert run("compact", "Ada", "--undo").code == 0
    assert memory.path.read_bytes() == before + later.raw


def test_archives_lists_prints_and_restores(memory: Memory) -> None:
    before = memory.path.read_bytes()
    assert (
        run("compact", "Ada", "--summary", "Likes teal.", "--keep-tokens", "0", OPENAI_API_KEY="x").code == 0
    )
    listed = json.loads(run("archives", "Ada", "--json").out)["archives"]
    assert len(listed) == 1
    assert listed[0]["size"] == len(before)
    assert run("archives", "Ada", "latest", "--raw").out.encode() == before
    assert "My favourite colour is teal." in run("archives", "Ada", listed[0]["archive"][:14]).out
    assert run("archives", "Ada", "latest", "--restore").code == 2
    assert run("archives", "Ada", "latest", "--restore", "--yes").code == 0
    assert memory.path.read_bytes() == before
    assert run("archives", "Ada", "nonesuch").code == 66


def test_forget_by_entry_leaves_every_other_byte(memory: Memory) -> None:
    entries = memory.read().entries
    run("compact", "Ada", "--summary", "A talk.", "--keep-tokens", "0", OPENAI_API_KEY="x")
    archived = (memory.folder / "archive" / memory.archives()[0].name).read_bytes()
    ran = run("forget", "Ada", "--entry", entries[1].stamp, "--summaries", "keep", "--yes", "--json")
    assert ran.code == 0, ran.err
    left = (memory.folder / "archive" / memory.archives()[0].name).read_bytes()
    assert left == archived.replace(entries[1].raw, b"")
    assert stat.S_IMODE(memory.archives()[0].path.stat().st_mode) == 0o400


def test_forget_by_text_reaches_memory_and_archives(memory: Memory) -> None:
    run("compact", "Ada", "--summary", "Likes TEAL.", "--keep-tokens", "0", OPENAI_API_KEY="x")
    assert run("forget", "Ada", "--match", "teal", "--yes").code == 0
    for path in memory.folder.rglob("*"):
        if path.is_file():
            assert b"teal" not in path.read_bytes().lower()


def test_forget_asks_first(memory: Memory) -> None:
    before = memory.path.read_bytes()
    assert run("forget", "Ada").code == 2
    ran = run("forget", "Ada", "--match", "teal")
    assert ran.code == 2
    assert "agentmem forget Ada --match teal --yes" in ran.err
    ran = run("forget", "Ada", "--match", "teal", "--dry-run")
    assert ran.code == 0
    assert "teal" in ran.err
    assert run("forget", "Ada", "--match", "nowhere", "--yes").code == 66
    assert memory.path.read_bytes() == before


def test_forget_all_removes_the_folder(memory: Memory, workspace: Path) -> None:
    assert run("forget", "Ada", "--all").code == 2
    assert memory.exists()
    assert run("forget", "Ada", "--all", "--yes").code == 0
    assert os.listdir(workspace / "agents") == []


def test_export_does_not_overwrite(memory: Memory, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    assert run("export", "Ada", "-f", "jsonl", "-o", str(target)).code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    ids = [json.loads(line)["id"] for line in target.read_text().splitlines()]
    assert ids == [entry.stamp for entry in memory.read().entries]
    target.write_text("mine")
    assert run("export", "Ada", "-o", str(target)).code == 2
    assert target.read_text() == "mine"
    assert run("export", "Ada", "-f", "text", "-o", str(target), "--force").code == 0
    assert "teal" in target.read_text()


@pytest.mark.parametrize(
    ("ending", "options", "written"),
    [
        *((ending, [], name) for ending, name in ENDINGS.items()),
        (".HTML", [], "html"),
        (".notes", [], "markdown"),
        (".html", ["-f", "jsonl"], "jsonl"),
    ],
)
def test_the_files_ending_says_the_format_of_an_export_unless_f_does(
    memory: Memory, tmp_path: Path, ending: str, options: list[str], written: str
) -> None:
    target = tmp_path / f"out{ending}"
    assert run("export", "Ada", *options, "-o", str(target)).code == 0
    assert target.read_text(encoding="utf-8") == run("export", "Ada", "-f", written).out


def test_an_export_names_no_folder(memory: Memory, tmp_path: Path) -> None:
    ran = run("export", "Ada", "-o", str(tmp_path), "--force")
    assert (ran.code, memory.exists(), tmp_path.is_dir()) == (2, True, True)
    assert "is a folder" in ran.err


def test_doctor_goes_on_where_the_settings_cannot_be_read(memory: Memory) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "agentmem" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("thresold = 0.5\n")
    ran = run("doctor", "--json")
    assert ran.code == 1
    said = [finding["says"] for finding in json.loads(ran.out)["findings"]]
    assert any("did you mean 'threshold'?" in each for each in said)
    assert "1 problem" in ran.err
    assert memory.exists()


def test_modes_whatever_the_umask(memory: Memory, workspace: Path) -> None:
    run("compact", "Ada", "--summary", "A talk.", "--keep-tokens", "0", OPENAI_API_KEY="x")
    memory.append("User", "more")
    for path in [workspace, *workspace.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        wanted = 0o700 if path.is_dir() else 0o400 if path.parent.name == "archive" else 0o600
        assert mode == wanted, path


def test_what_is_no_agent_does_not_break_the_list(memory: Memory, workspace: Path) -> None:
    (workspace / "agents" / "notes.txt").touch()
    assert [row["agent"] for row in json.loads(run("show", "--json").out)["agents"]] == ["Ada"]
    assert memory.exists()


def test_reading_and_forgetting_need_no_settings_file(memory: Memory) -> None:
    (memory.folder / "agent.toml").write_text("x = [")
    ran = run("show", "Ada", "--raw")
    assert ran.code == 0
    assert ran.out.encode() == memory.path.read_bytes()
    assert "agent.toml" in ran.err
    assert run("forget", "Ada", "--match", "teal", "--yes").code == 0


def test_what_a_killed_export_left_is_named(memory: Memory, tmp_path: Path) -> None:
    assert memory.exists()
    old, fresh = tmp_path / ".tmp-0123456789abcdef", tmp_path / ".tmp-fedcba9876543210"
    for path in (old, fresh, tmp_path / ".tmp-mine"):
        path.write_text("half of it")
    os.utime(old, (1, 1))
    ran = run("export", "Ada", "-o", str(tmp_path / "out.md"))
    assert ran.code == 0
    assert f"an export that was killed left {old}; it can be deleted" in ran.err
    assert ran.err.count(".tmp-") == 1
    assert old.exists()


def test_an_export_never_overwrites_the_memory(memory: Memory) -> None:
    before = memory.path.read_bytes()
    assert run("export", "Ada", "-o", str(memory.path), "--force").code == 2
    assert memory.path.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        "show --raw",
        "show --last 0",
        "show Ada --raw --json",
        "show Ada --raw --last 1",
        "show Ada --path --tokens",
        "show Ada --follow --tokens",
        "archives Ada --raw",
        "archives Ada --restore",
        "archives Ada latest --verify",
        "archives Ada latest --raw --json",
        "compact Ada --undo --keep-tokens 0",
        "compact Ada --summary short --focus long",
        "forget Ada --all --yes --summaries drop",
        "forget Ada --all --yes --match teal",
    ],
)
def test_options_that_would_be_ignored_are_refused(memory: Memory, words: str) -> None:
    before = memory.path.read_bytes()
    ran = run(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert memory.path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "meant", "variable"),
    [
        ("export Ada -f mardown", "markdown", ""),
        ("forget Ada --match teal --yes --summaries dorp", "drop", ""),
        ("show Ada --role Usr", "User", ""),
        ("forget Ada --role Usr --yes", "User", ""),
        ("search Ada teal --role Usr", "User", ""),
        ("export Ada --role Usr", "User", ""),
        ("chat Ada hello", "false", "AGENTMEM_REDACT=flase"),
        ("chat Ada hello", "none", "AGENTMEM_LOCK=nonne"),
        ("chat Ada hello --max-loops atuo", "auto", ""),
        ("chat Ada hello -m gpt4o", "gpt-4o", ""),
        *(
            (words, "AGENTMEM_MODEL", "AGENTMEM_MODLE=local")
            for words in ("doctor Ada", "chat Ada hello -m gpt4o", "show Ada", "compact Ada --undo")
        ),
    ],
)
def test_the_nearest_word_is_suggested(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, words: str, meant: str, variable: str
) -> None:
    assert memory.exists()
    if variable:
        monkeypatch.setenv(*variable.split("="))
    said = run(*words.split()).err
    assert f"did you mean {meant!r}?" in said or f"did you mean {meant}?" in said


def test_quiet_says_nothing_but_errors(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMEM_MODLE", "local")
    for words in (
        "compact Ada -q --summary short --keep-tokens 0",
        "compact Ada -q --undo",
        "forget Ada -q --role User --summaries keep --yes",
    ):
        ran = run(*words.split(), OPENAI_API_KEY="x")
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = run("forget", "Ada", "-q", "--role", "Ada")
    assert ran.code == 2
    assert "nobody can be asked" in ran.err
    assert memory.exists()
