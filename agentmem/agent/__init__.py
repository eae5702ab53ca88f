"""`Agent`: the order in which things happen in a run."""

from __future__ import annotations

from agentmem.agent.core import Agent
from agentmem.agent.reply import Reply
from agentmem.agent.steps import AUTO_LIMIT, RunReport

__all__ = ["AUTO_LIMIT", "Agent", "Reply", "RunReport"]
