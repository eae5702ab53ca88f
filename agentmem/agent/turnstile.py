"""Lets one run or compaction of an agent through at a time."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Turnstile:
    """Keeps threads, and what a run calls, from starting a second run in the middle of the first.

    Attributes:
        lock: held by whoever is inside; for what must not happen meanwhile on another thread.
    """

    def __init__(self, agent_name: str) -> None:
        self.lock = threading.RLock()
        self._agent_name = agent_name
        self._inside = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for other threads, and be the only run or compaction for the length of a block.

        Raises:
            UsageError: a tool or a callback of a run begins another.
        """
        with self.lock:
            if self._inside:
                raise UsageError(
                    f"{self._agent_name} is in the middle of a run, which cannot hold another or a compaction"
                )
            self._inside = True
            try:
                yield
            finally:
                self._inside = False
