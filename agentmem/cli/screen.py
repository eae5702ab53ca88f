"""What a person on a terminal gets to see: colours, Markdown, bars, relative times, and a pager when it is long.

Scripts and pipes never come here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem import figures, stamps
from agentmem.cli import output
from agentmem.display import visible_line
from agentmem.repl import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import TextIO

    from agentmem.entries import Entry
    from agentmem.memory.history import Chapter
    from agentmem.memory.reading import Glance
    from agentmem.repl.region import Line
    from agentmem.search import Hit, Query

_MOST_BARS = 200
"""Agents for which the context length is looked up; the list of more is too long to be looked at."""
ERASE = "\r\x1b[K"
"""Clears the row that the cursor is on."""
_BAR_CELLS = 12
_NEIGHBOUR_CELLS = 60
"""Columns that what stands around a hit is cut to, at least."""


def wanted(stream: TextIO | None = None) -> bool:
    """Whether a stream, stdout by default, is a terminal that can do more than lines of text."""
    return (stream or sys.stdout).isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def waiting(doing: Callable[[], str]) -> Iterator[None]:
    """Show on stderr, where that is a terminal, what goes on and for how long; it is gone at the end.

    Args:
        doing: says it in a few words.
    """
    if not wanted(sys.stderr):
        yield
        return
    from agentmem.repl import draws_unicode

    over, begun = threading.Event(), time.monotonic()
    dot = "·" if draws_unicode() else "-"

    def tick() -> None:
        while not over.is_set():
            text = f"{doing()} {dot} {time.monotonic() - begun:.0f} s {dot} Ctrl-C stops"
            sys.stderr.write(f"{ERASE}{rows.cut(text, output.width(sys.stderr) - 1, '')}")
            sys.stderr.flush()
            over.wait(1)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        sys.stderr.write(ERASE)
        sys.stderr.flush()


def show_progress(doing: str, share: float) -> None:
    """Say on stderr's last row how much of something is done."""
    line = f"{doing} {_gauge(share)} {100 * share:.0f} %"
    sys.stderr.write(f"{ERASE}{rows.cut(line, output.width(sys.stderr) - 1, '')}")
    sys.stderr.flush()


def show_entries(chosen: Iterable[tuple[int, Entry]], agent: str, *, exact: bool, paged: bool = True) -> None:
    """Print entries, their text drawn as Markdown; not `paged`: each with a blank row behind it."""
    from agentmem.repl import views
    from agentmem.repl.markdown import Canvas

    canvas = Canvas(colour=output.colour())
    width, now = output.width(sys.stdout), None if exact else stamps.now()
    lines = (
        row
        for number, entry in chosen
        for row in (*views.entry_rows(number, entry, agent, canvas, width, now), ())
    )
    show(lines, None if paged else sys.stdout)
    if not paged:
        output.write("\n")


def show_hits(query: Query, hits: Iterable[tuple[str, Hit]]) -> None:
    """Print what a search found, each with the agent's name, or "" where that is known."""
    from agentmem.repl import views

    width = max(output.width(sys.stdout), _NEIGHBOUR_CELLS)
    lines: list[Line] = []
    for name, hit in hits:
        heading, *rest = views.hit_rows(query, hit, width)
        lines += [((rows.BOLD, f"{visible_line(name)}  " if name else ""), *heading), *rest, ()]
    show(lines)


def show_agents(agents: Sequence[tuple[Path, Glance]], *, exact: bool) -> None:
    """Print the agents: the folder of each, and what was seen there."""
    cells = [["agent", "entries", "context", "size", "archives", "last used"]]
    for folder, seen in agents:
        length = _context_length(folder) if len(agents) <= _MOST_BARS else None
        context = _context(figures.tokens_in(seen.size), length)
        used = when(seen.last.when, exact=exact) if seen.last else "never"
        size, archives = figures.size(seen.size), str(seen.archives or "")
        cells.append([folder.name, str(seen.entries), context, size, archives, used])
    show_table(cells, {1, 3, 4}, {0: rows.BOLD, 2: rows.GREEN, 5: rows.DIM})


def show_archives(chapters: Sequence[Chapter], *, exact: bool) -> None:
    """Print the archives of an agent."""
    cells = [["archive", "entries", "size", "compacted", "until"]]
    for chapter in chapters:
        until = when(chapter.last.when, exact=exact) if chapter.last else "never"
        archive, gain = chapter.archive, figures.gain(chapter.before, chapter.after)
        cells.append([archive.name, str(chapter.entries), figures.size(archive.size), gain, until])
    show_table(cells, {1, 2, 3}, {0: rows.BOLD, 4: rows.DIM})


def when(moment: datetime, *, exact: bool = False) -> str:
    """Return a time as people say it, or exactly."""
    from agentmem.repl.views import ago

    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}" if exact else ago(moment, stamps.now())


def _context(tokens: int, length: int | None) -> str:
    """Return a bar of how much of the window the memory takes, by its size."""
    if length is None:
        return f"~{figures.tokens(tokens)}"
    return f"{_gauge(min(1.0, tokens / length))} ~{100 * tokens / length:.0f}%"


def _gauge(share: float) -> str:
    from agentmem.repl import draws_unicode
    from agentmem.repl.bar import filled

    return "".join(filled(share, _BAR_CELLS, draws_unicode()))


def _context_length(folder: Path) -> int | None:
    from agentmem import settings
    from agentmem.errors import AgentMemError
    from agentmem.models import known_window

    try:
        return known_window(settings.load(agent_folder=folder))[1]
    except AgentMemError:
        return None


def show_table(
    cells: Sequence[Sequence[str]], right: Iterable[int] = (), styles: Mapping[int, str] | None = None
) -> None:
    """Print a table: the cells of its heading, then those of each row."""
    safe = [[visible_line(cell) for cell in row] for row in cells]
    show(rows.table(safe, output.width(sys.stdout), right=right, styles=styles))


def print_table(found: Sequence[Mapping[str, str]], right: Iterable[str] = ()) -> None:
    """Print rows under their keys: on a terminal as it has room, elsewhere as text."""
    if not (wanted() and found):
        output.write(output.table(found, right))
        return
    keys = list(found[0])
    show_table([keys, *([row[key] for key in keys] for row in found)], {keys.index(key) for key in right})


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of data, which on a terminal are broken between words."""
    if wanted():
        show((("", line),) for line in lines)
    else:
        output.write("".join(f"{line}\n" for line in lines))


def show(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Print rows; on stdout through a pager when there are more than the screen has."""
    from agentmem.repl import draws_unicode
    from agentmem.repl.region import plain, styled

    where = stream or sys.stdout
    width, draw = output.width(where), styled if output.colour(where) else plain
    signs = (lambda text: text) if draws_unicode() else rows.in_ascii
    lines = (tuple((style, signs(text)) for style, text in line) for line in lines)
    texts = [draw(row) for line in lines for row in rows.wrapped(line, width, indent=2)]
    while texts and not texts[-1]:
        texts.pop()
    text = "".join(f"{each}\n" for each in texts)
    if (
        stream is None
        and len(texts) >= shutil.get_terminal_size().lines
        and sys.stdin.isatty()
        and _paged(text)
    ):
        return
    where.flush()
    where.buffer.write(text.encode("utf-8", "replace"))
    where.flush()


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
