"""The exception family; each class carries the exit status the program ends with.

AgentMemError (1)
├── UsageError (2)
│   └── InvalidAgentName
├── RequestTooLarge (65)
├── NotFound (66)
├── ModelError (1)
│   ├── ModelUnreachable (69)
│   ├── RateLimited (75)
│   ├── KeyRejected (77)
│   ├── ModelNotFound (78)
│   ├── ToolsNotSupported (78)
│   └── ContextOverflow (65)
├── CompactionFailed (1)
│   └── NothingToCompact
├── ImportRefused (1)
├── StorageError (74)
│   ├── MemoryUnreadable
│   ├── MemoryUnwritable
│   └── MemoryChanged
├── FolderLocked (75)
└── ConfigurationError (78)
"""

from __future__ import annotations


class AgentMemError(Exception):
    """Anything agentmem reports in one line instead of a traceback."""

    exit_code = 1


class UsageError(AgentMemError):
    """The command, argument or option value makes no sense."""

    exit_code = 2


class InvalidAgentName(UsageError):
    """An agent's name that cannot become a folder name on every system."""


class RequestTooLarge(AgentMemError):
    """The next request cannot fit the model's context window, whatever is compacted."""

    exit_code = 65


class NotFound(AgentMemError):
    """No such agent, archive or entry."""

    exit_code = 66


class ModelError(AgentMemError):
    """The model's provider answered with an error that has no class of its own."""


class ModelUnreachable(ModelError):
    """The provider did not answer, answered with a server error, or broke off."""

    exit_code = 69


class RateLimited(ModelError):
    """The provider asks to try again later."""

    exit_code = 75


class KeyRejected(ModelError):
    """The provider does not accept the key, or the key lacks the right."""

    exit_code = 77


class ModelNotFound(ModelError):
    """The provider does not know the model or the address."""

    exit_code = 78


class ToolsNotSupported(ModelError):
    """The model or its endpoint refuses requests that offer tools."""

    exit_code = 78


class ContextOverflow(ModelError):
    """The provider refused a request as longer than the model's context.

    Attributes:
        limit: the context length in tokens that the refusal states, or None.
    """

    exit_code = 65

    def __init__(self, message: str, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class CompactionFailed(AgentMemError):
    """No usable summary was made; MEMORY.md is untouched."""


class NothingToCompact(CompactionFailed):
    """All there is stays word for word, or is a summary already."""


class ImportRefused(AgentMemError):
    """A file to import cannot be read or is not what it seems; nothing of it was taken."""


class StorageError(AgentMemError):
    """The memory folder cannot be used."""

    exit_code = 74


class MemoryUnreadable(StorageError):
    """MEMORY.md, an archive or their folder cannot be read."""


class MemoryUnwritable(StorageError):
    """MEMORY.md or its folder refused a write; nothing was stored."""


class MemoryChanged(StorageError):
    """MEMORY.md was changed by someone else since it was read; nothing was written."""


class FolderLocked(AgentMemError):
    """Another process holds the agent's folder for longer than the bounded wait."""

    exit_code = 75


class ConfigurationError(AgentMemError):
    """No model, no key, or a settings file that cannot be used."""

    exit_code = 78
