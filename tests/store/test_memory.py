from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentmem.entries import TERMINATOR, Entry, parse
from agentmem.errors import MemoryChanged, NotFound
from agentmem.memory import Memory
from agentmem.roles import SUMMARY_MARK
from tests.store.test_entries import built, files, notes, roles, texts

if TYPE_CHECKING:
    from collections.abc import Callable

NOON = datetime(2026, 4, 20, 12, tzinfo=timezone.utc)
# What these properties are about costs an fsync for every step.
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def a_memory(root: str | Path, clock: datetime | None = None) -> Memory:
    folder = Path(root, "Ada")
    return Memory(folder, clock=lambda: clock) if clock else Memory(folder)


def said(memory: Memory) -> list[tuple[str, str]]:
    return [(entry.role, entry.text) for entry in memory.read().entries]


def ids(content: bytes) -> list[str]:
    return [entry.stamp for entry in parse(content).entries]


def every_file(memory: Memory) -> dict[str, bytes]:
    archives = {each.name: each.path.read_bytes() for each in memory.archives()}
    return {"MEMORY.md": memory.path.read_bytes(), **archives}


@few
@given(st.lists(st.tuples(roles, texts, notes), max_size=5))
def test_any_sequence_of_role_and_text_reads_back_equal(talk: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        memory = a_memory(root)
        written = [memory.append(*each) for each in talk]
        read = memory.read().entries
        assert [(each.role, each.text, each.note) for each in read] == talk
        assert [each.stamp for each in read] == [each.stamp for each in written]
        assert len({each.when for each in read}) == len(talk)
        tail, before = memory.tail(2)
        assert tail == list(read[-2:])
        assert before == len(read) - len(tail)


@few
@given(files, texts)
@example(b"", "first")
@example(b"typed by hand", "\n")
@example(b"\xff\xfe\x00" * 9, "after no text at all")
@example(b"### User \xe2\x80\x94 2026-04-20T18:33:15\n\nhalf an entr", "whole")
def test_appending_to_any_bytes_keeps_every_one_of_them(content: bytes, text: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        memory = a_memory(root)
        memory.folder.mkdir()
        memory.path.write_bytes(content)
        assert memory.read().raw == content
        entry = memory.append("User", text)
        after = memory.path.read_bytes()
        assert after.startswith(content)
        assert after.endswith(entry.raw)
        assert [each.stamp for each in parse(after).entries] == [*ids(content), entry.stamp]


@few
@given(files, texts, st.lists(st.tuples(roles, texts), max_size=2))
def test_compaction_archives_the_bytes_and_undo_brings_them_back(
    content: bytes, summary: str, later: list[tuple[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        memory = a_memory(root)
        memory.folder.mkdir()
        memory.path.write_bytes(content)
        document, cursor = memory.load()
        kept = document.entries[len(document.entries) // 2 :]
        fold = memory.fold(cursor.snapshot(), summary, kept)
        assert memory.read_archive("latest")[1] == content
        assert memory.path.read_bytes() == fold.content
        read = memory.read().entries
        assert read[0].text == f"{SUMMARY_MARK}\n\n{summary}"
        assert read[0].is_summary
        assert [each.stamp for each in read[1:]] == [each.stamp for each in kept]
        added = [memory.append(*each) for each in later]
        assert memory.undo() == fold.archive
        undone = memory.path.read_bytes()
        assert undone.startswith(content)
        assert ids(undone) == [*ids(content), *(each.stamp for each in added)]


@few
@given(st.lists(st.one_of(built.map(lambda entry: entry.raw), st.binary(max_size=30)), max_size=6), st.data())
def test_forgetting_leaves_every_other_byte(blocks: list[bytes], data: st.DataObject) -> None:
    content = b"".join(blocks)
    with tempfile.TemporaryDirectory() as root:
        memory = a_memory(root)
        memory.folder.mkdir()
        memory.path.write_bytes(content)
        (memory.folder / "archive").mkdir()
        archive = memory.folder / "archive" / "history_2026-04-20_14-30-45.md"
        archive.write_bytes(content)
        entries = parse(content).entries
        doomed = data.draw(st.sets(st.sampled_from([each.start for each in entries]))) if entries else set()

        def chosen(_file: str, entry: Entry) -> bool:
            return entry.start in doomed

        expected = parse(content).header + b"".join(e.raw for e in entries if e.start not in doomed)
        gone = [entry for entry in entries if entry.start in doomed]
        files = [(each.file, list(each.entries)) for each in memory.forget(chosen)]
        assert files == ([(archive.name, gone), ("MEMORY.md", gone)] if gone else [])
        assert every_file(memory) == {"MEMORY.md": expected, archive.name: expected}


def test_two_processes_appending_at_once_leave_whole_entries_with_ids_of_their_own(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agentmem.memory import Memory\n"
        "memory = Memory(Path(sys.argv[1]), lock_timeout=60)\n"
        "for n in range(200): memory.append('User', f'{sys.argv[2]} {n}')"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "Ada"), name]) for name in ("a", "b")
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    entries = a_memory(tmp_path).read().entries
    assert len(entries) == 400
    assert len({entry.when for entry in entries}) == 400
    assert all(entry.raw.endswith(TERMINATOR) and re.fullmatch(r"[ab] \d+", entry.text) for entry in entries)
    for name in ("a", "b"):
        own = [entry.text for entry in entries if entry.text.startswith(name)]
        assert own == [f"{name} {n}" for n in range(200)]


@pytest.mark.parametrize("step", [timedelta(0), -timedelta(hours=1), timedelta(days=1)])
def test_ids_are_unique_whatever_the_clock_does(tmp_path: Path, step: timedelta) -> None:
    a_memory(tmp_path, NOON).append("User", "one")
    memory = a_memory(tmp_path, NOON + step)
    for text in ("two", "three"):
        memory.append("User", text)
    _, cursor = memory.load()
    memory.fold(cursor.snapshot(), "summary")
    memory.forget(lambda file, _entry: file == "MEMORY.md")
    memory.append("User", "four")
    every = [each for content in every_file(memory).values() for each in ids(content)]
    assert len(every) == len(set(every)) == 4


def _cut(memory: Memory) -> None:
    with memory.path.open("r+b") as file:
        file.truncate(memory.path.stat().st_size - 3)


def _saved_by_an_editor(memory: Memory) -> None:
    copy = memory.folder / "MEMORY.md.new"
    copy.write_bytes(memory.path.read_bytes().removesuffix(TERMINATOR))
    copy.replace(memory.path)


def _same_size(memory: Memory) -> None:
    content = memory.path.read_bytes()
    memory.path.write_bytes(content[:-2] + b"??")


def _said_later_by_another(memory: Memory) -> None:
    a_memory(memory.folder.parent, NOON + timedelta(hours=1)).append("User", "later")


@pytest.mark.parametrize("meanwhile", [_cut, _saved_by_an_editor, _same_size, _said_later_by_another])
def test_what_happens_to_the_end_between_two_appends_is_noticed(
    tmp_path: Path, meanwhile: Callable[[Memory], None]
) -> None:
    memory = a_memory(tmp_path, NOON)
    memory.append("User", "one")
    memory.append("User", "two")
    meanwhile(memory)
    before = memory.path.read_bytes()
    added = memory.append("User", "three")
    after = memory.path.read_bytes()
    assert after.startswith(before)
    assert [entry.raw for entry in parse(after).entries][-1] == added.raw
    assert all(entry.terminated for entry in parse(after).entries)
    assert len(set(ids(after))) == len(ids(after))


def test_entries_of_others_are_appended_changes_and_an_edit_is_an_edit(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.append("User", "one")
    _, cursor = memory.load()
    assert memory.changes(cursor).kind == "none"
    own = memory.append("User", "mine", cursor=cursor)
    assert memory.changes(cursor).kind == "none"
    a_memory(tmp_path).append("Ada", "theirs")
    changes = memory.changes(cursor)
    assert (changes.kind, [entry.text for entry in changes.document.entries]) == ("appended", ["theirs"])
    assert changes.document.entries[0].start == own.end
    memory.path.write_bytes(memory.path.read_bytes().replace(b"mine", b"MINE"))
    changes = memory.changes(changes.cursor)
    assert (changes.kind, len(changes.document.entries)) == ("edited", 3)


def test_an_own_entry_after_another_process_wrote_is_among_the_changes(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.ensure()
    _, cursor = memory.load()
    a_memory(tmp_path).append("User", "theirs")
    memory.append("User", "mine", cursor=cursor)
    assert [entry.text for entry in memory.changes(cursor).document.entries] == ["theirs", "mine"]


def test_a_compaction_of_what_was_edited_meanwhile_writes_nothing(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.append("User", "one")
    _, cursor = memory.load()
    memory.path.write_bytes(memory.path.read_bytes().replace(b"one", b"two"))
    with pytest.raises(MemoryChanged):
        memory.fold(cursor.snapshot(), "summary of one")
    assert said(memory) == [("User", "two")]
    assert memory.archives() == []


def test_what_arrives_while_a_summary_is_made_is_carried_over(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.append("User", "one")
    _, cursor = memory.load()
    late = memory.append("User", "late")
    memory.fold(cursor.snapshot(), "one")
    assert memory.path.read_bytes().endswith(late.raw)
    assert said(memory) == [("System", f"{SUMMARY_MARK}\n\none"), ("User", "late")]


def test_archives_of_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    memory = a_memory(tmp_path, NOON)
    for round_ in range(3):
        memory.append("User", f"{round_}")
        memory.fold(memory.load()[1].snapshot(), f"{round_}")
    names = [archive.name for archive in memory.archives()]
    stem = f"history_{NOON:%Y-%m-%d_%H-%M-%S}"
    assert names == [f"{stem}.md", f"{stem}_2.md", f"{stem}_3.md"]


def test_restore_archives_the_present_and_an_unknown_archive_is_no_archive(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    with pytest.raises(NotFound):
        memory.read_archive("latest")
    memory.append("User", "one")
    first = memory.path.read_bytes()
    fold = memory.fold(memory.load()[1].snapshot(), "one")
    kept = memory.restore(fold.archive)
    assert memory.path.read_bytes() == first
    assert memory.read_archive(kept)[1] == fold.content
    with pytest.raises(NotFound):
        memory.restore("history_1999")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_modes_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        memory = a_memory(tmp_path / "deep" / "agents")
        memory.append("User", "one")
        memory.fold(memory.load()[1].snapshot(), "one")
        memory.forget(lambda _file, entry: entry.text == "one")
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    archive = memory.archives()[0].name
    assert modes == {
        "deep": 0o700,
        "deep/agents": 0o700,
        "deep/agents/Ada": 0o700,
        "deep/agents/Ada/.agentmem": 0o700,
        "deep/agents/Ada/.agentmem/forgotten": 0o600,
        "deep/agents/Ada/.agentmem/lock": 0o600,
        "deep/agents/Ada/MEMORY.md": 0o600,
        "deep/agents/Ada/archive": 0o700,
        f"deep/agents/Ada/archive/{archive}": 0o400,
    }


def test_a_deleted_folder_leaves_nothing_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    memory = a_memory(tmp_path / "agents")
    memory.append("User", "one")
    (memory.folder / "link").symlink_to(outside)
    memory.delete()
    assert list((tmp_path / "agents").iterdir()) == []
    assert (outside / "kept").read_text() == "kept"


def test_a_line_that_only_looks_like_a_heading_from_its_middle_on_is_none(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.append("User", "one")
    forged = b"### User \xe2\x80\x94 2026-04-20T18:33:15"
    filler = b"x" * (65536 - len(forged))
    memory.path.write_bytes(memory.path.read_bytes() + filler + forged)
    assert [entry.text for entry in memory.tail(1)[0]] == ["one"]


def test_a_role_no_heading_can_carry_is_refused_and_nothing_stored(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.append("User", "one")
    before = memory.path.read_bytes()
    for role in ("a\nb", ""):
        with pytest.raises(ValueError, match="not a role"):
            memory.append(role, "text")
    assert memory.path.read_bytes() == before
