"""From what a file, a variable or a flag says to a setting's value. Pure.

What cannot be taken is a ValueError that says what is wanted.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

Loops = int | Literal["auto"]

TRUE = ("true", "yes", "on", "1")
FALSE = ("false", "no", "off", "0")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def as_text(value: object) -> str:
    """Take a text."""
    if isinstance(value, str):
        return value
    raise ValueError("a text is wanted")


def as_flag(value: object) -> bool:
    """Take a truth value, or a word for one."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() in TRUE + FALSE:
        return value.strip().casefold() in TRUE
    raise ValueError("true or false is wanted")


def as_number(low: float, high: float = float("inf"), *, above: bool = False) -> Callable[[object], float]:
    """Take a number from `low`, or `above` it, to `high`."""

    def convert(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError("a number is wanted")  # noqa: TRY004 - the caller reports ValueError
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise ValueError("a number is wanted") from None
        if not math.isfinite(number):
            raise ValueError("a number is wanted")
        if not (low < number if above else low <= number) or not number <= high:
            bounds = f"{'above' if above else 'at least'} {low:g}"
            raise ValueError(
                f"a number {bounds}{'' if high == float('inf') else f' and at most {high:g}'} is wanted"
            )
        return number

    return convert


def as_integer(low: int) -> Callable[[object], int]:
    """Take a whole number from `low` on."""

    def convert(value: object) -> int:
        number = as_number(low)(value)
        if number != int(number):
            raise ValueError("a whole number is wanted")
        return int(number)

    return convert


def as_loops(value: object) -> Loops:
    """Take a number of loops, or `auto`."""
    if value == "auto":
        return "auto"
    try:
        return as_integer(1)(value)
    except ValueError:
        raise ValueError("a whole number from 1 on, or auto, is wanted") from None


def as_texts(value: object) -> tuple[str, ...]:
    """Take a list of texts, or one text with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("a list of texts is wanted")


def as_one_of(*words: str) -> Callable[[object], str]:
    """Take one of some words."""

    def convert(value: object) -> str:
        if value in words:
            return str(value)
        raise ValueError(f"one of {', '.join(filter(None, words))} is wanted")

    return convert


def parse_duration(value: object) -> timedelta:
    """Read a span such as `90d`, `12h`, `30m` or `2w`.

    Raises:
        ValueError: it is none.
    """
    found = re.fullmatch(r"(\d{1,6})\s*([mhdw])", value.strip()) if isinstance(value, str) else None
    if not found:
        raise ValueError("a span such as 90d, 12h or 2w is wanted")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def format_duration(span: timedelta) -> str:
    """Return a span of whole minutes as `parse_duration` reads it, in the largest unit that fits: `90d`, `12h`, `90m`."""
    minutes = span // timedelta(minutes=1)
    unit, size = next(
        (unit, size) for unit, size in (("d", 24 * 60), ("h", 60), ("m", 1)) if minutes % size == 0
    )
    return f"{minutes // size}{unit}"
