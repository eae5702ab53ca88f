"""Entries of this session that vanished from MEMORY.md: an older copy was saved over them, or they were removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.figures import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.conversation import Conversation
    from agentmem.entries import Entry


def settle(
    conversation: Conversation,
    wanted: Callable[[tuple[Entry, ...]], bool] | None,
    notice: Callable[[str], None],
) -> None:
    """Say that entries are gone, and put them back if that is wanted; errors as `Conversation.put_back`.

    Args:
        conversation: what was refreshed.
        wanted: decides; None leaves it to the caller of the library.
        notice: told what a person should know.
    """
    missing = conversation.missing
    if not missing:
        return
    count = counted(len(missing), "entry")
    notice(
        f"{count} of this session, {missing[0].stamp} first, no longer in {conversation.memory_md_path}: "
        "an older copy was saved over what is new, or somebody removed them"
    )
    if wanted is None:
        notice("short_memory.put_back() brings them back, short_memory.let_go() leaves them out")
    elif wanted(missing):
        conversation.put_back()
        notice(f"put {count} back at the end")
    else:
        conversation.let_go()
