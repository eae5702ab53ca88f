"""Whole processes, run in turn with what they are compared with, and the figures that come out."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# A process's peak size begins with that of whoever started it, so a small one in between starts it.
_SMALL_PARENT = """
import json, os, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
with open(sys.argv[1], "w") as out:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_maxrss], out)
"""


@dataclass(frozen=True)
class Spread:
    """A figure measured several times."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """What to quote."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """The least."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The most."""
        return max(self.values)

    def percentile(self, share: float) -> float:
        """Return the value that a share of all does not exceed."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def over(self, other: Spread) -> Spread:
        """Return the ratios, pair by pair."""
        return Spread(tuple(a / b for a, b in zip(self.values, other.values, strict=True)))


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: what was measured.
        figure: what came out, mostly a ratio.
        limit: what it may be at most; None when it is for information.
        unit: of figure and limit; "x" is a ratio.
        details: the figures behind it, in words.
    """

    what: str
    figure: Spread
    limit: float | None
    unit: str = "times"
    details: str = ""
    more: dict[str, float] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the median keeps to the limit."""
        return None if self.limit is None else self.figure.median <= self.limit


@dataclass(frozen=True)
class Times:
    """Wall-clock and processor seconds of some runs."""

    wall: Spread
    cpu: Spread

    def over(self, other: Times) -> Times:
        """Return the ratios, pair by pair."""
        return Times(self.wall.over(other.wall), self.cpu.over(other.cpu))


def timed(command: Sequence[str], env: Mapping[str, str]) -> tuple[float, float]:
    """Run a command to its end; returns wall-clock and processor seconds."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert child.stderr
    complaint = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: {complaint.decode()[-2000:]}")
    return wall, usage.ru_utime + usage.ru_stime


def in_turn(runs: int, *measures: Callable[[], float]) -> list[Spread]:
    """Take measures in turn, A B A B …, after one round that does not count."""
    rounds = [[measure() for measure in measures] for _ in range(runs + 1)][1:]
    return [Spread(tuple(values)) for values in zip(*rounds, strict=True)]


def processes(runs: int, *commands: tuple[Sequence[str], Mapping[str, str]]) -> list[Times]:
    """Time commands in turn."""
    rounds = [[timed(command, env) for command, env in commands] for _ in range(runs + 1)][1:]
    return [
        Times(Spread(tuple(wall for wall, _ in column)), Spread(tuple(cpu for _, cpu in column)))
        for column in zip(*rounds, strict=True)
    ]


def resident(command: Sequence[str], env: Mapping[str, str], scratch: str) -> float:
    """Return the peak resident size of a command in MB."""
    subprocess.run(
        [sys.executable, "-S", "-c", _SMALL_PARENT, scratch, *command],
        env=env,
        check=True,
    )
    with open(scratch, encoding="utf-8") as file:
        code, kilobytes = json.load(file)
    if code:
        raise SystemExit(f"{' '.join(command)} ended with {code}")
    return float(kilobytes / 1024)


def milliseconds(seconds: float) -> str:
    """Return seconds as people read them."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
