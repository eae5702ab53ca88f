"""What slash commands show, as rows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agentmem import figures
from agentmem.display import visible, visible_line
from agentmem.figures import counted
from agentmem.repl.bar import short
from agentmem.repl.rows import wrapped
from agentmem.roles import is_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem.compressor import Compaction
    from agentmem.entries import Entry
    from agentmem.memory import Archive
    from agentmem.models.base import Usage
    from agentmem.repl.markdown import Canvas
    from agentmem.repl.region import Line
    from agentmem.search import Hit, Query
    from agentmem.tokens import Meter

_BESIDE = 18
"""Cells that a text needs to stand beside its name."""
_EXCERPT = 400
"""Characters shown of a hit."""

BOLD, DIM, YOU, AGENT, OTHER = "1", "2", "1;36", "1;32", "1;33"


def ago(when: datetime, now: datetime) -> str:
    """Return how long ago something was, as people say it."""
    seconds = (now - when).total_seconds()
    for unit, size in (("year", 365 * 86400), ("month", 30 * 86400), ("week", 7 * 86400), ("day", 86400)):
        if seconds >= size:
            count = int(seconds // size)
            return "yesterday" if unit == "day" and count == 1 else f"{count} {unit}{'s' * (count > 1)} ago"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now" if seconds >= -timedelta(minutes=1).total_seconds() else "in the future"


def entry_rows(
    number: int, entry: Entry, agent: str, canvas: Canvas, width: int, now: datetime | None = None
) -> list[Line]:
    """Return an entry with its heading, its text drawn as Markdown.

    Args:
        number: its number, as `#N`.
        entry: what to show.
        agent: the agent's name, to tell its replies from the rest.
        canvas: draws the Markdown.
        width: cells of a row.
        now: says how long ago it was, instead of its exact time.
    """
    style = AGENT if entry.role == agent else YOU if is_user(entry.role) else OTHER
    note = f" ({entry.note})" if entry.note else ""
    when = ago(entry.when, now) if now else entry.stamp
    heading = ((style, visible_line(entry.role)), (DIM, f"  #{number} · {when}{visible_line(note)}"))
    from agentmem.repl.flow import drawn

    return [heading, *drawn(canvas, visible(entry.content), width)]


def tokens_rows(meter: Meter, threshold: float | None, usage: Usage, width: int) -> list[Line]:
    """Return how full the context window is and what the last reply took."""
    about = "~" if meter.estimated else ""
    used, length = meter.tokens, meter.context_length
    rows = [
        ("context", f"{about}{used:,} of {length:,} tokens, {about}{100 * used / length:.1f}%"),
        ("free", f"{about}{max(0, length - used):,} tokens"),
    ]
    if threshold is None:
        rows.append(("compaction", "off"))
    else:
        at = int(threshold * length)
        rows.append(("compacts at", f"{at:,} tokens, {100 * threshold:.0f}%"))
    if usage.prompt_tokens:
        cached = f", {usage.cached_tokens:,} of them cached" if usage.cached_tokens else ""
        rows.append(("last prompt", f"{usage.prompt_tokens:,} tokens{cached}"))
    if usage.completion_tokens:
        rows.append(("last reply", f"{usage.completion_tokens:,} tokens"))
    rows.append(("last cost", "unknown" if usage.cost is None else figures.money(usage.cost)))
    return pairs(rows, width)


def pairs(rows: Iterable[tuple[str, str]], width: int) -> list[Line]:
    """Return rows of a name and what it stands for, which is wrapped beside it."""
    known = list(rows)
    widest = max((len(name) for name, _ in known), default=0)
    found: list[Line] = []
    if width - widest < _BESIDE:
        for name, text in known:
            found += [((DIM, name),), *((("", "  "), *part) for part in wrapped((("", text),), width - 2))]
        return found
    for name, text in known:
        beside = wrapped((("", text),), max(12, width - widest - 2))
        found += [
            ((DIM, f"{'' if number else name:<{widest}}  "), *part) for number, part in enumerate(beside)
        ]
    return found


def compaction_rows(report: Compaction) -> list[Line]:
    """Return what a compaction did, in one row."""
    figures, separator, rest = report.line.partition(" · ")
    return [(("32", figures), (DIM, separator + rest))]


def greeting(entries: Sequence[Entry], used: int, archives: int, now: datetime) -> str:
    """Return what was loaded."""
    if not entries and not archives:
        return "new agent: nothing remembered yet"
    parts = [f"{counted(len(entries), 'entry')} loaded", f"~{short(used)} tokens"]
    if entries:
        parts.append(f"last seen {ago(entries[-1].when, now)}")
    if archives:
        parts.append(f"{counted(archives, 'archive')}: /archives")
    return " · ".join(parts)


def brief(text: str, length: int) -> str:
    """Return the beginning of a text on one line, safe for a terminal."""
    line = visible_line(" ".join(text[: 4 * length].split()))
    return line if len(line) <= length else f"{line[: length - 1]}…"


def brief_rows(entries: Iterable[Entry], width: int) -> list[Line]:
    """Return one row an entry: when, who, and how it begins."""
    rows: list[Line] = []
    for entry in entries:
        when, role = f"{entry.when:%Y-%m-%d %H:%M}", visible_line(entry.role)
        room = max(10, width - len(when) - len(role) - 8)
        rows.append(((DIM, f"  {when}  "), (BOLD, role), ("", f"  {brief(entry.text, room)}")))
    return rows


def archive_rows(archives: Sequence[Archive], now: datetime) -> list[Line]:
    """Return one row an archive: its name, size and age."""
    rows: list[Line] = []
    for archive in archives:
        when = f"  {ago(archive.made, now)}" if archive.made else ""
        rows.append((("", archive.name), (DIM, f"  {figures.size(archive.size):>8}{when}")))
    return rows


def hit_rows(query: Query, hit: Hit, width: int) -> list[Line]:
    """Return what a search found: where and when, and the words between their neighbours."""
    from agentmem.search import excerpt, marks

    entry = hit.entry
    source = f" · archive/{hit.source}" if hit.source else ""
    rows: list[Line] = [((BOLD, visible_line(entry.role)), (DIM, f"  {entry.stamp}{source}"))]
    if hit.before:
        rows.append(((DIM, f"  {visible_line(hit.before.role)}: {brief(hit.before.text, width - 20)}"),))
    text = " ".join(excerpt(query, entry.text.strip(), _EXCERPT).split())
    runs: list[tuple[str, str]] = []
    done = 0
    for start, end in marks(query, text):
        runs += [("", visible_line(text[done:start])), ("1;33", visible_line(text[start:end]))]
        done = end
    rows.append((*runs, ("", visible_line(text[done:]))))
    if hit.after:
        rows.append(((DIM, f"  {visible_line(hit.after.role)}: {brief(hit.after.text, width - 20)}"),))
    return rows
