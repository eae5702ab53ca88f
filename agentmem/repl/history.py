"""What was typed in earlier sessions, in the agent's own folder and for its owner alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.history import History

from agentmem import input_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


class InputHistory(History):
    """Lines typed at the prompt.

    Args:
        folder: the agent's folder; nothing is created before something is kept.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def load_history_strings(self) -> Iterable[str]:
        """Return what was typed, newest first."""
        return reversed(input_history.load(self._folder))

    def store_string(self, string: str) -> None:
        """Keep nothing: `keep` does, once it is known that this session may be stored."""

    def forget(self, goes: Callable[[str], bool]) -> None:
        """Drop lines from what this session offers; those on disk went with the entries."""
        self._loaded_strings = [line for line in self._loaded_strings if not goes(line)]

    def keep(self, text: str) -> None:
        """Store a line; a folder that refuses it costs no more than the line."""
        input_history.keep(self._folder, text)
