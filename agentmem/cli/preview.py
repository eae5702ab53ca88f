"""What `agentmem forget` will remove, drawn for a terminal."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.cli import screen
from agentmem.display import visible_line
from agentmem.figures import counted
from agentmem.repl import draws_unicode, rows, views
from agentmem.roles import is_tool, is_user, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem.entries import Entry
    from agentmem.forgetting import Plan
    from agentmem.repl.region import Line, Run
    from agentmem.selection import Selection

SHOWN = 20
"""Entries of one file that are shown."""
_ROLE_CELLS = 16
_LEAST_CELLS = 24  # of a text beside its time and role
_GLANCE = 0.1  # seconds to look for a pattern once more, to mark it


def drawn(plan: Plan, width: int, *, exact: bool) -> Iterator[Line]:
    """Yield what will go as a table a file."""
    told = [
        *(entry for each in plan.gone for entry in each.entries[:SHOWN]),
        *(each for _, each in plan.summaries),
    ]
    columns = _Columns(told, plan.selection, width, exact=exact)
    for each in plan.gone:
        whole, total = each.file in plan.whole, plan.counts[each.file]
        count = counted(total, "entry") if whole else f"{len(each.entries)} of {counted(total, 'entry')}"
        mark = ((rows.RED, " · the whole file"),) if whole else ()
        yield ((rows.BOLD, each.file), *mark, (rows.DIM, f" · {count}"))
        for entry in each.entries[:SHOWN]:
            yield from columns.of(entry)
        if len(each.entries) > SHOWN:
            yield ((rows.DIM, f"  … and {len(each.entries) - SHOWN:,} more"),)
        yield ()
    if plan.summaries:
        yield ((rows.YELLOW, "summaries made from this, among other things"),)
        for file, entry in plan.summaries:
            yield from columns.of(entry, f"in {file}: ")
        yield ()
    if plan.lines:
        yield ((rows.BOLD, "input history"), (rows.DIM, f" · {counted(plan.lines, 'line')}"))
        yield ()


class _Columns:
    """When entries were said, by whom, and what, one below the other."""

    def __init__(self, entries: Sequence[Entry], selection: Selection, width: int, *, exact: bool) -> None:
        self._selection = selection
        self._exact = exact
        self._times = max((rows.cells(self._when(entry)) for entry in entries), default=0)
        self._names = max((rows.cells(_name(entry)) for entry in entries), default=0)
        beside = width - self._times - self._names - 6
        self._beside = beside >= _LEAST_CELLS
        self._room = beside if self._beside else max(8, width - 4)

    def of(self, entry: Entry, before: str = "") -> Iterator[Line]:
        """Yield an entry's row, or two where there is no room for one.

        Args:
            entry: whose.
            before: what to say before its text.
        """
        when, name = self._when(entry), _name(entry)
        gaps = (" " * (self._times - rows.cells(when)), " " * (self._names - rows.cells(name)))
        heading = ((rows.DIM, f"  {when}{gaps[0]}  "), (_style(entry), f"{name}{gaps[1]}"))
        told = unmarked(entry.text) if entry.is_summary else entry.text
        said = _around(told, self._selection, max(8, self._room - rows.cells(before)))
        text = ((rows.DIM, before), *said) if before else said
        if self._beside:
            yield (*heading, ("", "  "), *text)
        else:
            yield from (heading, (("", "    "), *text))

    def _when(self, entry: Entry) -> str:
        return screen.when(entry.when, exact=self._exact)


def _name(entry: Entry) -> str:
    return rows.cut(visible_line(entry.role), _ROLE_CELLS, ".")


def _style(entry: Entry) -> str:
    if is_user(entry.role):
        return views.YOU
    return views.OTHER if entry.is_summary or is_tool(entry.role) else views.AGENT


def _around(text: str, selection: Selection, room: int) -> Line:
    """Return the beginning of a text on one row, or what stands around what was asked for, which is marked."""
    line = " ".join(text.split())
    start, end = _place(line, selection)
    left = max(0, start - room // 3) if end > room - 2 else 0
    left = max(left, line.find(" ", left, start) + 1) if left else 0  # at the beginning of a word
    more = "…" if draws_unicode() else "..."
    before = f"{more if left else ''}{line[left:start]}"
    found: list[Run] = []
    for style, part in (("", before), (rows.FOUND, line[start:end]), ("", line[end : end + room + 1])):
        shown = rows.cut(visible_line(part), room, more)
        room -= rows.cells(shown)
        found.append((style, shown))
        if shown != visible_line(part):
            break
    return tuple(run for run in found if run[1])


def _place(line: str, selection: Selection) -> tuple[int, int]:
    """Return where in a text what was asked for stands; (0, 0) when that cannot be said at once."""
    words = " ".join(selection.match.split())
    if words and (found := re.search(re.escape(words), line, re.IGNORECASE)):
        return found.span()
    with suppress(TimeoutError):
        if selection.pattern and (hit := selection.pattern.search(line, timeout=_GLANCE)):
            return hit.span()
    return (0, 0)
