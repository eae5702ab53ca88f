"""Whether compaction is worth its price: a breaker for passes that gain nothing, and a look at how often it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.entries import parse
from agentmem.errors import AgentMemError
from agentmem.roles import is_user

if TYPE_CHECKING:
    from agentmem.memory import Memory

_GAIN = 0.10
_GROWTH = 0.05  # of the window
_PASSES = 2
_TURNS, _COMPACTIONS = 10, 3


class Breaker:
    """Opens after two passes in a row that gained less than a tenth, until usage has grown by 5 % of the window."""

    def __init__(self) -> None:
        self._poor = 0
        self._usage = 0

    def passed(self, before: int, after: int) -> None:
        """Note what a pass gained; one that failed gained nothing.

        Args:
            before: tokens of the request before.
            after: tokens after.
        """
        self._poor = self._poor + 1 if before - after < _GAIN * before else 0
        self._usage = after

    def holds(self, usage: int, context_length: int) -> bool:
        """Whether another pass should be left alone.

        Args:
            usage: tokens of the request now.
            context_length: of the model, in tokens.
        """
        return self._poor >= _PASSES and usage < self._usage + _GROWTH * context_length


def too_often(memory: Memory) -> bool:
    """Whether three compactions came within ten messages of the user; read from the files, whoever compacted."""
    try:
        names = [archive.name for archive in memory.archives()][1 - _COMPACTIONS :]
        if len(names) < _COMPACTIONS - 1:
            return False
        archives = [parse(memory.read_archive(name)[1]).entries for name in names]
    except AgentMemError:
        return False
    made = next((entry.when for entry in archives[0] if entry.is_summary), None)
    if made is None:
        return False
    told = {
        entry.stamp
        for entries in [*archives, memory.read().entries]
        for entry in entries
        if is_user(entry.role) and entry.when > made
    }
    return len(told) <= _TURNS
