"""Every key that interrupts, every signal and a resize, in every state: memory and terminal afterwards."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.repl.conftest import SHELL, wait_shell
from tests.repl.states import ROOT, STATES, Asking, Compacting, Empty, Saving, Stage, State, Typing
from tests.terminal import LIMIT, flowing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.loopback import Provider
    from tests.terminal import Terminal

    Chat = Callable[..., Terminal]
    Enter = Callable[..., Stage]


@pytest.fixture(params=STATES, ids=lambda state: state.__name__)
def state(request: pytest.FixtureRequest) -> State:
    """Give a moment of a session."""
    found: State = request.param()
    return found


@pytest.fixture
def entered(
    state: State, chat: Chat, provider: Provider, workspace: Path, tmp_path: Path
) -> Iterator[Callable[..., Stage]]:
    """Start a session and bring it into the state."""
    agent, tools = workspace / "agents" / "Ada", tmp_path / "tools"
    tools.mkdir()
    stages: list[Stage] = []

    def enter(**more: object) -> Stage:
        state.prepare(agent, tools)
        terminal = chat(*state.options, environment={"PYTHONPATH": f"{tools}:{ROOT}"}, **more)
        stages.append(Stage(terminal, provider, agent, tools))
        state.enter(stages[-1])
        return stages[-1]

    yield enter
    for stage in stages:
        stage.cleanup.close()


def check_cut_short(stage: Stage, state: State) -> None:
    """Check that MEMORY.md holds what came, and nothing that never did."""
    for text in state.keeps:
        assert text in stage.memory
    for text in state.lacks:
        assert text not in stage.memory


def check_terminal(terminal: Terminal) -> None:
    """Check that the terminal is as it was before the session."""
    assert terminal.modes() == terminal.first_modes
    assert not terminal.cursor_hidden
    assert not terminal.bracketed_paste


def wait_done(stage: Stage, state: State) -> None:
    """Wait for the natural end of the moment."""
    stage.terminal.wait_said(state.done)
    stage.terminal.wait_prompt()
    assert state.stored in stage.memory


def go_on(stage: Stage) -> None:
    """Check that the session still takes a message and answers it."""
    stage.terminal.wait_prompt()
    stage.provider.answers.append("still here")
    stage.terminal.send("hello?\r")
    stage.terminal.wait_said("still here")
    stage.terminal.wait_prompt()
    stage.terminal.send("\x04")


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_stops_what_goes_on_and_keeps_what_came(entered: Enter, state: State, presses: int) -> None:
    stage = entered()
    stage.terminal.send("\x03" * presses)
    if isinstance(state, Saving):
        state.leave(stage)
    if isinstance(state, Empty):
        stage.terminal.wait_for("Ctrl-D leaves")
    elif isinstance(state, Typing):
        stage.terminal.wait_gone("half a line")
    else:
        stage.terminal.wait_said("cancelled" if isinstance(state, Compacting) else "interrupted")
    check_cut_short(stage, state)
    go_on(stage)
    assert stage.terminal.wait_end() == 0
    check_terminal(stage.terminal)


def test_ctrl_d_leaves_once_the_turn_is_over(entered: Enter, state: State) -> None:
    stage = entered()
    stage.terminal.send("\x04")
    if type(state) is Asking:
        # No answer is a no; the model is told.
        stage.provider.answers.append("then not")
        stage.terminal.wait_said("then not")
        stage.terminal.wait_prompt()
        stage.terminal.send("\x04")
        check_cut_short(stage, state)
    elif isinstance(state, Typing):
        stage.terminal.wait_for(state.shown)
        stage.terminal.send("\x15\x04")
    else:
        state.leave(stage)
    assert stage.terminal.wait_end() == 0
    if type(state) is not Asking:
        assert state.done in flowing(stage.terminal.transcript())
        assert state.stored in stage.memory
    check_terminal(stage.terminal)


def test_ctrl_z_stops_and_fg_goes_on(entered: Enter, state: State) -> None:
    stage = entered(shell=True)
    terminal = stage.terminal
    terminal.send("\x1a")
    wait_shell(terminal, 2)
    assert not terminal.cursor_hidden
    assert not any("Ada" in row and "%" in row for row in terminal.lines())
    terminal.send("fg\r")
    if isinstance(state, Empty | Typing):
        terminal.wait_prompt()
    elif type(state) is not Asking:
        terminal.wait_until(lambda: terminal.cursor_hidden)
    terminal.wait_until(lambda: state.shown in after_fg(terminal))
    state.leave(stage)
    wait_done(stage, state)
    if isinstance(state, Typing):
        terminal.wait_for(state.shown)
        terminal.send("\x15")
    go_on(stage)
    wait_shell(terminal, 3)
    assert not terminal.cursor_hidden


@pytest.mark.parametrize("state", [Asking], indirect=True, ids=[""])
def test_an_answer_typed_before_fg_has_taken_effect_counts(entered: Enter, state: State) -> None:
    stage = entered(shell=True)
    stage.terminal.send("\x1a")
    wait_shell(stage.terminal, 2)
    stage.terminal.send("fg\r")
    state.leave(stage)
    wait_done(stage, state)


def after_fg(terminal: Terminal) -> str:
    """Return what the screen shows below the last thing the shell said."""
    rows = terminal.lines_unlocked()
    last = max((number for number, row in enumerate(rows) if row.startswith(SHELL)), default=-1)
    return flowing(rows[last + 1 :])


@pytest.mark.parametrize("end", ["SIGTERM", "SIGHUP", "closed"])
def test_it_ends_in_order_and_keeps_what_came(entered: Enter, state: State, end: str) -> None:
    stage = entered()
    before = stage.memory
    if end == "closed":
        stage.terminal.hang_up()
    else:
        stage.terminal.signal(signal.Signals[end])
    if isinstance(state, Saving):
        state.leave(stage)
    number = signal.SIGTERM if end == "SIGTERM" else signal.SIGHUP
    assert wait_end(stage.terminal, number) == 128 + number
    check_cut_short(stage, state)
    if isinstance(state, Compacting):
        assert stage.memory == before
    if end != "closed":
        check_terminal(stage.terminal)


def wait_end(terminal: Terminal, number: signal.Signals) -> int:
    """Wait for the end; Python sees a signal that comes just before a call that waits only with the next one."""
    try:
        return terminal.wait_end(LIMIT / 3)
    except AssertionError:
        terminal.signal(number)
        return terminal.wait_end()


def test_it_ends_when_the_terminal_of_its_shell_is_closed(entered: Enter, state: State) -> None:
    stage = entered(shell=True)
    process = stage.process
    # Here the signal comes from the shell, often after a read or a write has failed.
    stage.terminal.hang_up()
    if isinstance(state, Saving):
        state.leave(stage)
    process.wait(LIMIT)
    check_cut_short(stage, state)


def test_a_resize_changes_nothing_else(entered: Enter, state: State, size: tuple[int, int]) -> None:
    stage = entered()
    terminal = stage.terminal
    columns, rows = (40, 10) if size == (80, 24) else (80, 24)
    terminal.resize(columns, rows)
    if type(state) is not Asking:
        terminal.wait_until(lambda: drawn_for(terminal, columns))
    state.leave(stage)
    wait_done(stage, state)
    terminal.wait_until(lambda: drawn_for(terminal, columns))
    if isinstance(state, Typing):
        terminal.wait_for(state.shown)
        terminal.send("\x15")
    go_on(stage)
    assert terminal.wait_end() == 0
    check_terminal(terminal)


def drawn_for(terminal: Terminal, columns: int) -> bool:
    """Whether the last row drawn is the bar for a terminal of that width."""
    last = next((row for row in reversed(terminal.lines_unlocked()) if row), "")
    return "compacting" in last or ("%" in last and ("compacts at" in last) == (columns > 70))
