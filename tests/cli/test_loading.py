from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agentmem.cli.app import app
from agentmem.cli.loading import COMMANDS, Loaded
from agentmem.cli.values import PlainCommand


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module_and_help_of_its_own(name: str) -> None:
    command = Loaded()[name]
    assert command.name == name
    assert command.help
    assert command.short_help == COMMANDS[name]


def test_the_help_lists_every_command_without_loading_one() -> None:
    out = CliRunner().invoke(app, ["--help"]).output
    for name, line in COMMANDS.items():
        assert f"  {name} " in out
        assert line in out


def test_a_mistyped_command_gets_a_suggestion() -> None:
    ended = CliRunner().invoke(app, ["shwo"])
    assert ended.exit_code == 2
    assert "'show'" in ended.output


Number = Annotated[int | None, typer.Option("--number", min=-5, max=50)]
Share = Annotated[float | None, typer.Option("--share", min=0)]
Where = Annotated[Path | None, typer.Option("--where")]
Words = Annotated[list[str] | None, typer.Argument()]


def twin(command: type[typer.core.TyperCommand]) -> tuple[typer.Typer, list[Any]]:
    """Return a program that takes one of each kind, and the list it puts them into."""
    made, taken = typer.Typer(add_completion=False), []

    @made.command(cls=command)
    def take(
        words: Words = None,
        number: Number = None,
        share: Share = None,
        where: Where = None,
        flag: bool = False,
        limit: int = 10,
        most: float = 1.5,
    ) -> None:
        taken.append((words, number, share, where, flag, limit, most))

    assert inspect.signature(take).parameters
    return made, taken


class SlowCommand(typer.core.TyperCommand):
    """One that leaves all conversion to typer."""

    context_class = PlainCommand.context_class


PLAIN, SLOW = twin(PlainCommand), twin(SlowCommand)
typed = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6) | st.sampled_from(
    [
        "7",
        "-3",
        "+1",
        "51",
        "1.5",
        ".5",
        "1e3",
        "nan",
        "inf",
        "1_0",
        "007",
        " 4",
        "٣",
        "9" * 30,
        "/tmp",
        "true",
    ]
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["--number", "--share", "--where", "--limit", "--most"]), typed).map(
            lambda pair: f"{pair[0]}={pair[1]}"
        )
        | typed.filter(lambda text: not text.startswith("-"))
        | st.just("--flag"),
        max_size=5,
    )
)
def test_values_and_refusals_are_typers_own(words: list[str]) -> None:
    ends = []
    for made, taken in (PLAIN, SLOW):
        taken.clear()
        ended = CliRunner().invoke(made, words)
        ends.append((ended.exit_code, repr(taken), ended.output))
    assert ends[0] == ends[1]
