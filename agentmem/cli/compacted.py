"""What a compaction did, drawn for a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agentmem import figures
from agentmem.figures import counted
from agentmem.repl import draws_unicode, rows, views
from agentmem.repl.bar import Gauge, bar
from agentmem.repl.chat import SGR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.compressor import Compaction
    from agentmem.repl.region import Line


def drawn(
    report: Compaction, agent: str, window: int, threshold: float, width: int, *, dry_run: bool
) -> Iterator[Line]:
    """Yield how full the context window was and is, what became of what was said, and where it is now.

    Args:
        report: what was done.
        agent: whose memory.
        window: the model's context length in tokens.
        threshold: share of it at which a compaction fires by itself.
        width: columns of the terminal.
        dry_run: nothing was written.
    """
    if dry_run:
        yield from ((), ((rows.YELLOW, "dry run: nothing was written"),))
    for name, used in (("before", report.before), (" after", report.after)):
        gauge = Gauge(name, used=used, limit=window, threshold=threshold, estimated=False)
        yield tuple((SGR.get(style, ""), text) for style, text in bar(gauge, width, unicode=draws_unicode()))
    yield ()
    yield from views.pairs(_figures(report, agent, dry_run=dry_run), width)


def _figures(report: Compaction, agent: str, *, dry_run: bool) -> Iterator[tuple[str, str]]:
    rest = f"; {report.kept:,} kept word for word" if report.kept else ""
    yield "summarised", f"{counted(report.summarised, 'message')}{rest}"
    if report.details:
        dropped = counted(report.invented, "invented one")
        yield (
            "exact details",
            f"{report.details_kept} of {report.details} kept"
            + (f", {dropped} dropped" if report.invented else ""),
        )
    if report.left_out:
        yield (
            "only archived",
            f"{counted(report.left_out, 'oldest part')}, ~{figures.tokens(report.unread)} tokens",
        )
    if report.extractive:
        yield "no model", report.failure or "the summary was made without one"
    if report.calls:
        usage = report.usage
        tokens = figures.tokens(usage.prompt_tokens + usage.completion_tokens)
        cost = "" if usage.cost is None else f", {figures.money(usage.cost)}"
        yield "model", f"{counted(report.calls, 'call')}, {tokens} tokens{cost}"
    if report.archive:
        yield "raw log", f"archive/{report.archive}"
    if not dry_run:
        yield "take it back", f"agentmem compact {shlex.quote(agent)} --undo"
