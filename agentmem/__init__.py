"""Persistent LLM agents with a memory you own: `Agent`, `Conversation`, `ContextCompressor`, the errors.

Names are loaded on first use (PEP 562), so that `import agentmem` stays cheap.
"""

from __future__ import annotations

# Not from typing, whose import takes as long as starting Python; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentmem.agent import Agent
    from agentmem.compressor import ContextCompressor
    from agentmem.conversation import Conversation
    from agentmem.errors import (
        AgentMemError,
        CompactionFailed,
        ConfigurationError,
        ContextOverflow,
        FolderLocked,
        ImportRefused,
        InvalidAgentName,
        KeyRejected,
        MemoryChanged,
        MemoryUnreadable,
        MemoryUnwritable,
        ModelError,
        ModelNotFound,
        ModelUnreachable,
        NotFound,
        NothingToCompact,
        RateLimited,
        RequestTooLarge,
        StorageError,
        ToolsNotSupported,
        UsageError,
    )
    from agentmem.models.base import Piece, TextDelta, ToolCall
    from agentmem.tools import Tool

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentMemError",
    "CompactionFailed",
    "ConfigurationError",
    "ContextCompressor",
    "ContextOverflow",
    "Conversation",
    "FolderLocked",
    "ImportRefused",
    "InvalidAgentName",
    "KeyRejected",
    "MemoryChanged",
    "MemoryUnreadable",
    "MemoryUnwritable",
    "ModelError",
    "ModelNotFound",
    "ModelUnreachable",
    "NotFound",
    "NothingToCompact",
    "Piece",
    "RateLimited",
    "RequestTooLarge",
    "StorageError",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolsNotSupported",
    "UsageError",
    "__version__",
]

_HOME = {
    "Agent": "agentmem.agent",
    "ContextCompressor": "agentmem.compressor",
    "Conversation": "agentmem.conversation",
    "Piece": "agentmem.models.base",
    "TextDelta": "agentmem.models.base",
    "Tool": "agentmem.tools",
    "ToolCall": "agentmem.models.base",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that owns it: an error unless `_HOME` says otherwise."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME.get(name, "agentmem.errors")), name)


def __dir__() -> list[str]:
    """List the public names without loading them."""
    return sorted(__all__)
