"""What was typed at the prompt: one JSON text a line in the agent's own folder, oldest first."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.durable import write_all
from agentmem.errors import AgentMemError
from agentmem.folders import Folder
from agentmem.workspace import INPUT_HISTORY, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def load(path: Path) -> list[str]:
    """Return what was typed to the agent with this folder; what cannot be read is left out."""
    with (
        suppress(OSError, AgentMemError),
        Folder.open(path) as folder,
        folder.child(PRIVATE_FOLDER) as private,
    ):
        return _parse(private.read(INPUT_HISTORY))
    return []


def keep(path: Path, text: str) -> None:
    """Store a line, already redacted; a folder that refuses it costs no more than the line."""
    with (
        suppress(OSError, AgentMemError),
        Folder.open(path) as folder,
        folder.child(PRIVATE_FOLDER, create=True) as private,
        private.opened(INPUT_HISTORY, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file,
    ):
        write_all(file, _line(text))


def scrub(private: Folder, goes: Callable[[str], bool]) -> int:
    """Remove lines, and what is no line; return how many went.

    Args:
        private: the agent's `.agentmem` folder.
        goes: says of a line whether it has to go.

    Raises:
        OSError: the file is as it was.
    """
    try:
        content = private.read(INPUT_HISTORY)
    except FileNotFoundError:
        return 0
    kept = b"".join(_line(text) for text in _parse(content) if not goes(text))
    if kept != content:
        private.replace(INPUT_HISTORY, [kept])
    return content.count(b"\n") - kept.count(b"\n")


def _parse(content: bytes) -> list[str]:
    found: list[str] = []
    for line in content.split(b"\n"):
        with suppress(ValueError):
            text = json.loads(line)
            if isinstance(text, str):
                found.append(text)
    return found


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"
