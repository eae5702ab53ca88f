from __future__ import annotations

import sys

from tests.terminal import Terminal

PYTHON = [sys.executable, "-c"]


def test_screen_shows_what_was_drawn_and_the_scrollback_what_left_it() -> None:
    with Terminal(["sh", "-c", "seq 1 30; read x"], rows=10) as terminal:
        terminal.wait_for("30")
        assert terminal.lines()[:9] == [str(n) for n in range(22, 31)]
        assert terminal.transcript() == [str(n) for n in range(1, 31)]


def test_terminal_answers_where_the_cursor_is() -> None:
    ask = (
        "import sys,termios,tty; old=termios.tcgetattr(0); tty.setraw(0); print('\\x1b[3;5H\\x1b[6n', end='',"
        "flush=True); got=sys.stdin.buffer.raw.read(16); termios.tcsetattr(0,1,old); print(got)"
    )
    with Terminal([*PYTHON, ask]) as terminal:
        assert terminal.wait_end() == 0
        assert "b'\\x1b[3;5R'" in str(terminal)


def test_resize_reaches_the_program_and_keeps_every_row() -> None:
    wait = (
        "import os,signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH]);"
        "print(*range(1, 10), sep='\\n', flush=True); signal.sigwait([signal.SIGWINCH]);"
        "print(*os.get_terminal_size())"
    )
    with Terminal([*PYTHON, wait], rows=12) as terminal:
        terminal.wait_for("9")
        terminal.resize(30, 5)
        assert terminal.wait_end() == 0
        assert terminal.transcript() == [*map(str, range(1, 10)), "30 5"]


def test_wide_characters_take_two_cells() -> None:
    with Terminal(["printf", "漢字é|"]) as terminal:
        terminal.wait_end()
        assert terminal.lines()[0] == "漢字é|"
        assert terminal.screen.cursor.x == 6
