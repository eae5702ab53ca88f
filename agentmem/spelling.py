"""What was probably meant by a word that is none of those known. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(typed: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known word that is most like the one typed, whatever the case, or "".

    Args:
        typed: what was typed.
        known: the words it may be.
        likeness: how much of both must be alike, 0 to 1.
    """
    import difflib  # only a mistake needs it

    words = {word.casefold(): word for word in known}
    near = difflib.get_close_matches(typed.casefold(), words, n=1, cutoff=likeness)
    return words[near[0]] if near else ""


def hint(typed: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'this'?`, or "" when nothing known is like it."""
    near = nearest(str(typed), known)
    return f"; did you mean {near!r}?" if near else ""
