"""Nothing that was stored or streamed steers the terminal, in any command."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.loopback import Answer
from tests.program import COMMAND, agree, environment, run
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

TRICKS = {
    "OSC 52": "\x1b]52;c;ZXZpbA==\x07",
    "title": "\x1b]0;owned\x07",
    "cursor": "\x1b[2J\x1b[1;1H",
    "colour": "\x1b[31mred",
    "C1": "\x9b31m\x9d0;x\x9c",
    "bidi": "\u202egpj.exe\u2066",
    "tags": "\U000e0041\U000e0042",
    "zero width": "pay\u200bpal",
    "backspace": "a\x08b",
    "return": "safe\rrm -rf",
}
NEVER = [
    b"\x1b]",
    b"\x1b[31m",
    b"\x1b[2J",
    *(char.encode() for char in "\x9b\x9d\u202e\u2066\U000e0041\u200b"),
    b"\x08",
    b"\x07",
    b"safe\rrm",
]
EVIL = " ".join(TRICKS.values())


def shown(raw: bytes, *, cut: bool = False) -> None:
    """Check that what a terminal was sent has none of it raw, and all of it written out."""
    assert [trick for trick in NEVER if trick in raw] == []
    assert rb"\x1b]52" in raw
    for written in () if cut else (rb"\x9b31m", rb"\u202e", rb"\U000e0041", rb"\u200b"):
        assert written in raw


def on_terminal(*words: str) -> bytes:
    with Terminal([*COMMAND, *words], columns=300, environment=environment(NO_COLOR="1")) as terminal:
        assert terminal.wait_end() == 0, str(terminal)
        return bytes(terminal.raw)


@pytest.fixture
def memory(workspace: Path) -> Memory:
    agree(workspace)
    kept = Memory(workspace / "agents" / "Ada")
    kept.append("User", f"canary {EVIL}")
    return kept


@pytest.mark.parametrize(
    "words",
    [
        ["show", "Ada"],
        ["show", "Ada", "--last", "1"],
        ["archives", "Ada", "latest"],
        ["search", "Ada", "canary"],
        ["search", "--all", "canary"],
        ["show", "Ada", "--tokens"],
        ["archives", "Ada"],
        ["archives", "Ada", "--verify"],
        ["forget", "Ada", "--match", "canary", "--dry-run"],
        *(["export", "Ada", "-f", each] for each in ("markdown", "text", "html")),
    ],
    ids=" ".join,
)
def test_stored_text_is_shown_not_obeyed(memory: Memory, words: list[str]) -> None:
    if words[0] == "archives":
        memory.append("User", f"canary {EVIL}")
        run("compact", "Ada", "--summary", "x", "--keep-tokens", "0", OPENAI_API_KEY="x")
    raw = on_terminal(*words)
    if words in (["show", "Ada", "--tokens"], ["archives", "Ada"], ["archives", "Ada", "--verify"]):
        assert [trick for trick in NEVER if trick in raw] == []
    else:
        shown(raw, cut=words[0] in {"forget", "search"})


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("option", ["--plain", "--no-stream"])
def test_a_streamed_reply_is_shown_not_obeyed(
    provider: Provider, workspace: Path, size: int, option: str
) -> None:
    agree(workspace)
    pieces = tuple(EVIL[at : at + size] for at in range(0, len(EVIL), size))
    provider.answers.append(Answer(EVIL, pieces=pieces))
    shown(on_terminal("chat", "Ada", "hello", "-m", "gpt-4o", "-q", option))


def test_a_piped_reply_is_what_the_model_said(provider: Provider, workspace: Path) -> None:
    provider.answers.append(Answer(EVIL, pieces=tuple(EVIL)))
    ended = subprocess.run(
        [*COMMAND, "chat", "Ada", "hello", "-m", "gpt-4o", "-q"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        check=True,
        timeout=60,
    )
    assert ended.stdout.decode() == f"{EVIL}\n"


def test_the_preview_of_a_summary_is_shown_not_obeyed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    shown(on_terminal("compact", "Ada", "--summary", EVIL, "--keep-tokens", "0", "--dry-run"))
    assert memory.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["show", f"A{EVIL}"],
        ["show", "Ada", f"--{EVIL}"],
        ["show", "Ada", EVIL],
        ["show", "Ada", "--last", EVIL],
        ["show", "Ada", "--grep", f"({EVIL}"],
        ["show", "Ada", "--since", EVIL],
        ["archives", "Ada", EVIL],
        ["forget", "Ada", "--match", f"no {EVIL}", "--yes"],
        ["forget", "Ada", "--entry", EVIL],
        ["export", "Ada", "-f", EVIL],
        [EVIL],
    ],
    ids=range(11),
)
def test_errors_do_not_repeat_it_raw(memory: Memory, words: list[str]) -> None:
    with Terminal([*COMMAND, *words], columns=300, environment=environment()) as terminal:
        assert terminal.wait_end() != 0
        assert [trick for trick in NEVER if trick in terminal.raw] == []
    assert memory.exists()


def test_names_in_the_workspace_are_shown_not_obeyed(memory: Memory, workspace: Path) -> None:
    (workspace / "agents" / f"Ada{TRICKS['OSC 52']}{TRICKS['bidi']}").mkdir()
    (workspace / "agents" / "ADA\u200b").mkdir()
    (memory.folder / "archive").mkdir(mode=0o700)
    (memory.folder / "archive" / f"history_{TRICKS['title']}.md").write_text("x")
    for words in (["show"], ["archives", "Ada"], ["show", "Ad"], ["archives", "Ada", "history"]):
        with Terminal([*COMMAND, *words], columns=300, environment=environment()) as terminal:
            terminal.wait_end()
            assert [trick for trick in NEVER if trick in terminal.raw] == []


def test_a_forged_role_and_note_are_shown_not_obeyed(memory: Memory) -> None:
    heading = f"### Ad{TRICKS['C1']}a — 2026-01-01T00:00:00.000000+00:00 <!-- note {TRICKS['OSC 52']} -->\n\n"
    with memory.path.open("a", encoding="utf-8") as file:
        file.write(f"{heading}forged canary\n\n---\n\n")
    for words in (
        ["show", "Ada"],
        ["search", "Ada", "forged"],
        ["forget", "Ada", "--last", "1", "--dry-run"],
    ):
        raw = on_terminal(*words)
        assert b"forged" in raw
        assert [trick for trick in NEVER if trick in raw] == []


def test_what_doctor_finds_is_shown_not_obeyed(memory: Memory) -> None:
    (memory.folder / f"copy {TRICKS['OSC 52']} {TRICKS['bidi']}.md").write_text("x")
    with Terminal([*COMMAND, "doctor"], columns=300, environment=environment()) as terminal:
        terminal.wait_end()
        assert b"copy" in terminal.raw
        assert [trick for trick in NEVER if trick in terminal.raw] == []


def test_a_session_shows_and_does_not_obey(provider: Provider, memory: Memory) -> None:
    provider.answers.append(Answer(f"streamed {EVIL}", pieces=("streamed ", *EVIL)))
    command = [*COMMAND, "chat", "Ada", "-m", "gpt-4o"]
    with Terminal(command, columns=200, rows=50, environment=environment()) as terminal:
        terminal.wait_prompt()
        for line in ("hello", "/show", "/search canary", "/archives"):
            terminal.send(f"{line}\r")
            terminal.wait_said("streamed")
            terminal.wait_prompt()
        terminal.send("\x04")
        assert terminal.wait_end() == 0
        raw = bytes(terminal.raw)
    # The session itself colours, moves the cursor and sends backspaces; these are never its own.
    own = {b"\x1b[31m", b"\x1b[2J", b"\x08", b"\x07", b"\x1b]"}
    assert [trick for trick in NEVER if trick in raw and trick not in own] == []
    assert [trick for trick in (b"\x1b]52", b"\x1b]0;owned", b"\x1b[31mred") if trick in raw] == []
    assert raw.count(rb"\x1b]52") >= 2
    assert memory.exists()
