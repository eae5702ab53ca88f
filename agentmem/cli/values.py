"""What was typed becomes texts, numbers and paths without pydantic, which takes typer as long to load as typer itself.

Anything that is not plain, and every mistake, still goes to typer, so that its rules and messages stand.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Callable

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?", re.ASCII)


class OwnContext(typer.Context):
    """What a command runs in; it sets help our way."""

    def make_formatter(self) -> Any:
        """Return what sets help."""
        from agentmem.cli.helping import Formatter

        return Formatter()


class PlainCommand(TyperCommand):
    """A command whose plain parameters are converted here."""

    context_class = OwnContext

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, that of `--help` included."""
        return lightened(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the words apart; while completing, an option that has no value yet does not hide the others."""
        if ctx.resilient_parsing and args and args[-1].startswith("-"):
            waiting = [each for each in self.get_params(ctx) if args[-1] in each.opts]
            args = args[:-1] if waiting and not waiting[0].is_flag else args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a variable that was meant to set something and does not is said first."""
        from agentmem import settings  # --help needs none of this
        from agentmem.cli import output

        if not ctx.params.get("quiet"):
            for name, near in settings.misspelt().items():
                output.notice(f"{name} is no setting{f'; did you mean {near}?' if near else ''}")
        return super().invoke(ctx)


class _Conversion:
    """Takes the place of typer's own conversion of one parameter."""

    def __init__(self, parameter: Any, own: Callable[[], Any]) -> None:
        described = parameter.type_descriptor
        self._convert = _CONVERSIONS.get(described.annotation, _refuse)
        rules = described.parameter_info
        self._low, self._high = rules.min, rules.max
        if described.annotation is Path and (rules.exists or rules.resolve_path or rules.allow_dash):
            self._convert = _refuse
        self._own = own

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value as the command takes it; errors are typer's."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        with suppress(ValueError, TypeError):
            converted = self._convert(value)
            if (self._low is None or converted >= self._low) and (
                self._high is None or converted <= self._high
            ):
                return converted
        return self._own().coerce(value, param=param, ctx=ctx)


def lightened(parameters: list[Any]) -> list[Any]:
    """Return typer's parameters, the plain ones among them converted here."""
    # typer has no public way to say this. A version that works differently does it its own way, only slower.
    for parameter in parameters:
        own = getattr(parameter, "get_runtime_param", None)
        if own and hasattr(parameter, "type_descriptor") and "get_runtime_param" not in vars(parameter):
            conversion = _Conversion(parameter, own)
            parameter.get_runtime_param = lambda conversion=conversion: conversion
    return parameters


def _refuse(_value: object) -> NoReturn:
    raise ValueError


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        raise TypeError
    return [_text(each) for each in value]


def _whole(value: object) -> int:
    if isinstance(value, int):  # a default
        return value
    text = _text(value)
    return int(text) if _WHOLE.fullmatch(text) else _refuse(value)


def _number(value: object) -> float:
    if isinstance(value, float):
        return value
    text = _text(value)
    return float(text) if _NUMBER.fullmatch(text) else _refuse(value)


def _path(value: object) -> Path:
    path = Path(_text(value))
    return path if os.access(path, os.R_OK) or not os.path.lexists(path) else _refuse(value)


_CONVERSIONS: dict[Any, Callable[[object], Any]] = {
    str: _text,
    list[str]: _texts,
    int: _whole,
    float: _number,
    Path: _path,
}
