"""Token counts kept beside a memory, so that a long one is not counted anew at every start."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.errors import AgentMemError
from agentmem.folders import Folder
from agentmem.workspace import PRIVATE_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem.tokens import Estimator

TALLY_FILE = "tokens.json"
_WORTH = 50_000  # characters from which a count is worth keeping; counting them takes longer than reading it
_MOST = 1_000_000  # characters counted for keeping: a quarter of a second
_OUTGROWN = 1.05  # a memory that has grown by 5 % since


class Tally:
    """What was counted of one agent's memory.

    Args:
        folder: the agent's folder; None keeps nothing.
        estimator: counts.
    """

    def __init__(self, folder: Path | None, estimator: Estimator) -> None:
        self._folder = folder
        self._estimator = estimator
        self._known: tuple[int, int] | None = None

    def known(self, text: str) -> tuple[int, int]:
        """Return how many characters at the start of a memory were counted once, and their tokens."""
        self._known = (0, 0)
        if self._folder and len(text) >= _WORTH:
            with suppress(AgentMemError, OSError, ValueError, KeyError, TypeError):
                self._known = self._read(self._folder, text)
        return self._known

    def _read(self, path: Path, text: str) -> tuple[int, int]:
        with Folder.open(path) as folder, folder.child(PRIVATE_FOLDER) as private:
            kept = json.loads(private.read(TALLY_FILE))
        size, tokens = kept["characters"], kept["tokens"]
        right = (self._estimator.vocabulary, _digest(text[:size])) == (kept["vocabulary"], kept["digest"])
        return (int(size), int(tokens)) if right and 0 <= size <= len(text) else (0, 0)

    def keep(self, text: str) -> None:
        """Keep the count of a memory, where it is worth it and counting is cheap by now."""
        if not self._folder or self._known is None or not self._estimator.loaded or len(text) < _WORTH:
            return
        done, tokens = self._known
        if len(text) < done * _OUTGROWN or len(text) - done > _MOST:
            return
        kept = {
            "characters": len(text),
            "tokens": tokens + self._estimator.count(text[done:]),
            "vocabulary": self._estimator.vocabulary,
            "digest": _digest(text),
        }
        with (
            suppress(AgentMemError, OSError),
            Folder.open(self._folder) as folder,
            folder.child(PRIVATE_FOLDER) as private,
        ):
            private.replace(TALLY_FILE, [json.dumps(kept).encode()])


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
