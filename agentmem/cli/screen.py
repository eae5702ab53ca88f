"""What a person on a terminal gets to see: colours, Markdown, bars, relative times, and a pager when it is long.

Scripts and pipes never come here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from agentmem import figures
from agentmem.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from agentmem.entries import Entry
    from agentmem.memory.history import Chapter
    from agentmem.repl.region import Line

_BOLD, _DIM, _GREEN = "1", "2", "32"
_MOST_BARS = 200
"""Agents for which the context length is looked up; the list of more is too long to be looked at."""
_BAR_CELLS = 12
_PROGRESS = "█▏▎▍▌▋▊▉"


def wanted() -> bool:
    """Whether stdout is a terminal that can do more than lines of text."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def show_entries(chosen: Iterable[tuple[int, Entry]], agent: str, *, exact: bool) -> None:
    """Print entries, their text drawn as Markdown."""
    from agentmem.repl import views
    from agentmem.repl.markdown import Canvas

    canvas = Canvas(colour=output.colour())
    width, now = shutil.get_terminal_size().columns, None if exact else datetime.now().astimezone()
    _print(
        row
        for number, entry in chosen
        for row in (*views.entry_rows(number, entry, agent, canvas, width, now), ())
    )


def show_agents(rows: Sequence[tuple[Path, int, int, int, Entry | None]], *, exact: bool) -> None:
    """Print the agents: folder, entries, size in bytes, archives and last entry of each."""
    lengths = [_context_length(folder) if len(rows) <= _MOST_BARS else None for folder, *_ in rows]
    cells = [["agent", "entries", "context", "size", "archives", "last used"]]
    for (folder, entries, size, archives, last), length in zip(rows, lengths, strict=True):
        when = _when(last.when, exact=exact) if last else "never"
        context = _context(output.tokens_of(size), length)
        cells.append([folder.name, str(entries), context, figures.size(size), str(archives or ""), when])
    _print_table(cells, right={1, 3, 4}, styles={0: _BOLD, 2: _GREEN, 5: _DIM})


def show_archives(chapters: Sequence[Chapter], *, exact: bool) -> None:
    """Print the archives of an agent."""
    cells = [["archive", "entries", "size", "compacted", "until"]]
    for chapter in chapters:
        until = _when(chapter.last.when, exact=exact) if chapter.last else "never"
        archive, gain = chapter.archive, output.gain(chapter.before, chapter.after)
        cells.append([archive.name, str(chapter.entries), figures.size(archive.size), gain, until])
    _print_table(cells, right={1, 2, 3}, styles={0: _BOLD, 4: _DIM})


def _when(when: datetime, *, exact: bool) -> str:
    from agentmem.repl.views import ago

    return f"{when.astimezone():%Y-%m-%d %H:%M:%S}" if exact else ago(when, datetime.now().astimezone())


def _context(tokens: int, length: int | None) -> str:
    """Return a bar of how much of the window the memory takes, by its size."""
    if length is None:
        return f"~{figures.tokens(tokens)}"
    share = min(1.0, tokens / length)
    eighths = round(share * _BAR_CELLS * 8)
    full = "█" * (eighths // 8) + (_PROGRESS[eighths % 8] if eighths % 8 else "")
    return f"{full.ljust(_BAR_CELLS, '░')} ~{100 * tokens / length:.0f}%"


def _context_length(folder: Path) -> int | None:
    from agentmem import settings
    from agentmem.errors import AgentMemError
    from agentmem.models import catalog, choose_model

    try:
        found = settings.load(agent_folder=folder)
        return found.context_length or catalog.context_length(found.model or choose_model(found)[0])
    except AgentMemError:
        return None


def _print_table(cells: list[list[str]], right: set[int], styles: dict[int, str]) -> None:
    from prompt_toolkit.utils import get_cwidth

    from agentmem.display import visible_line

    cells = [[visible_line(cell) for cell in row] for row in cells]
    widths = [max(get_cwidth(row[at]) for row in cells) for at in range(len(cells[0]))]
    rows: list[Line] = []
    for number, row in enumerate(cells):
        runs = []
        for at, cell in enumerate(row):
            gap = " " * (widths[at] - get_cwidth(cell))
            text = f"{gap}{cell}" if at in right else f"{cell}{gap}"
            style = styles.get(at, "") if number else _DIM
            runs.append((style, text if at == len(row) - 1 else f"{text}  "))
        rows.append(tuple(runs))
    _print(rows)


def _print(rows: Iterable[Line]) -> None:
    """Print rows, through a pager when there are more than the screen has."""
    from agentmem.repl.region import plain, styled

    colour = output.colour()
    lines = [styled(row) if colour else plain(row) for row in rows]
    while lines and not lines[-1]:
        lines.pop()
    text = "".join(f"{line}\n" for line in lines)
    if len(lines) >= shutil.get_terminal_size().lines and sys.stdin.isatty() and _paged(text):
        return
    output.write(text)


def _paged(text: str) -> bool:
    """Show a text in the person's pager; returns False when there is none."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    if not command or command[0] == "cat" or not shutil.which(command[0]):
        return False
    # As git does it: quit when it fits, pass colours on, leave the text on the screen.
    environment = {"LESS": "FRX", **os.environ}
    try:
        subprocess.run(command, input=text.encode("utf-8", "replace"), env=environment, check=False)  # noqa: S603 - the person's own pager
    except (OSError, KeyboardInterrupt):
        return True
    return True
