from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from agentmem.entries import make_entry
from agentmem.memory import Memory
from tests.program import COMMAND, environment, run
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def memory(workspace: Path) -> Memory:
    kept = Memory(workspace / "agents" / "Ada")
    kept.append("User", "Where is the key?")
    kept.append("Ada", "Under the blue pot.")
    kept.append("User", "And the cheapest region?")
    kept.append("Ada", "eu-west.")
    return kept


def compacted(memory: Memory) -> None:
    _, cursor = memory.load()
    memory.fold(cursor.snapshot(), "They talked.")


def hits(*words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run("search", *words, "--json").out)["hits"]
    return found


def test_search_prints_the_hit_between_its_neighbours_with_its_archive(memory: Memory) -> None:
    compacted(memory)
    ran = run("search", "Ada", "blue", "pots")
    assert ran.code == 0
    heading, above, hit, below = ran.out.rstrip().split("\n")
    assert heading.endswith(f"  Ada  archive/{memory.archives()[0].name}")
    assert (above, hit, below) == (
        "  User: Where is the key?",
        "Under the blue pot.",
        "  User: And the cheapest region?",
    )


def test_search_as_json(memory: Memory) -> None:
    compacted(memory)
    (hit,) = hits("Ada", "pot")
    assert hit["text"] == "Under the blue pot."
    assert hit["role"] == "Ada"
    assert hit["archive"] == memory.archives()[0].name
    assert isinstance(hit["before"], dict)
    assert hit["before"]["text"] == "Where is the key?"


def test_search_takes_the_selectors_of_show(memory: Memory) -> None:
    for number in range(5):
        memory.append("User", f"the region number {number}")
    assert len(hits("Ada", "region")) == 6
    assert {hit["role"] for hit in hits("Ada", "region", "--role", "user")} == {"User"}
    assert [hit["text"] for hit in hits("Ada", "region", "--grep", "n.mber 3")] == ["the region number 3"]
    assert len(hits("Ada", "region", "--last", "2")) == 2
    assert len(hits("Ada", "region", "--limit", "3")) == 3
    assert hits("Ada", "region", "--before", "2020-01-01") == []
    assert len(hits("Ada", "region", "--since", "2h")) == 6


def test_search_all_agents(memory: Memory, workspace: Path) -> None:
    Memory(workspace / "agents" / "Bob").append("User", "Bob has a blue pot too")
    assert {hit["agent"] for hit in hits("--all", "pot")} == {"Ada", "Bob"}
    assert run("search", "--all", "blue", "pot").out.count("pot") >= 2
    assert memory.exists()


def test_search_finds_nothing_quietly(memory: Memory) -> None:
    ran = run("search", "Ada", "zebra")
    assert (ran.code, ran.out, ran.err) == (0, "", "agentmem: nothing found\n")
    assert memory.exists()


@pytest.mark.parametrize(
    ("words", "code"), [(["Nobody", "x"], 66), (["Ada"], 2), ([], 2), (["--all"], 2), (["Ada", '"'], 0)]
)
def test_what_cannot_be_searched_says_so(memory: Memory, words: list[str], code: int) -> None:
    assert run("search", *words).code == code
    assert memory.exists()


def test_after_forget_neither_search_nor_any_export_has_it(memory: Memory) -> None:
    compacted(memory)
    assert hits("Ada", "pot")
    assert run("forget", "Ada", "--match", "blue pot", "--summaries", "drop", "--yes").code == 0
    assert hits("Ada", "pot") == []
    for name in ("markdown", "json", "jsonl", "openai", "html", "text"):
        exported = run("export", "Ada", "--archives", "-f", name)
        assert exported.code == 0
        assert "blue pot" not in exported.out
        assert "cheapest" in exported.out


def test_on_a_terminal_the_words_found_stand_out(memory: Memory) -> None:
    assert memory.exists()
    with Terminal([*COMMAND, "search", "Ada", "pots"], environment=environment()) as terminal:
        assert terminal.wait_end() == 0
        assert b"Under the blue \x1b[1;33mpot\x1b[0m." in terminal.raw
    with Terminal([*COMMAND, "search", "Ada", "pots"], environment=environment(NO_COLOR="1")) as terminal:
        assert terminal.wait_end() == 0
        assert b"\x1b[" not in terminal.raw


def test_a_first_index_that_takes_long_shows_how_far_it_is(workspace: Path) -> None:
    entries = [
        make_entry("User", f"2026-04-20T18:33:15.{n:06}", f"word{n} " + "and more " * 40)
        for n in range(40_000)
    ]
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_bytes(b"".join(entry.raw for entry in entries))
    with Terminal([*COMMAND, "search", "Ada", "word77", "-n", "1"], environment=environment()) as terminal:
        assert terminal.wait_end() == 0
        assert re.search(rb"\r\x1b\[Kindexing [^\r]+ \d+ %", terminal.raw)
        # What is left on the screen is the hit alone.
        assert not any("indexing" in row for row in terminal.transcript())


def test_search_loads_no_model_and_no_network_library(memory: Memory) -> None:
    assert memory.exists()
    from tests.cli.test_imports import HEAVY, loaded

    assert loaded("search", "Ada", "pot") & HEAVY == set()
