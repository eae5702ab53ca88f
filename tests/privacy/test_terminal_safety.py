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
        ["forget", "Ada", "--match", "canary", "--dry-run"],
        *(["export", "Ada", "-f", each] for each in ("markdown", "text", "html")),
    ],
    ids=" ".join,
)
def test_stored_text_is_shown_not_obeyed(memory: Memory, words: list[str]) -> None:
    if words[0] == "archives":
        run("compact", "Ada", "--summary", "x", "--keep-tokens", "0", OPENAI_API_KEY="x")
    shown(on_terminal(*words), cut=words[0] == "forget")
    assert memory.exists()


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
