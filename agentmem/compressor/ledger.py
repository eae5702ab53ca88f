"""The must-keep ledger: every exact detail of a record, ranked, and what a summary does with it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from agentmem.compressor.facts import Fact, context, facts, folded
from agentmem.compressor.words import names, rules
from agentmem.roles import is_user, unmarked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentmem.turns import Turn

TITLE = "## Exact details"

RULES_TITLE = "The user's own words:"
SAID_TITLE = "Said along the way, oldest first; where two differ, the later one holds:"
USER_MARK = "User: "
_LEFT_OUT = re.compile(r"^\(Left out for lack of room: (\d+) more details?;.*\)$", re.MULTILINE)
_UNREAD = re.compile(r"^\(Not summarised: the oldest ~(\d+) tokens;.*\)$", re.MULTILINE)
_TYPED = 2000  # characters; a longer message is pasted rather than typed, and its "must" is somebody else's
_NOUNS = 0.12  # share of capitalised words inside sentences above which capitals do not mean names (German)
_SUBJECT = re.compile(r"[^\W\d_]{4,}")
_NO_SUBJECT = frozenset(
    {"that", "this", "with", "from", "have", "been", "will", "would", "should", "there", "their", "about"}
)
_KINDS = {"rule": 0, "url": 1, "email": 1, "path": 1, "id": 1, "date": 2, "figure": 3, "name": 4}


@dataclass(frozen=True)
class Detail:
    """One exact detail of a record.

    Attributes:
        fact: what it is, and where it stands in its turn.
        turn: number of the turn that said it last.
        order: where in the whole record that was.
        by_user: whether the user said it.
        typed: for a rule: whether it stands in a message short enough to have been typed.
        times: how often it was said.
        line: the words around it.
    """

    fact: Fact
    turn: int
    order: int
    by_user: bool
    typed: bool = True
    times: int = 1
    line: str = ""

    @cached_property
    def folded(self) -> str:
        """Its words as they are compared."""
        return folded(self.fact.text)

    @cached_property
    def subject(self) -> frozenset[str]:
        """The words around it that tell what it is about."""
        words = folded(self.line).replace(self.folded, " ")
        return frozenset(_SUBJECT.findall(words)) - _NO_SUBJECT


@dataclass(frozen=True)
class Ledger:
    """The details of a record, the most important first.

    Attributes:
        details: all of them.
        left_out: details that earlier compactions had no room for.
        unread: tokens that earlier compactions did not summarise.
    """

    details: tuple[Detail, ...] = ()
    left_out: int = 0
    unread: int = 0

    def within(self, budget: int, count: Callable[[str], int]) -> list[Detail]:
        """Return the most important details whose bare words fit a budget of tokens."""
        chosen = []
        for detail in self.details:
            budget -= count(detail.fact.text)
            if budget < 0:
                break
            chosen.append(detail)
        return chosen


def previous_summary(turns: Sequence[Turn]) -> str:
    """Return the text of the newest summary among turns, without its mark, or ""."""
    for turn in reversed(turns):
        if turn.is_summary:
            return unmarked(turn.content)
    return ""


def prose_of(summary: str) -> str:
    """Return a summary without the details that were added to it."""
    return summary.partition(f"\n{TITLE}\n")[0].strip()


@dataclass
class _Collector:
    """Details by their folded words; what is said again moves up."""

    found: dict[str, Detail] = field(default_factory=dict)
    unsure: dict[str, Detail] = field(default_factory=dict)
    words: int = 0
    nouns: int = 0
    base: int = 0

    def add(self, fact: Fact, text: str, turn: int, *, by_user: bool, typed: bool = True) -> None:
        key = folded(fact.text)
        before = self.found.get(key)
        line = fact.text if fact.kind == "rule" else context(text, fact.start, fact.end)
        order = self.base + fact.start
        if before is None:
            self.found[key] = Detail(fact, turn, order, by_user, typed, 1, line)
            return
        kind = before.fact if _KINDS[before.fact.kind] <= _KINDS[fact.kind] else fact
        if before.by_user and not by_user:  # said again by somebody else: the user's own words stay
            order, line = before.order, before.line
        by_user, typed = by_user or before.by_user, typed or before.typed
        self.found[key] = Detail(kind, turn, order, by_user, typed, before.times + 1, line)

    def read(self, text: str, turn: int, *, by_user: bool) -> None:
        exact = facts(text)
        for fact in exact:
            self.add(fact, text, turn, by_user=by_user)
        taken = sorted((fact.start, fact.end) for fact in exact)
        at = 0
        for fact, unsure in names(text):
            while at < len(taken) and taken[at][1] <= fact.start:
                at += 1
            if at < len(taken) and taken[at][0] < fact.end:
                continue
            if unsure:
                self.unsure[folded(fact.text)] = Detail(
                    fact, turn, self.base + fact.start, by_user, line=fact.text
                )
            else:
                self.nouns += " " not in fact.text
                self.add(fact, text, turn, by_user=by_user)
        self.words += len(text) // 6
        self.base += len(text) + 1

    def rules(self, text: str, turn: int, *, typed: bool) -> None:
        for fact in rules(text):
            self.add(fact, text, turn, by_user=True, typed=typed)

    def settled(self) -> Iterable[Detail]:
        for key, detail in self.unsure.items():
            if key in self.found:  # it has its capital inside sentences too: a name
                before = self.found[key]
                self.found[key] = replace(
                    before, times=before.times + 1, by_user=before.by_user or detail.by_user
                )
        nouns = self.words > 100 and self.nouns > _NOUNS * self.words  # noqa: PLR2004
        for detail in self.found.values():
            if not (nouns and detail.fact.kind == "name" and " " not in detail.fact.text):
                yield detail


def collect(turns: Sequence[Turn]) -> Ledger:
    """Extract every detail of a record and rank them.

    First what the user asked for, then what the user said, then what recurs, then what is recent.

    Args:
        turns: what is about to be summarised, earlier summaries included.
    """
    collector = _Collector()
    left_out = unread = 0
    for number, turn in enumerate(turns):
        if turn.is_summary:
            more, tokens = _take_over(unmarked(turn.content), collector, number)
            left_out, unread = left_out + more, unread + tokens
            continue
        by_user = is_user(turn.role)
        if by_user:
            collector.rules(turn.content, number, typed=len(turn.content) <= _TYPED)
        collector.read(turn.content, number, by_user=by_user)
    return Ledger(tuple(sorted(collector.settled(), key=_rank)), left_out, unread)


def _rank(detail: Detail) -> tuple[bool, bool, bool, bool, int, int, int]:
    rule = detail.fact.kind == "rule"
    return (
        not (rule and detail.typed),
        not detail.by_user,
        rule,
        detail.times < 2,  # noqa: PLR2004
        -detail.turn,
        _KINDS[detail.fact.kind],
        detail.order,
    )


def _take_over(summary: str, collector: _Collector, number: int) -> tuple[int, int]:
    """Read an earlier summary: its prose, and the details listed under it."""
    prose, _, listed = summary.partition(f"\n{TITLE}\n")
    collector.read(prose, number, by_user=False)
    heading = ""
    for line in listed.splitlines():
        if not line.startswith("- "):
            heading = line.strip() or heading
            continue
        by_user = heading == RULES_TITLE or line.startswith(f"- {USER_MARK}")
        text = line[2:].removeprefix(USER_MARK)
        if heading == RULES_TITLE:
            collector.add(Fact("rule", text, 0, len(text)), text, number, by_user=True)
        collector.read(text, number, by_user=by_user)
    counts = [pattern.search(listed) for pattern in (_LEFT_OUT, _UNREAD)]
    more, tokens = (int(found[1]) if found else 0 for found in counts)
    return more, tokens
