"""`agentmem archives`: list, print or restore what compactions archived."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated

import typer

from agentmem import figures
from agentmem.cli import options, output, purge, screen
from agentmem.cli.show import rendered
from agentmem.errors import AgentMemError, UsageError
from agentmem.formats.exported import exported
from agentmem.formats.jsonl import as_object
from agentmem.memory import Memory, history
from agentmem.memory.history import Chapter
from agentmem.memory.soundness import verify as verified
from agentmem.stamps import to_minute


def archives(
    agent: options.AgentName,
    archive: Annotated[
        str | None,
        typer.Argument(
            metavar="ARCHIVE",
            help="An archive's name, an unambiguous prefix of it, or latest.",
            autocompletion=options.complete_archives,
            show_default=False,
        ),
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Make ARCHIVE the memory again; the present one is archived.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check that every archive is whole and in its place.")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the archive byte for byte.")] = False,
    exact: options.Exact = False,
    yes: options.Yes = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """List the archives of AGENT, or print one."""
    output.end_quietly_on_closed_pipe()
    _check(agent, archive, {"--restore": restore, "--raw": raw}, verify=verify, json=json)
    memory = options.existing_memory(agent, workspace)
    if archive is None:
        if verify:
            _verify(agent, verified(memory), json=json)
            return
        _list(agent, history.chapters(memory), json=json, exact=exact)
        purge.warn(agent, memory.folder, memory.archives())
        return
    found = memory.find_archive(archive)
    if restore:
        _restore(agent, memory, found.name, yes=yes, json=json)
    elif raw:
        for document in memory.documents(found.name):
            output.write_bytes(document.raw)
    elif json:
        entries = [as_object(exported(entry, found.name), agent) for entry in memory.walk(found.name)]
        output.write_json({"agent": agent, "archive": found.name, "entries": entries})
    elif screen.wanted():
        screen.show_entries(enumerate(memory.walk(found.name), 1), agent, exact=exact)
    else:
        for number, entry in enumerate(memory.walk(found.name), 1):
            output.write(rendered(number, entry))


def _check(agent: str, archive: str | None, ways: Mapping[str, object], *, verify: bool, json: bool) -> None:
    """Refuse options that would be ignored.

    Raises:
        UsageError: they do not go together, or without an ARCHIVE.
    """
    wanted = options.given(ways)
    if verify:
        options.refuse_beside("--verify", "checks every archive", {"the ARCHIVE": archive, **ways})
    if ways["--raw"]:
        options.refuse_beside("--raw", "prints bytes", {**ways, "--raw": None, "--json": json})
    if wanted and archive is None:
        where = f"a name that `agentmem archives {shlex.quote(agent)}` lists, or latest"
        raise UsageError(f"{wanted[0]} needs an ARCHIVE: {where}")


def _restore(agent: str, memory: Memory, name: str, *, yes: bool, json: bool) -> None:
    command = f"agentmem archives {shlex.quote(agent)} {name} --restore --yes"
    wanted = yes or output.confirm(f"put {name} back as {agent}'s memory?", command)
    kept = memory.restore(name) if wanted else ""
    if json:
        output.write_json({"agent": agent, "restored": name if wanted else None, "archive": kept or None})
    done = f"restored {name}; the memory before it is archive/{kept}"
    output.notice(done if wanted else "nothing was changed")


def _verify(agent: str, found: dict[str, list[str]], *, json: bool) -> None:
    """Print what is wrong with each file; anything ends the command with a failure."""
    if json:
        output.write_json({"agent": agent, "files": found})
    else:
        screen.print_lines(f"{name}: {'; '.join(problems) or 'ok'}" for name, problems in found.items())
    wrong = [name for name, problems in found.items() if problems]
    if wrong:
        raise AgentMemError(
            f"{len(wrong)} of {len(found)} files are not as they were written; `agentmem doctor {shlex.quote(agent)}` looks at all there is"
        )


def _list(agent: str, found: list[Chapter], *, json: bool, exact: bool) -> None:
    if json:
        output.write_json({"agent": agent, "archives": [_as_object(each) for each in found]})
    elif not found:
        output.notice(f"{agent} has no archives; its memory was never compacted")
    elif screen.wanted():
        screen.show_archives(found, exact=exact)
    else:
        output.write(output.table([*map(_as_text, found)], right=("size", "entries")))


def _as_object(chapter: Chapter) -> dict[str, object]:
    return {
        "archive": chapter.archive.name,
        "path": str(chapter.archive.path),
        "size": chapter.archive.size,
        "entries": chapter.entries,
        "first": chapter.first.stamp if chapter.first else None,
        "last": chapter.last.stamp if chapter.last else None,
        "bytes_before": chapter.before,
        "bytes_after": chapter.after,
    }


def _as_text(chapter: Chapter) -> dict[str, str]:
    return {
        "archive": chapter.archive.name,
        "size": figures.size(chapter.archive.size),
        "entries": str(chapter.entries),
        "from": to_minute(chapter.first.stamp) if chapter.first else "",
        "to": to_minute(chapter.last.stamp) if chapter.last else "",
        "compacted": figures.gain(chapter.before, chapter.after),
    }
