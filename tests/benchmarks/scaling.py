"""How the cost of things grows: with the entries of one agent, and with the number of agents.

Costs are processor time, so that what else the machine does counts for little.
"""

from __future__ import annotations

import random
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from agentmem.memory import Memory
from agentmem.search import Search
from tests.benchmarks.keeping import KEY, turn_times
from tests.benchmarks.measuring import Spread, resident, timed
from tests.benchmarks.peers import HERE, ours
from tests.loopback import Provider
from tests.program import COMMAND, agree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.benchmarks.run import Plan

ENTRIES = (10, 100, 1_000, 10_000, 100_000)
AGENTS = (1, 10, 100, 1_000, 10_000)
RUNS = 5

Table = dict[str, dict[int, float]]
"""Milliseconds by what was measured, and by how many there were."""


def by_entries(plan: Plan, report: Callable[[str], None]) -> Table:
    """Return what a start, a turn, an append, `show` and a search take, by the entries of an agent."""
    table: Table = {
        name: {} for name in ("start to ready", "turn", "append", "show --last 10", "search", "index")
    }
    for count in ENTRIES:
        report(f"{count} entries")
        workspace = plan.folder / str(count)
        folder = workspace / "agents" / "Ada"
        plan.inputs.memory(folder, entries=count)
        env = ours(workspace, OPENAI_API_KEY=KEY)
        table["start to ready"][count] = _cost([sys.executable, str(HERE / "in_agentmem.py"), "Ada"], env)
        table["show --last 10"][count] = _cost([*COMMAND, "show", "Ada", "--last", "10"], env)
        found = Search(folder)
        table["index"][count] = _used(partial(found.find, "the function"))
        table["search"][count] = _median(partial(found.find, query) for query in _queries(plan))
        append = partial(Memory(folder).append, "User", plan.inputs.sentence(12))
        table["append"][count] = _median([append] * 30)
        table["turn"][count] = 1000 * turn_times(folder, turns=20)[0].median
    return table


def by_agents(plan: Plan, report: Callable[[str], None]) -> Table:
    """Return what the list of agents, a search over all of them and name completion take, warm."""
    table: Table = {"show": {}, "search --all": {}, "name completion": {}, "show AGENT": {}}
    workspace = plan.folder / "many"
    env = ours(workspace)
    typed = {
        "COMP_WORDS": "agentmem show agent-0000",
        "COMP_CWORD": "2",
        "_AGENTMEM_COMPLETE": "complete_bash",
    }
    query = " ".join(_queries(plan)[0].split()[:2])
    made = 0
    for count in AGENTS:
        report(f"{count} agents")
        for number in range(made, count):
            plan.inputs.memory(workspace / "agents" / f"agent-{number:05}", entries=4)
        made = count
        table["show"][count] = _cost([*COMMAND, "show"], env)
        table["show AGENT"][count] = _cost([*COMMAND, "show", "agent-00000"], env)
        table["search --all"][count] = _cost([*COMMAND, "search", "--all", query], env)
        table["name completion"][count] = _cost(COMMAND, {**env, **typed})
    return table


def sizes(plan: Plan) -> Iterator[tuple[str, float]]:
    """Yield the peak resident size in MB of each command with 100 MB of memory and archives."""
    workspace = plan.folder / "sizes"
    folder = workspace / "agents" / "Ada"
    plan.inputs.memory(folder, size=50_000_000)
    memory = Memory(folder)
    document, cursor = memory.load()
    memory.fold(cursor.snapshot(), "They talked about Python.", document.entries[-10:])
    del document
    path = memory.path
    path.write_bytes(path.read_bytes() + b"".join(_bytes(plan.inputs.entries("Ada"), 50_000_000)))
    agree(workspace)
    scratch = str(plan.folder / "size")
    with Provider() as provider:
        provider.answers.append(lambda _body: "Yes.")
        env = ours(workspace, OPENAI_BASE_URL=provider.url, OPENAI_API_KEY=KEY)
        chat = ["chat", "Ada", "-m", "gpt-4o", "--context-length", "1000000000", "Is that so?"]
        for words in _COMMANDS:
            yield " ".join(words), resident([*COMMAND, *words], env, scratch)
        yield "chat Ada, 50 MB sent", resident([*COMMAND, *chat], env, scratch)


_COMMANDS: tuple[Sequence[str], ...] = (
    ("--version",),
    ("show",),
    ("show", "Ada", "--last", "10"),
    ("show", "Ada"),
    ("archives", "Ada"),
    ("archives", "Ada", "latest"),
    ("search", "Ada", "generator"),
    ("search", "Ada", "generator", "--json"),
    ("export", "Ada", "-f", "jsonl"),
    ("export", "Ada", "--archives", "-f", "jsonl"),
    ("forget", "Ada", "--match", "generator", "--dry-run"),
)


def _bytes(entries: Iterator[bytes], size: int) -> Iterator[bytes]:
    for raw in entries:
        yield raw
        size -= len(raw)
        if size < 0:
            return


def _cost(command: Sequence[str], env: dict[str, str]) -> float:
    """Return the median processor milliseconds of a command, warm."""
    return 1000 * Spread(tuple(timed(command, env)[1] for _ in range(RUNS + 1))[1:]).median


def _used(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def _median(works: Iterable[Callable[[], object]]) -> float:
    return Spread(tuple(map(_used, works))).median


def _queries(plan: Plan) -> list[str]:
    choose = random.Random(plan.seed)
    return [" ".join(choose.choices(plan.inputs.words, k=choose.randint(1, 3))) for _ in range(20)]
