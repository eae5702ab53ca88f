"""Persistent LLM agents with a memory you own: `Agent`, `Conversation`, `ContextCompressor`.

Names are loaded on first use (PEP 562), so that `import agentmem` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentmem.agent import Agent
    from agentmem.compressor import ContextCompressor
    from agentmem.conversation import Conversation
    from agentmem.errors import AgentMemError

__version__ = "0.1.0"

__all__ = ["Agent", "AgentMemError", "ContextCompressor", "Conversation", "__version__"]

_HOME = {
    "Agent": "agentmem.agent",
    "AgentMemError": "agentmem.errors",
    "ContextCompressor": "agentmem.compressor",
    "Conversation": "agentmem.conversation",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that owns it."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names without loading them."""
    return sorted(__all__)
