"""Deleting archives that are older than the owner wants to keep them: announced first, then done."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem import retention, settings
from agentmem.cli import output
from agentmem.converting import format_duration
from agentmem.errors import ConfigurationError, StorageError
from agentmem.figures import counted
from agentmem.memory import Memory
from agentmem.stamps import now

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from agentmem.memory import Archive
    from agentmem.settings import Settings


def purge(agent: str, folder: Path, resolved: Settings, *, quiet: bool) -> None:
    """Delete the archives that are due, if this was announced before; else announce it, and delete nothing.

    Raises:
        StorageError: they cannot be listed or deleted.
        FolderLocked: another process keeps the folder.
    """
    keep = resolved.keep_archives
    if not keep or not resolved.memory or not folder.exists():
        return
    memory = Memory.configured(folder, resolved)
    due = retention.due(memory.archives(), keep, now())
    if not due:
        return
    if retention.announced(folder, keep):
        memory.drop_archives(each.name for each in due)
        if not quiet:
            output.notice(
                f"deleted {counted(len(due), 'archive')} older than {format_duration(keep)}: {_names(due)}"
            )
    elif not quiet:
        output.notice(_warning(agent, due, keep, resolved))
        # Where this cannot be written nothing can be deleted either.
        with suppress(OSError, StorageError):
            retention.announce(folder, keep)


def warn(agent: str, folder: Path, archives: list[Archive]) -> None:
    """Say which of an agent's archives the setting will delete; a settings file that is broken deletes none."""
    try:
        resolved = settings.load(agent_folder=folder)
    except ConfigurationError:
        return  # said when the memory was opened, or by the next chat
    keep = resolved.keep_archives
    if keep and (due := retention.due(archives, keep, now())):
        output.notice(_warning(agent, due, keep, resolved))


def _warning(agent: str, due: list[Archive], keep: timedelta, resolved: Settings) -> str:
    return (
        f"the next chat with {agent} deletes {counted(len(due), 'archive')} older than {format_duration(keep)}, "
        f"unless keep_archives ({resolved.sources['keep_archives']}) is changed before: {_names(due)}"
    )


def _names(due: list[Archive]) -> str:
    return ", ".join(each.name for each in due)
