"""One agent's folder: durable appends, steady reads, and rewrites that lose nothing."""

from __future__ import annotations

from agentmem.memory.archives import Archive
from agentmem.memory.reading import Changes, Cursor, Snapshot
from agentmem.memory.removal import Forgotten
from agentmem.memory.rewriting import Fold
from agentmem.memory.store import Memory

__all__ = ["Archive", "Changes", "Cursor", "Fold", "Forgotten", "Memory", "Snapshot"]
