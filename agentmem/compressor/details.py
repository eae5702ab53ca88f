"""The exact details a summary lacks, appended to it word for word within a budget. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.compressor.facts import folded, stands_in
from agentmem.compressor.ledger import RULES_TITLE, SAID_TITLE, TITLE, USER_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentmem.compressor.ledger import Detail, Ledger


def covered(details: Iterable[Detail], text: str) -> list[Detail]:
    """Return the details whose words stand in a text."""
    whole = folded(text)
    return [detail for detail in details if stands_in(detail.folded, whole)]


@dataclass(frozen=True)
class Completed:
    """A summary with the details it lacked.

    Attributes:
        text: the whole of it.
        kept: details that stand in it.
        total: details that there are.
    """

    text: str
    kept: int
    total: int


def complete(
    prose: str, ledger: Ledger, budget: int, count: Callable[[str], int], *, unread: int = 0
) -> Completed:
    """Append to a summary, word for word, what the user asked for and the details it lacks.

    Args:
        prose: the summary.
        ledger: what must be kept.
        budget: tokens to spend at most.
        count: tokens of a text.
        unread: tokens of the record that were not summarised.
    """
    whole = folded(prose)
    told: list[Detail] = []
    missing: list[Detail] = []
    for detail in ledger.details:
        absent = detail.fact.kind == "rule" or not stands_in(detail.folded, whole)
        (missing if absent else told).append(detail)
    unread += ledger.unread
    notes = [f"(Not summarised: the oldest ~{unread} tokens; they are in the archive.)"] if unread else []
    overhead = count(f"{TITLE}\n{RULES_TITLE}\n{SAID_TITLE}") + 30
    room = max(0, budget - overhead)
    chosen = _chosen(missing, room, count)
    chosen = _with_later(chosen, told, room, count)
    lines = _lines(chosen, room, count)
    body = [line for title, rows in lines for line in (["", title, *rows] if rows else [])]
    kept = len(covered(ledger.details, "\n".join([prose, *body])))
    left_out = ledger.left_out + len(ledger.details) - kept
    if left_out:
        more = "detail" if left_out == 1 else "details"
        notes.append(f"(Left out for lack of room: {left_out} more {more}; they are in the archive.)")
    added = ["", TITLE, *body, *(["", *notes] if notes else [])] if body or notes else []
    return Completed("\n".join([prose, *added]), kept, len(ledger.details))


def _chosen(missing: Sequence[Detail], budget: int, count: Callable[[str], int]) -> list[Detail]:
    """Return the first details whose bare words fit, in the order of the record."""
    chosen: list[Detail] = []
    for detail in missing:
        cost = _cost(detail, count)
        if cost > budget:
            if budget < 3:  # noqa: PLR2004 - nothing is that short
                break
            continue
        budget -= cost
        chosen.append(detail)
    return sorted(chosen, key=lambda detail: detail.order)


def _cost(detail: Detail, count: Callable[[str], int]) -> int:
    """Return the tokens of a detail's bare words on a line of their own."""
    mark = USER_MARK if detail.by_user and detail.fact.kind != "rule" else ""
    return count(f"- {mark}{detail.fact.text}\n")


def _with_later(
    chosen: list[Detail], told: Sequence[Detail], budget: int, count: Callable[[str], int]
) -> list[Detail]:
    """Add details that the summary has already and that seem to replace chosen ones, so that the later stand last.

    Where there is no room for that, the one that was replaced is left out rather than stand as the last word.
    """
    budget -= sum(_cost(detail, count) for detail in chosen)
    later: dict[int, Detail] = {}
    kept = []
    for old in chosen:
        about = old.subject
        rivals = [
            new
            for new in told
            if new.order > old.order
            and new.fact.kind == old.fact.kind != "rule"
            and 2 * len(about & new.subject) >= max(1, min(len(about), len(new.subject)))
        ]
        newest = max(rivals, key=lambda new: new.order, default=None)
        if newest and newest.order not in later:
            cost = _cost(newest, count)
            if cost > budget:
                budget += _cost(old, count)
                continue
            budget -= cost
            later[newest.order] = newest
        kept.append(old)
    return sorted([*kept, *later.values()], key=lambda detail: detail.order)


def _lines(chosen: Sequence[Detail], budget: int, count: Callable[[str], int]) -> list[tuple[str, list[str]]]:
    """Return the details under their titles, each in the words around it while the budget lasts."""
    spare = budget - sum(_cost(detail, count) for detail in chosen)
    ruled = [detail.fact.text for detail in chosen if detail.fact.kind == "rule"]
    said: list[str] = []
    whole = folded("\n".join(ruled))
    for detail in chosen:
        cost = _cost(detail, count)
        if detail.fact.kind == "rule":
            continue
        if stands_in(detail.folded, whole):
            spare += cost
            continue
        line = detail.fact.text
        if detail.line and (extra := count(f"- {detail.line}\n") - cost) <= spare:
            spare, line = spare - extra, detail.line
        said.append(f"{USER_MARK if detail.by_user else ''}{line}")
        whole = f"{whole} | {folded(line)}"
    return [
        (title, [f"- {line}" for line in dict.fromkeys(rows)])
        for title, rows in ((RULES_TITLE, ruled), (SAID_TITLE, said))
    ]


def missing_lines(missing: Sequence[Detail], budget: int, count: Callable[[str], int]) -> list[str]:
    """Return what to tell a model that it left out: each detail in the words around it."""
    return [line for _, rows in _lines(_chosen(missing, budget, count), budget, count) for line in rows]
