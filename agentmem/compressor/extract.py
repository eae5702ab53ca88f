"""A summary made without a model: what is left when none helps and the next request would not fit. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.compressor.facts import clipped
from agentmem.compressor.ledger import previous_summary, prose_of
from agentmem.roles import is_user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem.turns import Turn

LABEL = "(Made without a model: what stood in the summary before, and the last lines of what was archived.)"
_LINE = 240  # characters of a line


def extract(turns: Sequence[Turn], budget: int, count: Callable[[str], int]) -> str:
    """Return the summary before and the newest lines of a record, labelled, within a budget of tokens."""
    budget -= count(LABEL)
    before = _first_lines(prose_of(previous_summary(turns)), budget // 2, count)
    budget -= count(before) if before else 0
    said = [turn for turn in turns if not turn.is_summary]
    chosen: dict[int, str] = {}
    # What the user asked comes before what was answered; the newest of each first.
    for user in (True, False):
        for number in range(len(said) - 1, -1, -1):
            turn = said[number]
            if is_user(turn.role) is not user:
                continue
            line = f"{turn.role}: {clipped(' '.join(turn.content[: 4 * _LINE].split()), 0, _LINE)}"
            cost = count(line) + 1
            if cost > (budget // 2 if user else budget):
                break
            budget -= cost
            chosen[number] = line
    lines = [chosen[number] for number in sorted(chosen)]
    return "\n".join([LABEL, *([before] if before else []), *lines])


def _first_lines(text: str, budget: int, count: Callable[[str], int]) -> str:
    kept = []
    for line in text.removeprefix(LABEL).strip().splitlines():
        budget -= count(line) + 1
        if budget < 0:
            break
        kept.append(line)
    return "\n".join(kept)
