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

    def forget(self, texts: Iterable[str]) -> None:
        """Drop every line that one of the texts contains, or that contains one of them."""
        gone = {text.strip() for text in texts} - {""}
        kept = [line for line in reversed(list(self.load_history_strings())) if not _touches(line, gone)]
        self._loaded_strings = [line for line in self._loaded_strings if not _touches(line, gone)]
        with (
            suppress(OSError, AgentMemError),
            Folder.open(self._folder) as folder,
            folder.child(PRIVATE_FOLDER) as private,
        ):
            private.replace(INPUT_HISTORY, [_line(text) for text in kept])

    def keep(self, text: str) -> None:
        """Store a line; a folder that refuses it costs no more than the line."""
        with (
            suppress(OSError, AgentMemError),
            Folder.open(self._folder) as folder,
            folder.child(PRIVATE_FOLDER, create=True) as private,
            private.opened(INPUT_HISTORY, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file,
        ):
            write_all(file, _line(text))


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


def _touches(line: str, texts: set[str]) -> bool:
    return any(text in line or line.strip() in text for text in texts)
