"""The Typer application and its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from agentmem import __version__
from agentmem.cli.loading import LazyGroup

app = typer.Typer(
    name="agentmem",
    cls=LazyGroup,
    no_args_is_help=True,
    # Plain help: rich would double the time that --help takes.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agentmem {__version__}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Talk to LLM agents that remember, in files you own."""
