"""Which turns a compaction summarises and which stay word for word. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.roles import is_user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem.turns import Turn


def split(
    turns: Sequence[Turn], keep_tokens: int, count: Callable[[Turn], int], pending: Turn | None = None
) -> tuple[list[Turn], list[Turn]]:
    """Return the turns to summarise and the turns to keep, both in order.

    The pending message always stays. Of the rest the newest whole exchanges stay: they begin with a
    user's message, or, while a task with tools is under way, with one of its steps. A tool call is never
    parted from its results.

    Args:
        turns: the whole record, oldest first.
        keep_tokens: tokens the kept exchanges may take; the pending message is not counted.
        count: tokens of a turn.
        pending: the user's message that is being worked on.
    """
    # By id, not by identity: after a reload the same message is another object.
    at = len(turns)
    if pending is not None:
        at = next((i for i, turn in enumerate(turns) if turn.timestamp == pending.timestamp), at)
    best = len(turns)
    tokens = 0
    for start in range(len(turns) - 1, -1, -1):
        turn = turns[start]
        tokens += count(turn) if start != at else 0
        if tokens > keep_tokens:
            break
        if is_user(turn.role) or (start > at and not turn.is_result):
            best = start
    head = [turn for index, turn in enumerate(turns[:best]) if index != at]
    return head, [*turns[at : at + 1], *turns[best:]] if at < best else list(turns[best:])
