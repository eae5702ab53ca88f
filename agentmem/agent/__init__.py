"""`Agent`: the order in which things happen in a run."""

from __future__ import annotations

from agentmem.agent.core import AUTO_LIMIT, Agent
from agentmem.agent.reply import Reply

__all__ = ["AUTO_LIMIT", "Agent", "Reply"]
