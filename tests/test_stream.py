from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem.repl.flow import Flow
from agentmem.repl.markdown import Canvas
from agentmem.repl.region import Line, plain
from agentmem.repl.stream import LiveReply
from tests.requires import needs
from tests.terminal import Terminal

SAMPLE = Path(__file__).parent / "samples" / "reply.md"
SIZES = [(80, 24), (40, 10), (20, 6)]
FAST = "100000"


def streamed(path: Path, rate: str, columns: int, rows: int) -> Terminal:
    return Terminal([sys.executable, "-m", "tests.streaming", str(path), rate], columns=columns, rows=rows)


def whole(text: str, width: int) -> list[str]:
    flow = Flow(Canvas(), width)
    flow.feed(text)
    return [plain(row) for row in flow.take() + flow.close()]


@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("rate", ["400", FAST])
def test_the_transcript_is_the_reply_and_nothing_else(rate: str, columns: int, rows: int) -> None:
    with streamed(SAMPLE, rate, columns, rows) as terminal:
        assert terminal.wait_end() == 0
        shown = terminal.transcript()
    expected = whole(SAMPLE.read_text(encoding="utf-8"), columns)
    assert shown[: len(expected)] == expected
    assert " ".join(shown[len(expected) :]).startswith("bytes")


@pytest.fixture
def long_reply(tmp_path: Path) -> Path:
    """A reply of 300 numbered rows, paragraphs, list and code, with a pause in its midst."""
    parts = ["\n\n".join(f"row {n}." for n in range(100)), "\n\n"]
    parts += [f"- row {n}.\n" for n in range(100, 150)]
    parts += ["\nPAUSE\n", "```\n", *(f"row {n}.\n" for n in range(150, 250)), "```\n\n"]
    parts += [" ".join(f"row\N{NO-BREAK SPACE}{n}." for n in range(250, 300)), "\n"]
    path = tmp_path / "long.md"
    path.write_text("".join(parts), encoding="utf-8")
    return path


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"row\s(\d+)\.", text)]


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_reply_longer_than_the_screen_is_in_the_scrollback_once(
    long_reply: Path, columns: int, rows: int
) -> None:
    with streamed(long_reply, "3000", columns, rows) as terminal:
        terminal.wait_for("paused")
        terminal.send("\n")
        assert terminal.wait_end() == 0
        assert numbers(str(terminal)) == list(range(300))


@pytest.mark.parametrize("sizes", [[(40, 10), (80, 24)], [(100, 30), (20, 8), (60, 12)]])
def test_a_resize_while_streaming_doubles_and_loses_nothing(
    long_reply: Path, sizes: list[tuple[int, int]]
) -> None:
    with streamed(long_reply, "1500", 80, 24) as terminal:
        for number, size in enumerate(sizes):
            terminal.wait_said(f"row {30 * (number + 1)}.")
            terminal.resize(*size)
        terminal.wait_for("paused")
        terminal.resize(*sizes[0])
        terminal.send("\n")
        terminal.wait_said("row 170.")
        terminal.resize(110, 11)  # wider: what was drawn already would be cut, for xterm does not reflow
        assert terminal.wait_end() == 0
        assert numbers(str(terminal)) == list(range(300))


def test_a_reply_of_5000_tokens_keeps_bytes_and_processor_time_within_the_bars(tmp_path: Path) -> None:
    path = tmp_path / "reply.md"
    sample = SAMPLE.read_text(encoding="utf-8")
    path.write_text((sample * (20_000 // len(sample) + 1))[:20_000], encoding="utf-8")
    with streamed(path, "200", 80, 24) as terminal:
        assert terminal.wait_end(limit=120) == 0
        found = re.search(r"bytes (\S+) cpu (\S+)", str(terminal))
    assert found
    assert float(found[1]) <= 3
    assert float(found[2]) <= 1


def test_a_reply_that_breaks_the_renderer_is_shown_as_it_is(tmp_path: Path) -> None:
    class Broken(Canvas):
        def markdown(self, source: str, width: int, *, number: int | None = None) -> list[Line]:
            raise RuntimeError(source, width, number)

    path = tmp_path / "screen"
    with path.open("w", encoding="utf-8") as out:
        reply = LiveReply(out, Broken, lambda _width, _frame: (("", "bar"),), lambda: (80, 24))
        reply.text("the *whole* reply\n\nof two\x1b[31m paragraphs")
        reply.close()
    assert "the *whole* reply\n\nof two\\x1b[31m paragraphs\n" in path.read_text(encoding="utf-8")


def test_tmux_that_reflows_its_rows_agrees(long_reply: Path, tmp_path: Path) -> None:
    needs("tmux")
    socket = str(tmp_path / "tmux")

    def tmux(*arguments: str) -> str:
        command = ["tmux", "-S", socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    program = f"{sys.executable} -m tests.streaming {long_reply} 3000; tmux wait-for -S ended; read x"
    tmux("new-session", "-d", "-x", "80", "-y", "10", "-s", "s", "sh")
    try:
        tmux("set-option", "-g", "history-limit", "9999")
        tmux("send-keys", "-t", "s", program, "Enter")
        for width, height in [(40, 12), (100, 10), (30, 8), (80, 10)]:
            tmux("resize-window", "-t", "s", "-x", str(width), "-y", str(height))
        tmux("send-keys", "-t", "s", "Enter")
        for width, height in [(50, 14), (80, 10)]:
            tmux("resize-window", "-t", "s", "-x", str(width), "-y", str(height))
        tmux("wait-for", "ended")
        assert numbers(tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "s")) == list(range(300))
    finally:
        tmux("kill-server")
