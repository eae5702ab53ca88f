from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.cli import main
from agentmem.memory import Memory
from agentmem.search import Search, finding, parse_query
from agentmem.search.skimming import certain, has_nothing, promising, tokens

STARTS = [
    "rat",
    "cond",
    "hop",
    "fall",
    "oper",
    "sens",
    "vi",
    "a",
    "tr",
    "gener",
    "commun",
    "y",
    "happ",
    "tie",
]
MIDDLES = [
    "",
    "e",
    "i",
    "y",
    "at",
    "bl",
    "iz",
    "tt",
    "enc",
    "abil",
    "iv",
    "ic",
    "ous",
    "log",
    "al",
    "ll",
    "ent",
]
ENDS = ["", "s", "es", "ies", "ed", "ing", "eed", "y", "ational", "tional", "izer", "ably", "ely", "ization"]
ENDS += ["ator", "alism", "iveness", "fulness", "ously", "ality", "ivity", "bility", "icate", "ative", "ical"]
ENDS += [
    "ness",
    "ance",
    "ible",
    "ment",
    "ion",
    "e",
    "le",
    "ly",
    "ogy",
    "ogi",
    "iviti",
    "biliti",
    "anci",
    "enci",
]


def test_words_begin_as_their_stem_says() -> None:
    for start, middle in itertools.product(STARTS, MIDDLES):
        for word in (f"{start}{middle}{end}" for end in ENDS):
            (stem,) = tokens(word)
            assert word.encode().startswith(certain(stem)), (word, stem)


words = st.sampled_from(
    [
        "hope",
        "hoping",
        "hopped",
        "café",
        "cafe",
        "C++",
        "a.b",
        "x_1",
        "possibly",
        "possible",
        "—",
        "it’s",
        "KEY",
    ]
) | st.text("abcé -.’", min_size=1, max_size=5)
texts = st.lists(words, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=3), texts, st.booleans())
def test_what_is_skimmed_over_has_no_hits(said: list[str], query: str, phrase: bool) -> None:
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        memory = Memory(Path(root) / "Ada")
        for text in said:
            memory.append("User", text)
        asked = f'"{query}"' if phrase else query
        skimmed = has_nothing(memory.folder, parse_query(asked))
        patch.setattr(finding, "has_nothing", lambda _folder, _query: False)
        assert not (skimmed and Search(memory.folder).find(asked))


def test_a_memory_without_the_word_needs_no_index(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "Ada")
    memory.append("User", "The tide is high — isn’t it?")
    assert not Search(memory.folder).find("zanzibar")
    assert "index.db" not in os.listdir(memory.folder / ".agentmem")
    assert Search(memory.folder).find("tides")
    assert "index.db" in os.listdir(memory.folder / ".agentmem")


def test_archives_and_long_memories_are_asked_properly(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "Ada")
    memory.append("User", "word " * 20_000)
    assert not has_nothing(memory.folder, parse_query("zanzibar"))
    short = Memory(tmp_path / "Bea")
    short.append("User", "The key is under the pot.")
    document, cursor = short.load()
    short.fold(cursor.snapshot(), "They talked.", document.entries[-1:])
    assert not has_nothing(short.folder, parse_query("zanzibar"))


def test_of_many_small_memories_the_most_promising_are_asked(tmp_path: Path) -> None:
    said = ["nothing", "one key", "one key and pot", "the pot", "word " * 20_000, "pot, key; café"]
    memories = [Memory(tmp_path / str(number)) for number in range(len(said))]
    for memory, text in zip(memories, said, strict=True):
        memory.append("User", text)
    folders = [memory.folder for memory in memories]
    for most in (3, 9):
        asked, others = promising(folders, parse_query("key pot"), most)
        assert [path.name for path in asked] == ["4", "5", "2", "3", "1"][: most + 1]
        assert [path.name for path in others] == ["4", "5", "2", "3", "1"][most + 1 :]


def test_agents_that_are_not_asked_are_counted(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for fruit in ("apple", "banana", "cherry", "grape", "lemon"):
        Memory(workspace / "agents" / fruit).append("User", f"The key is under the {fruit}.")
    monkeypatch.setattr("agentmem.cli.search._ASKED", 3)
    assert main(["search", "--all", "key"]) == 0
    said = capsys.readouterr()
    assert said.out.count("The key") == 3
    assert "2 more agents may have it and were not asked" in said.err
    assert main(["search", "--all", '"under the cherry"']) == 0
    said = capsys.readouterr()
    assert said.out.count("The key") == 1
    assert said.err == ""
