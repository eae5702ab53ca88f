"""`agentmem search`: find what was said, in memory and archives."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem import settings
from agentmem.cli import options, output, screen
from agentmem.display import visible, visible_line
from agentmem.errors import UsageError
from agentmem.figures import counted
from agentmem.formats.exported import exported
from agentmem.formats.jsonl import as_object
from agentmem.selection import Selection, any_of
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.search import Hit, Query

_ASKED = 300  # small memories that `--all` asks at most
_PATIENCE = 0.5  # seconds of indexing before it is mentioned
_EXCERPT = 400  # characters shown of a hit
_CONTEXT = 100  # characters shown of what stands before and after it


def search(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="The agent's name; leave it out with --all.",
            autocompletion=options.complete_agents,
            show_default=False,
        ),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY", help='Words, "a phrase", or a prefix*; best first.', show_default=False
        ),
    ] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Search every agent.")] = False,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", min=1, help="Hits at most [default: 10].", show_default=False
        ),
    ] = 10,
    last: options.Last = None,
    since: options.Since = None,
    before: options.Before = None,
    role: options.Role = None,
    grep: options.Grep = None,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Find entries in the memory and the archives of AGENT."""
    output.end_quietly_on_closed_pipe()
    words = [*([agent] if agent and everywhere else []), *(query or [])]
    found = Workspace(settings.workspace_root(workspace))
    if not words or not (agent or everywhere):
        raise _incomplete(agent, known=bool(agent) and agent in found.names())
    names = found.names() if everywhere else [found.existing(agent or "").name]
    chosen = options.selection(last=last, since=since, before=before, role=role, grep=grep)
    hits: list[tuple[str, Hit]] = []
    if everywhere:
        names = _promising(found.agents, names, words)
    for name in names:
        hits += [(name, hit) for hit in find(found.agents / name, words, chosen, limit)]
    hits = sorted(hits, key=lambda each: -each[1].score)[:limit]
    if json:
        output.write_json({"query": words, "hits": [_as_object(name, hit) for name, hit in hits]})
        return
    if not hits:
        unheard = "" if everywhere else options.unheard(role, options.existing_memory(names[0], workspace))
        output.notice(f"nothing found{unheard}")
    from agentmem.search import parse_query

    asked = parse_query(words)
    if screen.wanted():
        screen.show_hits(asked, [(name if everywhere else "", hit) for name, hit in hits])
        return
    for name, hit in hits:
        output.write(rendered(asked, hit, agent=name if everywhere else ""))


def _incomplete(agent: str | None, *, known: bool) -> UsageError:
    """Return what to say where the agent or the query is missing."""
    if agent and not known:  # it is what to look for
        word = shlex.quote(agent)
        return UsageError(
            f"say in whose memory: agentmem search AGENT {word}, or agentmem search --all {word}"
        )
    who = shlex.quote(agent or "AGENT")
    return UsageError(f"say what to look for: agentmem search {who} QUERY, or agentmem search --all QUERY")


def _promising(agents: Path, names: list[str], words: list[str]) -> list[str]:
    """Return the agents worth asking, among thousands of them; say how many others there are."""
    from agentmem.search import parse_query, promising

    asked, others = promising((agents / name for name in names), parse_query(words), _ASKED)
    if others:
        output.notice(
            f"{counted(len(others), 'more agent')} may have it and were not asked; search one by its name, or "
            'all of them for a "phrase"'
        )
    return [path.name for path in asked]


def find(folder: Path, words: list[str], selection: Selection, limit: int) -> list[Hit]:
    """Search one agent's folder."""
    from agentmem.search import Search

    return Search(folder, _progress()).find(words, limit=limit, wanted=_condition(folder, selection))


def _condition(folder: Path, selection: Selection) -> Callable[[Entry], bool]:
    """Return what else must hold; `--last` means the newest entries of MEMORY.md."""
    if selection.last is None:
        return selection.accepts
    from agentmem.memory import Memory

    among = any_of(Memory(folder).tail(selection.last)[0]) if selection.last else (lambda _entry: False)
    return lambda entry: among(entry) and selection.accepts(entry)


def _progress() -> Callable[[int, int], None]:
    """Show on a terminal how far a new index is, once that takes long enough to wonder."""
    if not screen.wanted(sys.stderr):
        return lambda _done, _all: None
    begun = time.monotonic()
    shown = False

    def report(done: int, everything: int) -> None:
        nonlocal shown
        if done < everything and time.monotonic() - begun > _PATIENCE:
            shown = True
            screen.show_progress("indexing", done / everything)
        elif shown:
            shown = False
            print(screen.ERASE, end="", file=sys.stderr, flush=True)

    return report


def _as_object(agent: str, hit: Hit) -> dict[str, object]:
    def near(entry: Entry | None) -> dict[str, str] | None:
        return as_object(exported(entry, hit.source), agent) if entry else None

    shape: dict[str, object] = {**as_object(exported(hit.entry, hit.source), agent)}
    return {**shape, "score": round(hit.score, 4), "before": near(hit.before), "after": near(hit.after)}


def rendered(query: Query, hit: Hit, *, agent: str = "") -> str:
    """Return a hit as text, safe for a terminal: where and when, then the words between their neighbours."""
    from agentmem.search import excerpt

    entry = hit.entry
    where = "  ".join(
        part
        for part in (agent, entry.stamp, visible_line(entry.role), hit.source and f"archive/{hit.source}")
        if part
    )
    said = visible(excerpt(query, entry.text.strip(), _EXCERPT))
    before, after = ([f"  {_context(each)}"] if each else [] for each in (hit.before, hit.after))
    return "\n".join([where, *before, said, *after, "", ""])


def _context(entry: Entry) -> str:
    text = " ".join(entry.text.split())
    cut = text if len(text) <= _CONTEXT else f"{text[:_CONTEXT].rstrip()} …"
    return visible_line(f"{entry.role}: {cut}")
