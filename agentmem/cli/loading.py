"""The commands by name; the module of each is loaded when that command is wanted."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperGroup

from agentmem.cli.values import OwnContext, PlainCommand, lightened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter
    from typer._click.shell_completion import CompletionItem
    from typer.core import TyperCommand

COMMANDS = {
    "chat": "Talk to AGENT, in one turn or a conversation.",
    "show": "Show the memory of AGENT, or list the agents.",
    "compact": "Summarise the memory of AGENT now.",
    "archives": "List the archives of AGENT, or print one.",
    "forget": "Remove entries from the memory of AGENT for good.",
    "search": "Find entries in the memory and the archives of AGENT.",
    "export": "Write the memory of AGENT in another format.",
    "doctor": "Check the files of AGENT, or of all agents.",
    "import": "Take conversations from a file into the memory of AGENT.",
}
"""What `--help` says of each command. Its module here and its function have its name."""


class LazyGroup(TyperGroup):
    """All commands; their help and their names need none of their modules."""

    context_class = OwnContext

    def __init__(self, **rest: Any) -> None:
        super().__init__(**{**rest, "commands": Loaded()})

    def get_params(self, ctx: Context) -> list[Any]:
        """Return the options that stand before the command's name."""
        return lightened(super().get_params(ctx))

    def list_commands(self, _ctx: Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def format_commands(self, _ctx: Context, formatter: HelpFormatter) -> None:
        """Write the part of the help that lists the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin as typed."""
        from typer._click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        options = super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name]) for name in names), *options]


class Loaded(Mapping[str, "TyperCommand"]):
    """The commands by name, loaded as they are looked up."""

    def __init__(self) -> None:
        self._commands: dict[str, TyperCommand] = {}

    def __getitem__(self, name: str) -> TyperCommand:
        if name not in self._commands:
            self._commands[name] = _load(name, COMMANDS[name])
        return self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load(name: str, line: str) -> TyperCommand:
    own = f"{name}_" if name == "import" else name  # a keyword can be no module's name
    function = getattr(importlib.import_module(f"agentmem.cli.{own}"), own)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=PlainCommand, short_help=line)(function)
    return cast("TyperCommand", typer.main.get_command(alone))
