"""`agentmem export`: an agent's memory in another format."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer

from agentmem.cli import options, output
from agentmem.entries import Entry, parse
from agentmem.errors import AgentMemError, UsageError
from agentmem.formats.registry import EXPORTS, Exported, exported
from agentmem.memory import Memory
from agentmem.selection import Selection


def export(
    agent: options.AgentName,
    format_: Annotated[
        str, typer.Option("--format", "-f", metavar="|".join(EXPORTS), help="What to write.")
    ] = "markdown",
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, mode 0600 [default: stdout]."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    archives: Annotated[
        bool, typer.Option("--archives", help="Include the archives, each entry once.")
    ] = False,
    last: options.Last = None,
    since: options.Since = None,
    before: options.Before = None,
    role: options.Role = None,
    grep: options.Grep = None,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Write the memory of AGENT in another format."""
    output.end_quietly_on_closed_pipe()
    if format_ not in EXPORTS:
        raise UsageError(f"no format {format_!r}; there are {', '.join(EXPORTS)}")
    memory = options.existing_memory(agent, workspace)
    selection = options.selection(last=last, since=since, before=before, role=role, grep=grep)
    pieces = EXPORTS[format_](selected(memory, selection, archives=archives), agent)
    if target is None:
        for piece in pieces:
            output.write_text(piece)
        return
    _write_file(target, pieces, force=force)
    output.notice(f"wrote {target}")


def selected(memory: Memory, selection: Selection, *, archives: bool) -> Iterable[Exported]:
    """Return the chosen entries, oldest source first; one in several files comes once, with the newest."""
    names = [archive.name for archive in memory.archives()] if archives else []
    newest = {
        _digest(entry): name for name in [*names, ""] for entry in (_entries(memory, name) if names else ())
    }
    chosen = (
        exported(entry, name)
        for name in [*names, ""]
        for entry in _entries(memory, name)
        if (not names or newest[_digest(entry)] == name) and selection.accepts(entry)
    )
    return chosen if selection.last is None else deque(chosen, maxlen=selection.last)


def _entries(memory: Memory, name: str) -> tuple[Entry, ...]:
    return parse(memory.read_archive(name)[1]).entries if name else memory.read().entries


def _digest(entry: Entry) -> bytes:
    said = f"{entry.role}\n{entry.stamp}\n{entry.text}".encode("utf-8", "surrogateescape")
    return blake2b(said, digest_size=16).digest()


def _write_file(target: Path, pieces: Iterator[str], *, force: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with os.fdopen(os.open(target, flags, 0o600), "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
    except FileExistsError:
        raise UsageError(f"{target} exists; --force overwrites it") from None
    except OSError as error:
        raise AgentMemError(f"cannot write {target}: {error.strerror}") from error
