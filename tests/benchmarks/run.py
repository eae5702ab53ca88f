"""What is measured, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.benchmarks import drawing, keeping, starting
from tests.benchmarks.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.benchmarks.measuring import Row
    from tests.benchmarks.peers import Peers


@dataclass(frozen=True)
class Plan:
    """How to measure.

    Attributes:
        folder: where inputs are put; emptied afterwards.
        seed: what they are made from.
        runs: how often short things are measured.
        peers: what to compare with.
    """

    folder: Path
    seed: int
    runs: int
    peers: Peers

    @property
    def inputs(self) -> Inputs:
        """A fresh maker of inputs: rows do not depend on which others are measured."""
        return self.__dict__.setdefault("_inputs", Inputs(self.seed))  # type: ignore[no-any-return]


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "commands": starting.commands,
    "chat": starting.chat,
    "repl": starting.repl,
    "append": keeping.append,
    "turn": keeping.turn,
    "large": keeping.large,
    "tail": keeping.tail,
    "search": keeping.search,
    "stream": drawing.stream,
}
