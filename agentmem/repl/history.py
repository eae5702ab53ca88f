"""What was typed in earlier sessions, in the agent's own folder and for its owner alone."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.history import History

from agentmem.durable import Folder, write_all
from agentmem.errors import AgentMemError
from agentmem.workspace import INPUT_HISTORY, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class InputHistory(History):
    """Lines typed at the prompt, one JSON text a line, oldest first.

    Args:
        folder: the agent's folder; nothing is created before something is kept.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def load_history_strings(self) -> Iterable[str]:
        """Return what was typed, newest first."""
        found: list[str] = []
        with (
            suppress(OSError, AgentMemError),
            Folder.open(self._folder) as folder,
            folder.child(PRIVATE_FOLDER) as private,
        ):
            for line in private.read(INPUT_HISTORY).split(b"\n"):
                with suppress(ValueError):
                    text = json.loads(line)
                    if isinstance(text, str):
                        found.append(text)
        return reversed(found)

    def store_string(self, string: str) -> None:
        """Keep nothing: `keep` does, once it is known that this session may be stored."""

    def keep(self, text: str) -> None:
        """Store a line; a folder that refuses it costs no more than the line."""
        with (
            suppress(OSError, AgentMemError),
            Folder.open(self._folder) as folder,
            folder.child(PRIVATE_FOLDER, create=True) as private,
            private.opened(INPUT_HISTORY, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file,
        ):
            write_all(file, json.dumps(text).encode() + b"\n")
