"""Results of a compaction's model calls, kept in `.agentmem/` until the compaction is through.

They hold what people said, in other words: they are private, gone with every `forget` and every completed
compaction, and never written once the text they were made from has changed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.errors import MemoryUnreadable
from agentmem.workspace import PRIVATE_FOLDER, SUMMARY_PARTS

if TYPE_CHECKING:
    from agentmem.folders import Folder

_MOST = 256  # results; a compaction makes as many as `max_summary_calls` allows


def read_parts(folder: Folder) -> dict[str, str]:
    """Return the kept results by key; {} where there are none, or nothing that can be read."""
    with suppress(OSError, ValueError, MemoryUnreadable), folder.child(PRIVATE_FOLDER) as private:
        found = json.loads(private.read(SUMMARY_PARTS))
        if isinstance(found, dict) and all(isinstance(text, str) for text in found.values()):
            return found
    return {}


def write_part(folder: Folder, key: str, text: str) -> None:
    """Add a result.

    Raises:
        OSError: it was not kept.
    """
    kept = [(name, each) for name, each in read_parts(folder).items() if name != key]
    content = json.dumps(dict([*kept, (key, text)][-_MOST:]), ensure_ascii=False)
    with folder.child(PRIVATE_FOLDER, create=True) as private:
        private.replace(SUMMARY_PARTS, [content.encode("utf-8", "replace")])


def drop_parts(folder: Folder) -> None:
    """Forget every result.

    Raises:
        OSError: they are still there.
    """
    if PRIVATE_FOLDER in folder.names():
        with folder.child(PRIVATE_FOLDER) as private:
            if SUMMARY_PARTS in private.names():
                private.remove(SUMMARY_PARTS)
