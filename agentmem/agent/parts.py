"""What an agent's settings decide: its compressor, and which files have no effect."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agentmem.compressor import ContextCompressor

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.settings import Settings


def compressor_for(settings: Settings) -> ContextCompressor:
    """Return what compacts when that is due, or, with compression off, when it is asked for.

    Raises:
        UsageError: the threshold is not in (0, 1].
    """
    return ContextCompressor(
        settings.threshold,
        settings.summarizer_model or None,
        settings.summarizer_temperature,
        settings.summarizer_max_tokens,
        keep_tokens=settings.keep_tokens,
        max_summary_calls=settings.max_summary_calls,
    )


def say_unapproved(settings: Settings, agent_name: str, notice: Callable[[str], None]) -> None:
    """Tell which files would run code and have no effect, since nobody approved them."""
    for file in settings.unapproved:
        notice(
            f"{file.path}: {' and '.join(file.values)} left out, since nobody has approved that file; "
            f"`agentmem chat {shlex.quote(agent_name)}` on a terminal asks"
        )
