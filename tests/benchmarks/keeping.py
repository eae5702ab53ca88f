"""Rows about the memory: appending, a turn, opening a large one, its end, and searching it."""

from __future__ import annotations

import fcntl
import os
import random
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem import Agent
from agentmem.memory import Memory
from agentmem.models.base import Finish, TextDelta, Usage
from agentmem.models.body import Encoder
from agentmem.models.chunks import wire_request
from agentmem.search import Search
from tests.benchmarks.measuring import Row, Spread, in_turn, milliseconds, processes, resident
from tests.benchmarks.peers import HERE, ours, theirs
from tests.program import COMMAND

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from agentmem.models.base import Piece, Request
    from tests.benchmarks.run import Plan

KEY = "sk-loopback-0123456789"
ROUNDS = 100


class Echo:
    """A model in this process: it encodes requests as the wire does, and answers at once."""

    name = "gpt-4o"

    def __init__(self) -> None:
        self._encoder = Encoder()

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Encode a request and answer."""
        leading = next((each for each in request.messages[:1] if each.role == "system"), None)
        rest = replace(request, messages=request.messages[1:]) if leading else request
        body = self._encoder.encode(leading, wire_request(rest, self.name))
        yield TextDelta("A short reply, as good as any.")
        yield Usage(sum(map(len, body)) // 4, 8)
        yield Finish("stop")

    def context_length(self) -> int:
        """Return a window that no memory here fills."""
        return 1 << 40

    def supports_tools(self) -> bool:
        """Say yes."""
        return True

    def close(self) -> None:
        """Nothing is held."""


def append(plan: Plan) -> Iterator[Row]:
    """A durable append, beside the least that is durable, and at 50k entries beside 1k."""
    said = plan.inputs.sentence(12)
    few, many = (plan.folder / "append" / "agents" / name for name in ("Few", "Many"))
    plan.inputs.memory(few, entries=1_000)
    plan.inputs.memory(many, entries=50_000)
    bare = plan.inputs.memory(plan.folder / "append" / "bare", entries=1_000)
    block = b"x" * (len(said) + 60)

    def least() -> float:
        start = time.perf_counter()
        fd = os.open(bare, os.O_WRONLY | os.O_APPEND)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, block)
        os.fsync(fd)
        os.close(fd)
        return time.perf_counter() - start

    def appending(memory: Memory) -> float:
        start = time.perf_counter()
        memory.append("User", said)
        return time.perf_counter() - start

    memories = [Memory(few), Memory(many)]
    bared, at_few, at_many = in_turn(
        ROUNDS, least, lambda: appending(memories[0]), lambda: appending(memories[1])
    )
    yield Row(
        "durable append at 1k entries, beside open + flock + write + fsync + close",
        _medians(at_few, bared),
        1.5,
        details=f"{milliseconds(at_few.median)} over {milliseconds(bared.median)}",
    )
    yield Row(
        "durable append at 50k entries, beside 1k",
        _medians(at_many, at_few),
        1.2,
        details=f"{milliseconds(at_many.median)} over {milliseconds(at_few.median)}",
    )


def _medians(one: Spread, other: Spread) -> Spread:
    """Return the ratio of the medians of five parts of a measurement: single syncs differ too much."""
    parts = [slice(at, at + ROUNDS // 5) for at in range(0, ROUNDS, ROUNDS // 5)]
    return Spread(
        tuple(Spread(one.values[part]).median / Spread(other.values[part]).median for part in parts)
    )


def turn_times(folder: Path, turns: int = 40) -> tuple[Spread, Spread]:
    """Return the processor and the wall-clock seconds of turns with the model left out."""
    with Agent(folder.name, model=Echo(), workspace_dir=folder.parent.parent) as agent:
        agent.run("The first turn builds the request.")
        cpu, wall = [], []
        for number in range(turns):
            start, used = time.perf_counter(), time.process_time()
            agent.run(f"Question {number}: what did I say?")
            cpu.append(time.process_time() - used)
            wall.append(time.perf_counter() - start)
    return Spread(tuple(cpu)), Spread(tuple(wall))


def turn(plan: Plan) -> Iterator[Row]:
    """Own work in a turn."""
    folder = plan.folder / "turn" / "agents"
    plan.inputs.memory(folder / "Few", entries=100)
    plan.inputs.memory(folder / "Many", entries=10_000)
    few, _ = turn_times(folder / "Few")
    many, wall = turn_times(folder / "Many")
    yield Row(
        "own work in a turn at 10k entries, processor time",
        Spread(tuple(1000 * each for each in many.values)),
        5.0,
        "ms",
        f"{milliseconds(few.median)} at 100 entries; with the two syncs {milliseconds(wall.median)}",
    )
    yield Row(
        "the same, beside 100 entries",
        many.over(few),
        2.0,
        details="flat; the rest is handing the memory's bytes on",
    )


def large(plan: Plan) -> Iterator[Row]:
    """A 10 MB MEMORY.md: from the start of the process until it is known whether to send or to compact."""
    workspace = plan.folder / "large"
    plan.inputs.memory(workspace / "agents" / "Ada", size=10_000_000)
    own = ([sys.executable, str(HERE / "in_agentmem.py"), "Ada"], ours(workspace, OPENAI_API_KEY=KEY))
    if not plan.peers.has("swarms"):
        (took,) = processes(max(3, plan.runs // 3), own)
        yield Row("10 MB MEMORY.md to ready", took.wall, None, "s")
        return
    peer = (
        [plan.peers.program("swarms"), str(HERE / "in_swarms.py"), "Ada"],
        theirs(workspace, OPENAI_API_KEY=KEY),
    )
    mine, other = processes(max(3, plan.runs // 3), own, peer)
    yield Row(
        "10 MB MEMORY.md to ready to send or compact, beside swarms",
        mine.wall.over(other.wall),
        1 / 3,
        details=f"{milliseconds(mine.wall.median)} over {milliseconds(other.wall.median)}; "
        f"processor time {mine.over(other).cpu.median:.2f}",
    )


def tail(plan: Plan) -> Iterator[Row]:
    """`show --last 10` of a 100 MB MEMORY.md."""
    workspace = plan.folder / "tail"
    plan.inputs.memory(workspace / "agents" / "Huge", size=100_000_000)
    plan.inputs.memory(workspace / "agents" / "Empty", entries=0)
    env = ours(workspace)
    end = [*COMMAND, "show", "Huge", "--last", "10"]
    huge, empty = processes(plan.runs, (end, env), ([*COMMAND, "show", "Empty"], env))
    yield Row(
        "`show --last 10` of 100 MB, beside `show` of an empty memory",
        huge.over(empty).wall,
        3.0,
        details=f"{milliseconds(huge.wall.median)} over {milliseconds(empty.wall.median)}; "
        f"processor time {huge.over(empty).cpu.median:.2f}",
    )
    size = resident(end, env, str(plan.folder / "size"))
    yield Row("the same, peak resident size", Spread((size,)), 60.0, "MB")


def search(plan: Plan) -> Iterator[Row]:
    """Search in 100k entries: making the index, keeping it up, asking it."""
    folder = plan.folder / "search" / "agents" / "Ada"
    path = plan.inputs.memory(folder, entries=100_000)
    reports: list[int] = []
    found = Search(folder, lambda done, _all: reports.append(done))
    start, used = time.perf_counter(), time.process_time()
    found.find("zanzibar")
    yield Row(
        "index of 100k entries, processor time",
        Spread((time.process_time() - used,)),
        25.0,
        "s",
        f"{path.stat().st_size / 1e6:.0f} MB; {time.perf_counter() - start:.3g} s on the clock, "
        f"{len(reports)} reports of progress",
    )
    memory = Memory(folder)
    for _ in range(10):
        memory.append("User", plan.inputs.message())
    start, used = time.perf_counter(), time.process_time()
    found.find("zanzibar")
    yield Row(
        "the first query after 10 more entries, processor time",
        Spread((1000 * (time.process_time() - used),)),
        None,
        "ms",
        f"{milliseconds(time.perf_counter() - start)} on the clock",
    )
    times, clock = [], []
    for query in _queries(plan, 200):
        start, used = time.perf_counter(), time.process_time()
        found.find(query)
        times.append(1000 * (time.process_time() - used))
        clock.append(1000 * (time.perf_counter() - start))
    asked = Spread(tuple(times))
    yield Row(
        "query, 95th percentile of 200, processor time",
        Spread((asked.percentile(0.95),)),
        50.0,
        "ms",
        f"median {asked.median:.3g} ms, slowest {asked.high:.3g} ms; on the clock "
        f"{Spread(tuple(clock)).percentile(0.95):.3g} ms",
    )


def _queries(plan: Plan, count: int) -> list[str]:
    """Return queries of one to three words, common and rare."""
    choose = random.Random(plan.seed)
    words = plan.inputs.words
    return [
        " ".join(words[int(len(words) ** choose.random()) - 1] for _ in range(choose.randint(1, 3)))
        for _ in range(count)
    ]
