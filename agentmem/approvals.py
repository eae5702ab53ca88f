"""Which settings files may run code: recorded by place and content, away from the files themselves.

An agent's folder that is copied from elsewhere brings no approval with it, and a file that changes
loses the one it had.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from agentmem.durable import reading, writing
from agentmem.errors import StorageError
from agentmem.folders import Folder

if TYPE_CHECKING:
    from pathlib import Path


def fingerprint(path: Path, content: bytes) -> str:
    """Return what an approval covers: these bytes in this place."""
    import hashlib

    return hashlib.sha256(os.fsencode(os.path.realpath(path)) + b"\0" + content).hexdigest()


def approved(store: Path, mark: str) -> bool:
    """Whether a file was approved.

    Args:
        store: the record of approvals.
        mark: the file's `fingerprint`.
    """
    return mark in _recorded(store).values()


def approve(store: Path, path: Path, mark: str) -> None:
    """Record that a file may run code, instead of what was recorded for that place before.

    Raises:
        StorageError: it cannot be recorded.
    """
    marks = _recorded(store) | {os.path.realpath(path): mark}
    content = json.dumps(marks, indent=2).encode()
    # Folders of settings are often links into a repository of dotfiles.
    with Folder.open(store.parent.resolve(), create=True) as folder, writing(store):
        folder.replace(store.name, [content])


def _recorded(store: Path) -> dict[str, str]:
    """Return the marks by place; a record that cannot be read approves nothing."""
    try:
        with Folder.open(store.parent.resolve()) as folder, reading(store):
            marks = json.loads(folder.read(store.name))
    except (StorageError, ValueError):
        return {}
    return marks if isinstance(marks, dict) else {}
