"""The notice at the first chat in a workspace, and its one question."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem import consent, settings
from agentmem.cli import output
from agentmem.converting import format_duration
from agentmem.display import shell_path, visible_line
from agentmem.errors import StorageError
from agentmem.stamps import now
from agentmem.workspace import check_private

if TYPE_CHECKING:
    from pathlib import Path


def may_keep(agent: str, folder: Path, resolved: settings.Settings, *, quiet: bool) -> bool:
    """Return whether this session may be stored.

    Where the notice is not on record it is shown, and where a person can answer they are asked; nothing
    is created before they say yes. A script is told once and goes on.

    Args:
        agent: the agent.
        folder: its folder, in the workspace.
        resolved: the settings of this session.
        quiet: neither show nor ask anything.

    Raises:
        MemoryUnwritable: others may write to the workspace.
    """
    root = folder.parent.parent
    known = consent.read(root)
    asks = output.interactive()
    if quiet or not resolved.memory or known.agreed or (known.told and not asks):
        return resolved.memory
    check_private(folder)
    _show(agent, folder, resolved)
    if asks and not output.yes_or_no("keep conversations in this workspace?", default=True):
        output.notice("nothing of this session is kept; you will be asked again next time")
        return False
    # Where this cannot be written nothing else can, and the first message says so.
    with suppress(OSError, StorageError):
        consent.record(root, now(), agreed=asks)
    return True


def _show(agent: str, folder: Path, resolved: settings.Settings) -> None:
    keeps = resolved.keep_archives
    rows = consent.notice(
        consent.Terms(
            agent,
            shell_path(folder),
            shell_path(settings.config_path()),
            redacts=resolved.redact,
            keeps=format_duration(keeps) if keeps else "",
        )
    )
    output.notice("this is the first chat in this workspace; what happens to what is said:")
    width = max(len(word) for word, _ in rows)
    for word, meaning in rows:
        output.say(f"  {word:<{width}}  {visible_line(meaning)}", indent=width + 4)
