"""What a check-up finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """Something a person should know about a workspace.

    Attributes:
        kind: one word or two that stay the same, such as `mode` or `torn entry`.
        path: the file or folder it is about.
        says: what is the matter, and what to do where nothing can be repaired.
        line: the line in the file, counted from 1, or None.
        grave: whether something is wrong; the rest is good to know.
        step: what repairing does, or "" where a repair could lose bytes or there is none.
        repair: does it.
    """

    kind: str
    path: Path
    says: str
    line: int | None = None
    grave: bool = True
    step: str = ""
    repair: Callable[[], object] | None = None
