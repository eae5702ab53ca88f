"""Figures as people read them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_THOUSAND = 1000
_LEAST_DOLLARS = 0.0001
_NAMED = 3
BYTES_PER_TOKEN = 4
"""Of ordinary text, roughly."""


def tokens(count: int) -> str:
    """Return a number of tokens: `812`, `12.4k`, `1.2M`."""
    if count < _THOUSAND:
        return str(count)
    thousands = round(count / _THOUSAND, 1)
    return f"{thousands:.1f}k" if thousands < _THOUSAND else f"{thousands / _THOUSAND:.1f}M"


def tokens_in(size: int) -> int:
    """Return the tokens of so many bytes of ordinary text, roughly: counting takes a vocabulary."""
    return size // BYTES_PER_TOKEN


def gain(before: int, after: int | None) -> str:
    """Return what a compaction made of so many bytes: `~12.4k → 2.1k tokens`, or "" when it is unknown."""
    return "" if after is None else f"~{tokens(tokens_in(before))} → {tokens(tokens_in(after))} tokens"


def size(count: int) -> str:
    """Return a size in bytes: `812 B`, `1.4 MB`."""
    if count < _THOUSAND:
        return f"{count} B"
    amount = count / _THOUSAND
    for unit in ("kB", "MB"):
        if round(amount, 1) < _THOUSAND:
            return f"{amount:.1f} {unit}"
        amount /= _THOUSAND
    return f"{amount:.1f} GB"


def money(dollars: float) -> str:
    """Return an amount in US dollars: `$1.20`, `$0.0213`, `<$0.0001`."""
    if 0 < dollars < _LEAST_DOLLARS:
        return f"<${_LEAST_DOLLARS}"
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def counted(count: int, one: str, more: str = "") -> str:
    """Return a number with its noun: `1 entry`, `2,000 entries`.

    Args:
        count: how many.
        one: the noun for one.
        more: the noun for any other number; by default the regular plural.
    """
    regular = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{count:,} {one if count == 1 else more or regular}"


def some(names: Sequence[str]) -> str:
    """Return the first names of many: `a, b, c`, `a, b, c and 39 more`."""
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
