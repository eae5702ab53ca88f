"""`forget`: what is chosen goes from every byte, and nothing else does."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentmem import Agent, forgetting, input_history
from agentmem.entries import parse
from agentmem.errors import UsageError
from agentmem.forgetting import planning
from agentmem.memory import Memory
from agentmem.search import Search
from agentmem.selection import Selection
from tests.loopback import Answer, Gate, Refusal
from tests.privacy.canaries import CANARY, INNOCENT, Clock, contents, fold, memories, plant, traces
from tests.program import COMMAND, agree, environment, run
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem.entries import Document, Entry
    from tests.loopback import Provider
    from tests.privacy.canaries import Planted


@pytest.fixture
def planted(workspace: Path) -> Planted:
    return plant(workspace)


def without(content: bytes, text: str = CANARY) -> bytes:
    document = parse(content)
    return document.header + b"".join(
        entry.raw for entry in document.entries if text not in entry.text.casefold()
    )


@pytest.mark.parametrize("how", ["entry", "match", "regex", "time", "older"])
def test_a_canary_is_in_no_byte_afterwards(planted: Planted, workspace: Path, how: str) -> None:
    selectors = {
        "entry": [word for entry in planted.entries for word in ("--entry", entry.stamp)],
        "match": ["--match", CANARY.title()],
        "regex": ["--regex", f"(?i)zanzi[a-z]+{CANARY[-3:]}"],
        "time": ["--since", "2026-03-01", "--before", "2026-04-01"],
        "older": ["--since", "2026-03-01", "--older-than", "1d", "--before", "2026-04-01"],
    }[how]
    before = memories(planted.memory)
    ran = run("forget", "Ada", *selectors, "--yes")
    assert ran.code == 0, ran.err
    assert traces(workspace, CANARY) == []
    assert memories(planted.memory) == {name: without(content) for name, content in before.items()}
    assert input_history.load(planted.memory.folder) == [INNOCENT]
    assert not Search(planted.memory.folder).find([CANARY])
    assert traces(workspace, CANARY) == []
    assert Search(planted.memory.folder).find(["weather"])
    for each in planted.memory.archives():
        assert stat.S_IMODE(each.path.stat().st_mode) == 0o400


def test_forgetting_the_agent_leaves_nothing_of_it(planted: Planted, workspace: Path) -> None:
    assert run("forget", "Ada", "--all", "--yes").code == 0
    assert traces(workspace, CANARY) == []
    assert os.listdir(workspace / "agents") == []
    assert not planted.memory.exists()


def test_what_a_crash_left_of_a_deleted_agent_goes_with_the_next_forget(
    planted: Planted, workspace: Path
) -> None:
    planted.memory.folder.rename(workspace / "agents" / ".deleted-0123456789abcdef")
    assert run("forget", "Ada", "--all", "--yes").code == 66
    assert traces(workspace, CANARY) == []


ERRORS: list[tuple[list[str], int, str]] = [
    ([], 2, "say what to forget"),
    (["--yes"], 2, "say what to forget"),
    (["--match", CANARY], 2, f"agentmem forget Ada --match {CANARY} --yes"),
    (["--all"], 2, "agentmem forget Ada --all --yes"),
    (["--all", "--match", CANARY, "--yes"], 2, "--all"),
    (["--since", "the day before", "--yes"], 2, "not a time"),
    (["--older-than", "a while", "--yes"], 2, "--older-than"),
    (["--regex", "(", "--yes"], 2, "not a regular expression"),
    (["--match", "", "--yes"], 2, "--match is empty"),
    (["--entry", "", "--yes"], 2, "--entry is empty"),
    (["--role", "", "--match", CANARY, "--yes"], 2, "--role is empty"),
    (["--last", "0", "--yes"], 2, "--last"),
    (["--match", "not there", "--yes"], 66, "nothing was removed"),
    (["--match", CANARY, "--role", "Nobody", "--yes"], 66, "nothing was removed"),
    (["--entry", "#99", "--yes"], 66, "no entry #99; the last is #"),
    (["--entry", "2019", "--yes"], 66, "no entry '2019'; numbers are written '#2019'"),
    (["--entry", "2019-01", "--yes"], 66, "no entry '2019-01'; an id is a time such as 2"),
    (["--entry", "2", "--yes"], 66, " entries begin with '2': 2"),
    (["--archive", "history_2020", "--yes"], 66, "history_2020"),
    (["--archive", "../MEMORY.md", "--yes"], 66, "../MEMORY.md"),
    (["--archive", "../../Eve/archive/history_2026", "--yes"], 66, "history_2026"),
    (["--match", CANARY, "--summaries", "burn", "--yes"], 2, "--summaries"),
]


@pytest.mark.parametrize(("options", "code", "words"), ERRORS, ids=[" ".join(row[0]) for row in ERRORS])
def test_a_refusal_removes_nothing(
    planted: Planted, workspace: Path, options: list[str], code: int, words: str
) -> None:
    before = contents(workspace)
    ran = run("forget", "Ada", *options)
    assert ran.code == code, ran.err
    assert words in ran.err
    assert ran.out == ""
    assert contents(workspace) == before
    assert planted.memory.exists()


def test_an_unknown_agent_is_named(planted: Planted, workspace: Path) -> None:
    before = contents(workspace)
    ran = run("forget", "Adda", "--all", "--yes")
    assert (ran.code, "did you mean 'Ada'?" in ran.err) == (66, True)
    assert contents(workspace) == before
    assert planted.memory.exists()


def test_a_catastrophic_pattern_ends_and_removes_nothing(planted: Planted, workspace: Path) -> None:
    for _ in range(3):
        planted.memory.append("User", "a" * 5000 + "b")
    before = contents(workspace)
    ran = run("forget", "Ada", "--regex", "(a+)+$", "--yes")
    assert ran.code == 2
    assert "simplify it" in ran.err
    assert contents(workspace) == before


def test_a_slow_pattern_is_bounded_over_all_entries(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    import regex

    monkeypatch.setattr(planning, "PATTERN_SECONDS", -1.0)
    wanted = forgetting.Wanted(selection=Selection(pattern=regex.compile("x")))
    with pytest.raises(UsageError, match="nothing was removed"):
        forgetting.plan(planted.memory, wanted, [])


def test_a_dry_run_says_what_would_go_and_writes_nothing(planted: Planted, workspace: Path) -> None:
    def times() -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in workspace.rglob("*") if path.name != "lock"}

    before = times()
    ran = run("forget", "Ada", "--match", CANARY, "--dry-run", "--json")
    assert ran.code == 0
    shape = json.loads(ran.out)
    assert shape["forgotten"] is False
    assert shape["input_history_lines"] == 2
    ids = {entry["id"] for entries in shape["files"].values() for entry in entries}
    assert ids == {entry.stamp for entry in planted.entries}
    assert "this would forget 7 entries in 3 files and 2 lines of the input history" in ran.err
    assert times() == before


def documents(memory: Memory) -> dict[str, Document]:
    archived = {each.name: parse(memory.read_archive(each.name)[1]) for each in memory.archives()}
    return {**archived, "MEMORY.md": memory.read()}


def texts(memory: Memory) -> dict[str, list[str]]:
    return {name: [entry.text for entry in document.entries] for name, document in documents(memory).items()}


@pytest.fixture
def talk(workspace: Path) -> Memory:
    """Two archives; the second half of what the first one holds was kept word for word."""
    memory = Memory(workspace / "agents" / "Ada", clock=Clock())
    memory.append("User", "red apple")
    memory.append("Ada", "a red answer")
    memory.append("User", "green pear")
    memory.append("Ada", "a green answer")
    fold(memory, "They spoke of red.", keep=2)
    memory.append("User", "blue plum")
    fold(memory, "They spoke of red and green.", keep=1)
    memory.append("Ada", "a blue answer")
    return memory


def forgot(*options: str) -> None:
    ran = run("forget", "Ada", *options, "--yes", "--summaries", "keep")
    assert ran.code == 0, ran.err


def test_selectors_combine_with_and(talk: Memory) -> None:
    forgot("--match", "green", "--role", "user")
    assert [text for all_of in texts(talk).values() for text in all_of if "green" in text] == [
        "a green answer",
        "a green answer",
        "[Compressed Memory Summary]\n\nThey spoke of red and green.",
    ]


def test_last_counts_from_the_newest_through_the_archives(talk: Memory) -> None:
    forgot("--last", "3", "--role", "Ada")
    assert not any("answer" in text for all_of in texts(talk).values() for text in all_of)
    forgot("--last", "1")
    assert not any("plum" in text for all_of in texts(talk).values() for text in all_of)


def test_an_archive_limits_what_goes(talk: Memory) -> None:
    first, second = [archive.name for archive in talk.archives()]
    before = texts(talk)
    forgot("--match", "green pear", "--archive", first)
    after = texts(talk)
    assert after[first] == [text for text in before[first] if text != "green pear"]
    assert (after[second], after["MEMORY.md"]) == (before[second], before["MEMORY.md"])


def test_what_stands_elsewhere_too_is_said(talk: Memory) -> None:
    talk.append("Ada", "You said: a green answer, and I agree.")
    (talk.folder / "notes.txt").write_text("my own copy: a green answer")
    entry = documents(talk)[talk.archives()[0].name].entries[-1]
    assert entry.text == "a green answer"
    ran = run("forget", "Ada", "--entry", entry.stamp, "--yes", "--summaries", "keep")
    assert ran.code == 0, ran.err
    assert "still said in MEMORY.md" in ran.err
    assert "still said in notes.txt" in ran.err
    assert (talk.folder / "notes.txt").exists()


def test_an_archive_goes_as_a_whole(talk: Memory) -> None:
    first, second = [archive.name for archive in talk.archives()]
    forgot("--archive", first)
    assert [archive.name for archive in talk.archives()] == [second]
    forgot("--archive", "all")
    assert talk.archives() == []
    assert [text for text in texts(talk)["MEMORY.md"] if "blue" in text] == ["blue plum", "a blue answer"]


def test_archives_by_age(talk: Memory) -> None:
    first, second = [archive.name for archive in talk.archives()]
    forgot("--archive", "all", "--before", "2026-01-10T12:05:30+00:00")
    assert [archive.name for archive in talk.archives()] == [second]
    assert first not in texts(talk)
    assert "blue plum" in texts(talk)[second]


def test_an_entry_without_a_readable_date_is_not_old(talk: Memory) -> None:
    damaged = talk.path.read_bytes().replace(b"\xe2\x80\x94 2026-01-", b"\xe2\x80\x94 2026-99-", 1)
    talk.path.write_bytes(damaged)
    forgot("--before", "2030-01-01")
    assert len(texts(talk)["MEMORY.md"]) == 1


def test_only_what_was_shown_goes(talk: Memory) -> None:
    wanted = forgetting.Wanted(selection=Selection(match="plum"))
    plan = forgetting.plan(talk, wanted, [])
    late = talk.append("User", "another plum")
    fold(talk, "Folded meanwhile.")
    forgetting.carry_out(talk, plan)
    left = [text for all_of in texts(talk).values() for text in all_of if "plum" in text]
    assert left == [late.text]


def test_what_a_compaction_moves_while_it_is_looked_for_is_found(
    talk: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = talk.append("User", "a late plum")
    walk = talk.walk
    moved: list[str] = []

    def walking(file: str = "MEMORY.md") -> Iterator[Entry]:
        if file == "MEMORY.md" and not moved:
            moved.append(fold(talk, "They spoke of a late plum."))
        return walk(file)

    monkeypatch.setattr(talk, "walk", walking)
    plan = forgetting.plan(talk, forgetting.Wanted(selection=Selection(match="a late plum")), [])
    forgetting.carry_out(talk, plan)
    assert moved
    assert entry.stamp not in {each.stamp for every in documents(talk).values() for each in every.entries}


def test_what_was_forgotten_meanwhile_is_not_put_back(talk: Memory) -> None:
    entry = talk.append("User", "a late plum")
    talk.forget(lambda _file, each: each.stamp == entry.stamp)
    talk.put_back([entry])
    assert entry.stamp not in {each.stamp for each in talk.walk()}


# Summaries


def test_a_script_must_say_what_becomes_of_summaries(talk: Memory) -> None:
    before = contents(talk.folder)
    ran = run("forget", "Ada", "--match", "red apple", "--yes")
    assert ran.code == 2
    assert "2 summaries were made from this" in ran.err
    assert "--summaries redo|drop|keep" in ran.err
    assert contents(talk.folder) == before


def test_what_was_kept_word_for_word_was_not_summarised_by_it(talk: Memory) -> None:
    ran = run("forget", "Ada", "--match", "blue plum", "--yes")
    assert ran.code == 0, ran.err
    ran = run("forget", "Ada", "--match", "green pear", "--dry-run", "--json")
    assert len(json.loads(ran.out)["summaries"]["ids"]) == 1


def test_summaries_are_dropped_with_what_they_were_made_from(talk: Memory) -> None:
    ran = run("forget", "Ada", "--match", "red apple", "--yes", "--summaries", "drop")
    assert ran.code == 0, ran.err
    assert texts(talk) == {
        talk.archives()[0].name: ["a red answer", "green pear", "a green answer"],
        talk.archives()[1].name: ["green pear", "a green answer", "blue plum"],
        "MEMORY.md": ["blue plum", "a blue answer"],
    }


def test_summaries_are_made_anew_from_what_stays(talk: Memory, provider: Provider) -> None:
    before = documents(talk)
    provider.answers += ["An answer was red.", "Red answers, green pears."]
    ran = run(
        "forget", "Ada", "--match", "red apple", "--yes", "--summaries", "redo", AGENTMEM_MODEL="gpt-4o"
    )
    assert ran.code == 0, ran.err
    assert "red apple" not in "".join(asked.text for asked in provider.asked)
    assert "a red answer" in provider.asked[0].text
    assert "An answer was red." in provider.asked[-1].text
    assert traces(talk.folder, "red apple") == []
    after = documents(talk)
    for name, old in before.items():
        kept = [entry for entry in old.entries if entry.text != "red apple"]
        assert [(entry.stamp, entry.note) for entry in after[name].entries] == [
            (entry.stamp, entry.note) for entry in kept
        ]
        for entry, other in zip(kept, after[name].entries, strict=True):
            assert entry.is_summary or entry.raw == other.raw
    new = after["MEMORY.md"].entries[0]
    assert new.is_summary
    assert "Red answers" in new.text
    assert "They spoke" not in new.text


def test_a_summary_made_anew_is_redacted(talk: Memory, provider: Provider) -> None:
    secret = f"ghp_{'a1B2' * 9}"
    talk.append("User", "a late plum")
    talk.append("User", f"a story of {secret}, told at length, " * 20)  # by hand, or without redaction
    fold(talk, "They told stories.")
    provider.answers.append(f"A story of {secret}.")
    ran = run(
        "forget", "Ada", "--match", "a late plum", "--yes", "--summaries", "redo", AGENTMEM_MODEL="gpt-4o"
    )
    assert ran.code == 0, ran.err
    summary = talk.read().entries[0]
    assert summary.is_summary
    assert secret not in summary.text
    assert "A story of [redacted: " in summary.text


def test_a_summary_that_cannot_be_made_removes_nothing(talk: Memory, provider: Provider) -> None:
    before = contents(talk.folder)
    provider.answers.append(Refusal(401, "bad key"))
    ran = run(
        "forget", "Ada", "--match", "red apple", "--yes", "--summaries", "redo", AGENTMEM_MODEL="gpt-4o"
    )
    assert ran.code == 77
    assert "nothing was removed" in ran.err
    assert contents(talk.folder) == before


def test_a_summary_of_which_nothing_is_left_goes(talk: Memory, provider: Provider) -> None:
    provider.answers += ["Only green."]
    ran = run(
        "forget",
        "Ada",
        "--regex",
        "red (apple|answer)",
        "--yes",
        "--summaries",
        "redo",
        AGENTMEM_MODEL="gpt-4o",
    )
    assert ran.code == 0, ran.err
    assert [text for all_of in texts(talk).values() for text in all_of if "They spoke" in text] == []
    assert [entry.text for entry in talk.read().entries if entry.is_summary] == [
        "[Compressed Memory Summary]\n\nOnly green."
    ]


def test_a_summary_by_others_may_be_made_from_anything(talk: Memory) -> None:
    document = talk.read()
    content = document.raw.replace(f" <!-- {document.entries[0].note} -->".encode(), b"")
    talk.path.write_bytes(content)
    shape = json.loads(run("forget", "Ada", "--match", "red apple", "--dry-run", "--json").out)
    assert len(shape["summaries"]["ids"]) == 2


# Asking


def on_terminal(*words: str) -> Terminal:
    return Terminal([*COMMAND, *words], columns=150, environment=environment())


def test_a_person_is_shown_what_goes_and_asked(talk: Memory) -> None:
    before = contents(talk.folder)
    with on_terminal("forget", "Ada", "--match", "red apple") as terminal:
        terminal.wait_for("forget these for good? [y/N]")
        assert "red apple" in str(terminal)
        terminal.send("\r")
        assert terminal.wait_end() == 0
        assert "nothing was removed" in str(terminal)
    assert contents(talk.folder) == before


def test_a_person_is_asked_about_summaries(talk: Memory) -> None:
    with on_terminal("forget", "Ada", "--match", "red apple") as terminal:
        terminal.wait_for("forget these for good? [y/N]")
        terminal.send("y\r")
        terminal.wait_for("[r]edo by the model, [d]rop or [k]eep?")
        terminal.send("d\r")
        assert terminal.wait_end() == 0
        assert "2 summaries made from it: removed" in str(terminal)
    assert traces(talk.folder, "red apple") == []
    assert not any("They spoke" in text for all_of in texts(talk).values() for text in all_of)


def test_no_answer_about_summaries_removes_nothing(talk: Memory) -> None:
    before = contents(talk.folder)
    with on_terminal("forget", "Ada", "--match", "red apple") as terminal:
        terminal.wait_for("forget these for good? [y/N]")
        terminal.send("y\r")
        terminal.wait_for("[k]eep?")
        terminal.send("\r")
        assert terminal.wait_end() == 2
    assert contents(talk.folder) == before


# A conversation under way


@pytest.mark.parametrize("loops", [1, "auto"])
def test_a_running_conversation_drops_it_at_the_next_turn(
    provider: Provider, workspace: Path, loops: int
) -> None:
    provider.answers += [f"Noted: {CANARY}.", "hi", "hi again"]
    with Agent("Ada", "gpt-4o", workspace_dir=workspace, max_loops=loops) as agent:
        agent.run(f"The code word is {CANARY}. " + "Many words. " * 200)
        agent.run("hello")
        assert CANARY in provider.asked[-1].text
        full = agent.meter.tokens
        assert run("forget", "Ada", "--match", CANARY, "--yes").code == 0
        agent.run("and now?")
        assert CANARY not in provider.asked[-1].text
        assert "hello" in provider.asked[-1].text
        assert agent.meter.tokens < full - 300
    assert traces(workspace, CANARY) == []


def test_a_running_session_drops_it_at_the_next_turn(provider: Provider, workspace: Path) -> None:
    agree(workspace)
    provider.answers += ["Noted.", "Which word?"]
    with on_terminal("chat", "Ada", "-m", "gpt-4o") as terminal:
        terminal.wait_prompt()
        terminal.send(f"The code word is {CANARY}.\r")
        terminal.wait_said("Noted.")
        terminal.wait_prompt()
        ran = run("forget", "Ada", "--match", CANARY, "--yes")
        assert ran.code == 0, ran.err
        terminal.send("What was the code word?\r")
        terminal.wait_said("Which word?")
        terminal.wait_prompt()
        terminal.send("\x04")
        assert terminal.wait_end() == 0
    assert CANARY not in provider.asked[-1].text
    assert "What was the code word?" in provider.asked[-1].text
    assert traces(workspace, CANARY) == []


def test_what_is_forgotten_while_the_reply_comes_is_not_in_the_input_history(
    provider: Provider, workspace: Path
) -> None:
    agree(workspace)
    gate = Gate(1)
    provider.answers.append(Answer("one two three", gate=gate))
    with on_terminal("chat", "Ada", "-m", "gpt-4o") as terminal:
        terminal.wait_prompt()
        terminal.send(f"The code word is {CANARY}.\r")
        gate.wait_until_reached()
        assert run("forget", "Ada", "--match", CANARY, "--yes").code == 0
        gate.open()
        terminal.wait_said("three")
        terminal.wait_prompt()
        terminal.send("\x04")
        assert terminal.wait_end() == 0
    assert traces(workspace, CANARY) == []


def test_forgetting_the_agent_of_a_running_conversation_empties_it(
    provider: Provider, workspace: Path
) -> None:
    provider.answers += [f"Noted: {CANARY}.", "hi"]
    with Agent("Ada", "gpt-4o", workspace_dir=workspace) as agent:
        agent.run(f"The code word is {CANARY}.")
        assert run("forget", "Ada", "--all", "--yes").code == 0
        agent.run("hello")
        assert CANARY not in provider.asked[-1].text
    assert traces(workspace, CANARY) == []


@pytest.mark.parametrize(
    ("answer", "left"), [("d", []), ("k", ["They spoke of red.", "They spoke of red and green."])]
)
def test_a_session_asks_about_summaries_too(
    provider: Provider, workspace: Path, talk: Memory, answer: str, left: list[str]
) -> None:
    agree(workspace)
    input_history.keep(talk.folder, "red apple")
    input_history.keep(talk.folder, "/search red apple")
    with on_terminal("chat", "Ada", "-m", "gpt-4o") as terminal:
        terminal.wait_prompt()
        terminal.send("/forget red apple\r")
        terminal.wait_for("forget these for good?")
        terminal.send("y\n")
        terminal.wait_for("[d]rop or [k]eep them?")
        terminal.send(f"{answer}\n")
        terminal.wait_for("forgot 1 entry")
        terminal.wait_prompt()
        terminal.send("\x1b[A")
        terminal.send("\x04")
        terminal.send("\x03\x04")
        assert terminal.wait_end() == 0
    assert traces(talk.folder, "red apple") == []
    said = dict.fromkeys(text for all_of in texts(talk).values() for text in all_of if "They spoke" in text)
    assert [text.rpartition("\n")[2] for text in said] == left
    assert not provider.asked
