"""What `agentmem forget` shows: what will go, and what went."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from agentmem.cli import output, screen
from agentmem.display import visible_line
from agentmem.entries import Entry
from agentmem.figures import counted
from agentmem.forgetting import Plan, Remains
from agentmem.formats.exported import exported
from agentmem.formats.jsonl import as_object
from agentmem.memory import Forgotten
from agentmem.selection import key_of

_PREVIEW = 72  # characters of an entry shown before it goes
_SHOWN = 20  # entries of one file


@dataclass(frozen=True)
class Outcome:
    """How a forget ended.

    Attributes:
        agent: the agent.
        plan: what was to go.
        done: whether it went.
        gone: what went, by file.
        choice: what became of summaries made from it.
        remains: what still says the same.
    """

    agent: str
    plan: Plan
    done: bool = False
    gone: tuple[Forgotten, ...] = ()
    choice: str = ""
    remains: Remains = Remains((), ())


def preview(plan: Plan, *, exact: bool) -> None:
    """Show on stderr what will go; on a terminal with how long ago it was said, or exactly when."""
    if screen.wanted(sys.stderr):
        from agentmem.cli.preview import drawn

        screen.show(drawn(plan, output.width(sys.stderr), exact=exact), sys.stderr)
        _line("")
        return
    for each in plan.gone:
        whole = " (the whole file)" if each.file in plan.whole else ""
        _line(f"{each.file}{whole}:")
        for entry in each.entries[:_SHOWN]:
            _line(f"  {described(entry)}")
        if len(each.entries) > _SHOWN:
            _line(f"  … and {len(each.entries) - _SHOWN} more")
    if plan.lines:
        _line(f"input history: {counted(plan.lines, 'line')}")
    if plan.summaries:
        _line("made from this, among other things:")
        for file, entry in plan.summaries:
            _line(f"  {described(entry)}  ({file})")


def described(entry: Entry) -> str:
    """Return an entry in one line."""
    text = visible_line(entry.text[: _PREVIEW + 1])
    short = text if len(text) <= _PREVIEW else f"{text[:_PREVIEW]}…"
    return f"{entry.stamp}  {visible_line(entry.role)}  {short}"


def report(outcome: Outcome, tell: Callable[[str], None], *, json: bool) -> None:
    """Say what went, and what may remain.

    Args:
        outcome: what that was.
        tell: tells a line.
        json: print it as JSON as well.
    """
    if json:
        output.write_json(_as_object(outcome))
    tell(f"{'forgot' if outcome.done else 'nothing was removed; this would forget'} {amount(outcome.plan)}")
    if not outcome.done:
        return
    summaries = {key_of(entry) for _, entry in outcome.plan.summaries}
    if summaries:
        became = {"redo": "made anew", "drop": "removed", "keep": "kept as they are, and may tell of it"}
        tell(f"{counted(len(summaries), 'summary')} made from it: {became[outcome.choice]}")
    for file, entry in outcome.remains.entries[:_SHOWN]:
        tell(f"still said in {file}: {described(entry)}")
    for name in outcome.remains.files:
        tell(f"still said in {name}, which is not a memory file and was left alone")
    tell("copies may remain in exports, backups and with the model's provider")


def amount(plan: Plan) -> str:
    """Return how much goes, in words."""
    parts = (
        plan.gone and f"{counted(plan.count, 'entry')} in {counted(len(plan.gone), 'file')}",
        plan.lines and counted(plan.lines, "line") + " of the input history",
    )
    return " and ".join(part for part in parts if part)


def _as_object(outcome: Outcome) -> dict[str, object]:
    plan, agent = outcome.plan, outcome.agent
    return {
        "agent": agent,
        "forgotten": outcome.done,
        "files": {
            each.file: [as_object(exported(entry), agent) for entry in each.entries] for each in plan.gone
        },
        "deleted_archives": sorted(plan.whole) if outcome.done else [],
        "input_history_lines": plan.lines,
        "summaries": {
            "choice": outcome.choice or None,
            "ids": list(dict.fromkeys(entry.stamp for _, entry in plan.summaries)),
        },
        "remains": {
            "entries": [{"file": file, "id": entry.stamp} for file, entry in outcome.remains.entries],
            "files": list(outcome.remains.files),
        },
    }


def _line(text: str) -> None:
    print(text, file=sys.stderr)
