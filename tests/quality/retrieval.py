"""Print how well search finds what was said: paraphrased questions over long talks with known evidence.

    python -m tests.quality.retrieval [--misses] [--sessions N]

any-hit@10: a question counts when one of its evidence entries is among the ten hits; all-evidence@10: when
all are; MRR: the mean of one over the rank of the first. Beside search stands what SQLite's bm25 over the
same words gives, the measure to beat. The set is made up by `dialogues.py` and the same every time.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.entries import make_entry, make_header
from agentmem.search import Search
from agentmem.stamps import format_stamp
from tests.quality.dialogues import make_talk

if TYPE_CHECKING:
    from tests.quality.dialogues import Question, Talk

Find = Callable[[str], list[set[int]]]
"""Takes a query; returns the numbers of the entries each hit shows, best hit first."""

LIMIT = 10
ARCHIVES = 4
"""How many archives the talk is spread over, MEMORY.md not counted."""


class Figures:
    """The three measures over questions."""

    def __init__(self) -> None:
        self.count = 0
        self.any_hit = 0
        self.all_evidence = 0
        self.reciprocal = 0.0

    def add(self, question: Question, found: list[set[int]]) -> None:
        ranks = [
            min(rank for rank, shown in enumerate(found, 1) if number in shown)
            for number in question.evidence
            if any(number in shown for shown in found)
        ]
        self.count += 1
        self.any_hit += bool(ranks)
        self.all_evidence += len(ranks) == len(question.evidence)
        self.reciprocal += 1 / min(ranks) if ranks else 0.0

    def line(self, name: str) -> str:
        count = max(self.count, 1)
        return (
            f"{name:24} {self.count:9}   {self.any_hit / count:10.3f}   {self.all_evidence / count:15.3f}   "
            f"{self.reciprocal / count:5.3f}"
        )


def lay_out(talk: Talk, folder: Path) -> None:
    """Write a talk into an agent's folder, most of it as archives."""
    (folder / "archive").mkdir(parents=True)
    size = len(talk.entries) // (ARCHIVES + 1) + 1
    for part in range(ARCHIVES + 1):
        entries = talk.entries[part * size : (part + 1) * size]
        raw = [make_entry(role, format_stamp(when), text).raw for when, role, text in entries]
        name = "MEMORY.md" if part == ARCHIVES else f"archive/history_2025-0{part + 1}-01_00-00-00.md"
        (folder / name).write_bytes(make_header("Ada", "2025-01-01") + b"".join(raw))


def plain_bm25(talk: Talk, *, neighbours: bool) -> Find:
    """Return the baseline: bm25 over the words, any of them."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    connection.executemany(
        "INSERT INTO words (rowid, text) VALUES (?, ?)",
        ((number, text) for number, (_, _, text) in enumerate(talk.entries)),
    )

    def find(query: str) -> list[set[int]]:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        rows = connection.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (match, LIMIT)
        )
        reach = 1 if neighbours else 0
        return [set(range(number - reach, number + reach + 1)) for (number,) in rows]

    return find


def searching(talk: Talk, folder: Path, *, neighbours: bool) -> Find:
    """Return the search that is measured; with its neighbours, a hit is all that is shown of it."""
    numbers = {format_stamp(when): number for number, (when, _, _) in enumerate(talk.entries)}
    search = Search(folder)

    def find(query: str) -> list[set[int]]:
        found = []
        for hit in search.find(query, limit=LIMIT):
            shown = (hit.before, hit.entry, hit.after) if neighbours else (hit.entry,)
            found.append({numbers[entry.stamp] for entry in shown if entry})
        return found

    return find


def measure(talk: Talk, find: Find, *, misses: bool = False) -> dict[str, Figures]:
    """Ask every question; figures by kind, "all" among them."""
    figures: dict[str, Figures] = defaultdict(Figures)
    for question in talk.questions:
        found = find(question.text)
        figures["all"].add(question, found)
        figures[question.kind].add(question, found)
        missing = set(question.evidence).difference(*found)
        if misses and missing:
            print(f"missed: {question.text}")
            for number in missing:
                print(f"    wanted {talk.entries[number][2]}")
            for shown in found[:3]:
                print(f"    got    {' | '.join(talk.entries[number][2] for number in sorted(shown))}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=600)
    parser.add_argument("--misses", action="store_true", help="show what was not found")
    options = parser.parse_args()
    talk = make_talk(options.sessions)
    print(f"{len(talk.entries)} entries in {options.sessions} sessions, {len(talk.questions)} questions\n")
    print(f"{'':24} {'questions':>9}   any-hit@{LIMIT}   all-evidence@{LIMIT}     MRR")
    print(measure(talk, plain_bm25(talk, neighbours=False))["all"].line("bm25, the hits alone"))
    print(measure(talk, plain_bm25(talk, neighbours=True))["all"].line("bm25, with neighbours"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "Ada"
        lay_out(talk, folder)
        print(measure(talk, searching(talk, folder, neighbours=False))["all"].line("search, the hits alone"))
        find = searching(talk, folder, neighbours=True)
        started = time.perf_counter()
        figures = measure(talk, find, misses=options.misses)
        seconds = time.perf_counter() - started
    print(figures["all"].line("search, hits as shown"))
    for kind in sorted(set(figures) - {"all"}):
        print(figures[kind].line(f"  {kind}"))
    print(f"\n{1000 * seconds / len(talk.questions):.1f} ms a question")


if __name__ == "__main__":
    main()
