from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmem.errors import MemoryUnreadable
from agentmem.folders import Folder
from agentmem.locking import locked
from agentmem.memory import Memory
from agentmem.search import Search, excerpt, marks, parse_query, record, state
from agentmem.search.index import LOCK_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem.search import Hit

HEADING = b"\n### User \xe2\x80\x94 2026-04-20T18:33:15\n\n"
START = datetime(2026, 4, 20, 18, 33, 15, tzinfo=timezone.utc)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    ticks = iter(range(10**6))
    return Memory(tmp_path / "Ada", clock=lambda: START + timedelta(minutes=next(ticks)))


def said(memory: Memory, *texts: str) -> Memory:
    for number, text in enumerate(texts):
        memory.append("User" if number % 2 == 0 else "Ada", text)
    return memory


def found(memory: Memory, query: str, limit: int = 10) -> list[str]:
    return [hit.entry.text for hit in Search(memory.folder).find(query, limit=limit)]


def index_bytes(memory: Memory) -> bytes:
    private = memory.folder / ".agentmem"
    return b"".join(path.read_bytes() for path in private.iterdir() if path.name.startswith("index"))


# --- what is found ---

PHRASES = {
    "english": "The compactions were running slowly yesterday",
    "cyrillic": "Мы встретимся в Москве завтра",
    "arabic": "مرحبا بالعالم الجميل",
    "chinese": "我们明天在东京见面",
    "japanese": "東京タワーに行きましょう",
    "korean": "서울에서 만나요",
    "thai": "เราจะพบกันที่กรุงเทพ",
    "hindi": "हम दिल्ली में मिलेंगे",
    "emoji": "launch 🚀🎉 done",
    "snake": "call parse_memory_file first",
    "camel": "the class HttpResponseCache leaks",
    "plus": "I prefer C++ over Rust",
    "sharp": "we wrote it in C# then",
    "plain c": "vitamin c is fine",
    "path": "the loader opens /usr/lib/x.so at start",
    "version": "it broke in v1.2.3 only",
    "other version": "it worked in v1.2.4 only",
    "accents": "das Café an der Straße",
    "boolean": "press AND hold, OR wait NEAR the door",
    "code": "if (a[i] != NULL && b->next) { return -1; }",
    "mail": "write to ada.lovelace@example.org",
}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("compaction", "english"),
        ("run slow", "english"),
        ("slow*", "english"),
        ("yester*", "english"),
        ('"running slowly"', "english"),
        ("москве", "cyrillic"),
        ("встрет*", "cyrillic"),
        ("العالم", "arabic"),
        ("东京", "chinese"),
        ("京", "chinese"),
        ("明天在东京", "chinese"),
        ("タワー", "japanese"),
        ("서울", "korean"),
        ("กรุงเทพ", "thai"),
        ("दिल्ली", "hindi"),
        ("🚀", "emoji"),
        ("🎉", "emoji"),
        ("parse_memory_file", "snake"),
        ("memory_file", "snake"),
        ("HttpResponseCache", "camel"),
        ("ResponseCache", "camel"),
        ("C++", "plus"),
        ("c++", "plus"),
        ("C#", "sharp"),
        ("/usr/lib/x.so", "path"),
        ("lib/x.so", "path"),
        ("x.so", "path"),
        ("v1.2.3", "version"),
        ("1.2.4", "other version"),
        ("cafe", "accents"),
        ("straße", "accents"),
        ("AND OR NEAR", "boolean"),
        ("b->next", "code"),
        ("a[i]", "code"),
        ("lovelace@example", "mail"),
        ("ovelac", "mail"),
    ],
)
def test_the_best_hit_is_the_entry_meant(memory: Memory, query: str, name: str) -> None:
    said(memory, *PHRASES.values())
    assert found(memory, query)[0] == PHRASES[name]


@pytest.mark.parametrize(
    "query",
    ["", " ", "*", '"', '""', "AND", "NOT", "OR", "NEAR(", "a AND", "(", "^a", "a:b", "text:a", "-a", "+", "a*b*", "'",
     "''", ";", "--", "\x00", "\ud800", '"unclosed', "🤷‍♀️", "{", "a OR", "***", "zzzz", "x" * 5000, "a " * 5000],
)  # fmt: skip
def test_no_query_is_an_error(memory: Memory, query: str) -> None:
    assert isinstance(found(said(memory, "a text"), query), list)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(query=st.text(st.characters(exclude_categories=[])) | st.text('"*(){}^:+-ANDOR a', max_size=20))
def test_whatever_is_typed_is_no_error(memory: Memory, query: str) -> None:
    if not memory.exists():
        said(memory, *PHRASES.values())
    assert len(found(memory, query)) <= 10


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5))
def test_any_text_can_be_said_and_found_by_a_word_of_it(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    memory = said(Memory(tmp_path_factory.mktemp("w") / "Ada"), *texts, "Nadel im Heuhaufen")
    assert found(memory, "Nadel")[0] == "Nadel im Heuhaufen"


def test_a_quoted_phrase_must_be_there(memory: Memory) -> None:
    said(memory, "red blue", "blue red", "red")
    assert found(memory, '"red blue"') == ["red blue"]
    assert set(found(memory, "red blue")) == {"red blue", "blue red", "red"}


def test_a_shell_argument_with_spaces_is_a_phrase(memory: Memory) -> None:
    said(memory, "red blue green", "blue red green")
    hits = Search(memory.folder).find(["red blue", "green"])
    assert [hit.entry.text for hit in hits] == ["red blue green"]
    assert len(Search(memory.folder).find(["red blue"])) == 2


def test_an_identifier_beats_its_parts(memory: Memory) -> None:
    said(memory, "the c compiler", "c c c c", "C++ it is")
    assert found(memory, "C++") == ["C++ it is"] or found(memory, "C++")[0] == "C++ it is"


# --- ranking ---


def test_more_of_the_words_beat_more_of_one_word(memory: Memory) -> None:
    said(memory, "budget budget budget", "weather", "the budget for Lisbon", "weather")
    assert found(memory, "Lisbon budget")[0] == "the budget for Lisbon"


def test_words_together_beat_words_apart(memory: Memory) -> None:
    said(memory, "the green door and a house", "x", "x", "a door to the green house here")
    assert found(memory, "green house")[0] == "a door to the green house here"


def test_an_answer_profits_from_its_question(memory: Memory) -> None:
    said(memory, "which hotel in Lisbon?", "hotel Aurora", "and music?", "jazz", "nothing", "hotel Borealis")
    assert found(memory, "Lisbon hotel")[:2] == ["which hotel in Lisbon?", "hotel Aurora"]


def test_of_equals_the_newer_comes_first(memory: Memory) -> None:
    said(memory, "same words", "x", "x", "x", "x", "x", "same words")
    hits = Search(memory.folder).find("same words")
    assert [hit.entry.stamp for hit in hits] == sorted((hit.entry.stamp for hit in hits), reverse=True)


# --- where it is found ---


def compacted(memory: Memory, summary: str = "They talked.") -> None:
    document, cursor = memory.load()
    memory.fold(cursor.snapshot(), summary, document.entries[-1:])


def test_what_a_compaction_archived_is_found_with_its_neighbours_and_its_archive(memory: Memory) -> None:
    said(memory, "Where is the key?", "Under the blue pot.", "Thanks", "Welcome")
    assert found(memory, "pot") == ["Under the blue pot."]
    compacted(memory)
    memory.append("User", "Good morning")
    (hit,) = Search(memory.folder).find("pot")
    assert hit.entry.text == "Under the blue pot."
    assert hit.source == memory.archives()[0].name
    assert hit.before is not None
    assert hit.before.text == "Where is the key?"
    assert hit.after is not None
    assert hit.after.text == "Thanks"


def test_neighbours_are_those_of_the_file_even_where_they_stand_in_memory_too(memory: Memory) -> None:
    said(memory, "one", "two", "three " + "long " * 20_000, "four")
    document, cursor = memory.load()
    memory.fold(cursor.snapshot(), "They talked.", document.entries[-2:])
    (hit,) = Search(memory.folder).find("two")
    assert (hit.before and hit.before.text, hit.after and hit.after.text[:5]) == ("one", "three")
    (hit,) = Search(memory.folder).find("four")
    assert hit.source == ""
    assert hit.before is not None
    assert hit.before.text.startswith("three")
    assert hit.after is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    content=st.lists(st.binary() | st.sampled_from([HEADING, b"\n", b"\n\n---\n\n", b"word"])).map(b"".join)
)
def test_whatever_is_in_the_file_it_is_searched(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    memory = Memory(tmp_path_factory.mktemp("w") / "Ada")
    memory.append("User", "Nadel")
    with memory.path.open("ab") as file:
        file.write(content)
    assert isinstance(found(memory, "word"), list)
    assert found(memory, "Nadel")


def test_what_stands_in_memory_and_in_an_archive_is_found_once_in_memory(memory: Memory) -> None:
    said(memory, "one", "two", "three", "kept word for word")
    compacted(memory)
    compacted(memory, "They talked more.")
    hits = Search(memory.folder).find("kept")
    assert [(hit.entry.text, hit.source) for hit in hits] == [("kept word for word", "")]


def test_a_condition_holds_for_every_hit(memory: Memory) -> None:
    said(memory, *["same words"] * 40)
    hits = Search(memory.folder).find("same", wanted=lambda entry: entry.role == "Ada", limit=30)
    assert {hit.entry.role for hit in hits} == {"Ada"}
    assert len(hits) == 20


def test_text_typed_between_entries_is_found(memory: Memory) -> None:
    said(memory, "hello")
    with memory.path.open("a") as file:
        file.write("Remember the milk!\n")
    assert found(memory, "milk") == ["hello"]


# --- the index follows the files ---


def numbers(memory: Memory) -> list[int]:
    with sqlite3.connect(memory.folder / ".agentmem" / "index.db") as connection:
        rows = [number for (number,) in connection.execute("SELECT number FROM entries ORDER BY number")]
    connection.close()
    return rows


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_new_entry_is_found_at_once_without_a_new_index(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr("agentmem.search.contents._SMALL", small)
    said(memory, "one", "two")
    assert found(memory, "one") == ["one"]
    inode = (memory.folder / ".agentmem" / "index.db").stat().st_ino
    memory.append("User", "three")
    assert found(memory, "three") == ["three"]
    assert numbers(memory) == [1, 2, 3]
    assert (memory.folder / ".agentmem" / "index.db").stat().st_ino == inode


def test_a_compaction_moves_entries_without_indexing_them_again(memory: Memory) -> None:
    said(memory, "one", "two", "three")
    assert found(memory, "one") == ["one"]
    compacted(memory)
    assert found(memory, "one") == ["one"]
    assert numbers(memory) == [1, 2, 3, 4]


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_hand_edit_is_followed_and_leaves_no_trace_of_what_went(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr("agentmem.search.contents._SMALL", small)
    said(memory, "the word kumquat", "two", "three")
    assert found(memory, "kumquat")
    assert b"kumquat" in index_bytes(memory)
    memory.path.write_bytes(memory.path.read_bytes().replace(b"kumquat", b"tangerine"))
    assert found(memory, "kumquat") == []
    assert found(memory, "tangerine") == ["the word tangerine"]
    assert b"kumquat" not in index_bytes(memory)


def test_an_edit_in_place_that_only_a_hit_can_show_is_followed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmem.search.contents._SMALL", 0)
    monkeypatch.setattr("agentmem.search.skimming._SMALL", 0)
    said(memory, "the word kumquat", "two", "three")
    assert found(memory, "kumquat")
    content = memory.path.read_bytes().replace(b"kumquat", b"bananas")
    memory.path.write_bytes(content)
    memory.append("User", "four")
    assert found(memory, "kumquat") == []
    assert found(memory, "bananas") == ["the word bananas"]


def test_after_forget_no_byte_of_the_index_has_the_words(memory: Memory) -> None:
    said(memory, "the canary kumquat", "two", "three")
    compacted(memory)
    assert found(memory, "kumquat")
    memory.forget(lambda _file, entry: "kumquat" in entry.text)
    assert found(memory, "kumquat") == []
    assert found(memory, "two") == ["two"]
    assert b"kumquat" not in index_bytes(memory)


def test_a_forget_between_reading_and_writing_leaves_nothing_in_the_index(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentmem.search import contents

    said(memory, "the canary kumquat", "two")
    insert = contents._insert
    forgotten: list[object] = []

    def forget_then_insert(*arguments: object) -> None:
        if not forgotten:
            forgotten.append(memory.forget(lambda _file, entry: "kumquat" in entry.text))
        insert(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(contents, "_insert", forget_then_insert)
    assert found(memory, "kumquat two") == ["two"]
    assert b"kumquat" not in index_bytes(memory)


@pytest.mark.parametrize(
    "content", [b"", b"no database at all " * 100, b"SQLite format 3\x00" + b"\xff" * 4000]
)
def test_a_damaged_index_is_made_anew(memory: Memory, content: bytes) -> None:
    said(memory, "one", "two")
    assert found(memory, "one") == ["one"]
    (memory.folder / ".agentmem" / "index.db").write_bytes(content)
    assert found(memory, "one") == ["one"]
    assert numbers(memory) == [1, 2]


def test_an_index_damaged_in_the_middle_is_made_anew(memory: Memory) -> None:
    said(memory, *[f"word{number} and more" for number in range(200)])
    assert found(memory, "word7")
    path = memory.folder / ".agentmem" / "index.db"
    content = path.read_bytes()
    path.write_bytes(content[:8192] + os.urandom(len(content) - 8192))
    assert found(memory, "word7")[0] == "word7 and more"


def test_an_index_of_another_version_is_made_anew(memory: Memory) -> None:
    said(memory, "one")
    assert found(memory, "one")
    connection = sqlite3.connect(memory.folder / ".agentmem" / "index.db")
    connection.execute("PRAGMA user_version = 99")
    connection.execute("DROP TABLE words")
    connection.commit()
    connection.close()
    assert found(memory, "one") == ["one"]


def test_a_link_in_the_place_of_the_index_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    said(memory, "one")
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    (memory.folder / ".agentmem" / "index.db").symlink_to(victim)
    assert found(memory, "one") == ["one"]
    assert victim.read_bytes() == b""


def test_the_index_is_for_its_owner_only(memory: Memory) -> None:
    said(memory, "one")
    found(memory, "one")
    for path in (memory.folder / ".agentmem").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_usable_index_the_search_works_all_the_same(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmem.search.index._WAIT", 0.0)
    said(memory, "one", "two")
    with Folder.open(memory.folder) as folder, locked(folder, 1, name=LOCK_FILE):
        assert found(memory, "one") == ["one"]
    assert not (memory.folder / ".agentmem" / "index.db").exists()


def test_building_an_index_does_not_keep_anyone_from_appending(memory: Memory) -> None:
    said(memory, "one", "two")
    quick = Memory(memory.folder, lock_timeout=0.0)
    appended: list[str] = []
    search = Search(
        memory.folder, lambda _done, _all: appended.append(quick.append("User", "meanwhile").text)
    )
    assert search.find("one")
    assert appended
    assert found(memory, "meanwhile")


def test_searches_of_many_processes_at_once_agree(memory: Memory) -> None:
    said(memory, *[f"word{number} here" for number in range(300)])
    script = (
        "import sys; from pathlib import Path; from agentmem.search import Search; from agentmem.memory import Memory\n"
        "folder = Path(sys.argv[1])\n"
        "for n in range(10):\n"
        "    Memory(folder).append('User', f'from{sys.argv[2]} number{n}')\n"
        "    assert [h.entry.text for h in Search(folder).find(f'from{sys.argv[2]} number{n}', limit=1)] == "
        "[f'from{sys.argv[2]} number{n}']\n"
        "    assert [h.entry.text for h in Search(folder).find('word7', limit=1)] == ['word7 here']\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(memory.folder), str(number)], stderr=subprocess.PIPE
        )
        for number in range(4)
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert not any(process.returncode for process in processes), b"".join(errors).decode()
    assert len(found(memory, "number9", limit=50)) == 4


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_memory_that_cannot_be_read_is_an_error_that_names_it(memory: Memory, kind: str) -> None:
    said(memory, "one")
    memory.path.unlink()
    if kind == "folder":
        memory.path.mkdir()
    else:
        memory.path.symlink_to("/etc/passwd")
    with pytest.raises(MemoryUnreadable, match=r"MEMORY\.md"):
        found(memory, "one")


def test_no_memory_is_no_hit(tmp_path: Path) -> None:
    assert Search(tmp_path / "Nobody").find("anything") == []
    assert not (tmp_path / "Nobody").exists()


def test_the_state_of_the_index_is_told(memory: Memory) -> None:
    said(memory, "one")
    assert state(memory.folder) == "none"
    found(memory, "one")
    assert state(memory.folder) == "current"
    memory.append("User", "two")
    assert state(memory.folder) == "behind"
    found(memory, "two")
    (memory.folder / ".agentmem" / "index.db").write_bytes(b"junk")
    assert state(memory.folder) == "damaged"


# --- what is shown ---


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("compacting", "one compaction, two Compactions", ["compaction", "Compactions"]),
        ("东京", "我们明天在东京见面", ["东京"]),
        ("C++", "C++ and C", ["C++", "C"]),
        ("🚀", "go 🚀!", ["🚀"]),
        ("x.so", "/lib/x.so", ["x.so"]),
        ("yest*", "Yesterday", ["Yesterday"]),
        ('"red blue"', "red blue, blue red", ["red blue"]),
        ("nothing", "else", []),
    ],
)
def test_marks_are_where_the_words_are(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in marks(parse_query(query), text)] == marked


@given(text=st.text(st.characters(exclude_categories=[])), query=st.text(max_size=10))
@settings(deadline=None)
def test_marks_lie_within_the_text_in_order(text: str, query: str) -> None:
    found = marks(parse_query(query), text)
    assert all(0 <= start <= end <= len(text) for start, end in found)
    assert found == sorted(found)


@given(words=st.lists(st.text("abc", min_size=1, max_size=12), max_size=200), length=st.integers(20, 200))
@settings(deadline=None)
def test_an_excerpt_keeps_to_its_length(words: list[str], length: int) -> None:
    assert len(excerpt(parse_query("abc"), " ".join(words), length)) <= max(length, 20)


def test_an_excerpt_shows_the_match() -> None:
    text = "lorem " * 500 + "the needle is here " + "ipsum " * 500
    assert "needle" in excerpt(parse_query("needle"), text, 120)


def hits(memory: Memory, query: str) -> list[Hit]:
    return Search(memory.folder).find(query)


def test_a_record_names_speaker_time_and_archive_and_keeps_to_its_room(memory: Memory) -> None:
    said(memory, "Where is the key?", "Under the blue pot. " + "blah " * 2000, "Thanks", "Welcome")
    compacted(memory)
    query = parse_query("blue pot")
    text = record(query, hits(memory, "blue pot"), 200)
    assert len(text) // 4 <= 200
    assert f"Ada (archive/{memory.archives()[0].name}): Under the blue pot." in text
    assert "Where is the key?" in text
    assert record(query, hits(memory, "blue pot"), 3) == ""


def test_a_record_says_nothing_twice(memory: Memory) -> None:
    said(memory, "blue one", "blue two", "blue three")
    text = record(parse_query("blue"), hits(memory, "blue"), 1000)
    assert [text.count(word) for word in ("one", "two", "three")] == [1, 1, 1]
