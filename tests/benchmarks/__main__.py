"""Measure how fast agentmem is, beside what it should be compared with.

    python -m tests.benchmarks [--peers FOLDER [--install]] [--rows NAMES] [--runs N] [--seed N] [--json]
    python -m tests.benchmarks --scaling FOLDER [--seed N]

Everything is measured in this one run, in turn with what it is compared with; figures are medians with their
spread. Peers (`llm`, swarms) live in virtual environments of their own below FOLDER; `--install` makes them.

With --scaling it is measured instead how costs grow with entries and agents, and how much memory each command
takes; the tables are printed, and the plots put into FOLDER.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks import plotting, scaling
from tests.benchmarks.peers import Peers, install
from tests.benchmarks.run import ROWS, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.measuring import Row

SIGNS = {True: "met", False: "NOT MET", None: ""}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="where the peers are installed")
    parser.add_argument("--install", action="store_true", help="install them there first")
    parser.add_argument("--rows", default=",".join(ROWS), metavar="NAMES", help="of: %(default)s")
    parser.add_argument(
        "--runs", type=int, default=9, metavar="N", help="how often short things are measured"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="what the inputs are made from")
    parser.add_argument("--folder", type=Path, help="put the inputs here, on the disk to be measured")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--scaling", type=Path, metavar="FOLDER", help="measure how costs grow; plots go here"
    )
    options = parser.parse_args(arguments)
    if options.scaling:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            grow(Plan(Path(folder), options.seed, options.runs, Peers(None)), options.scaling)
        return 0
    if options.install:
        if not options.peers:
            parser.error("--install wants --peers")
        install(options.peers)
    found = []
    for name in options.rows.split(","):
        if name not in ROWS:
            parser.error(f"no such row: {name}")
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            plan = Plan(Path(folder), options.seed, options.runs, Peers(options.peers))
            for row in ROWS[name](plan):
                found.append(row)
                print(line(row), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps({"seed": options.seed, "rows": [as_object(row) for row in found]}, indent=2))
    return int(any(row.met is False for row in found))


def grow(plan: Plan, plots: Path) -> None:
    def report(under_way: str) -> None:
        print(under_way, file=sys.stderr)

    plots.mkdir(parents=True, exist_ok=True)
    for name, measure in (("entries", scaling.by_entries), ("agents", scaling.by_agents)):
        table = measure(plan, report)
        (plots / f"scaling-{name}.svg").write_text(plotting.plot(table, name), encoding="utf-8")
        print(plotting.markdown(table, name), end="\n\n", flush=True)
    print("| command | peak resident size |\n|---|---:|")
    for command, size in scaling.sizes(plan):
        print(f"| `{command}` | {size:.0f} MB |", flush=True)


def line(row: Row) -> str:
    figure, unit = row.figure, row.unit
    spread = f" ({figure.low:.3g} to {figure.high:.3g})" if len(figure.values) > 1 else ""
    bar = f"{row.limit:.3g} {unit}" if row.limit is not None else ""
    details = f"\n    {row.details}" if row.details else ""
    return f"{SIGNS[row.met]:8}{row.what}: {figure.median:.3g} {unit}{spread}{f', at most {bar}' if bar else ''}{details}"


def as_object(row: Row) -> dict[str, object]:
    return {
        **dataclasses.asdict(row),
        "figure": row.figure.values,
        "median": row.figure.median,
        "low": row.figure.low,
        "high": row.figure.high,
        "met": row.met,
    }


if __name__ == "__main__":
    sys.exit(main())
