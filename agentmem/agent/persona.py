"""The system prompt and the rules of a session, which may be edited in their files while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentmem import settings
from agentmem.entries import storable
from agentmem.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentmem.conversation import Conversation


class Persona:
    """Who the agent is and what it keeps to, as its files say.

    Args:
        conversation: has the system prompt and the rules.
        sources: where each setting comes from.
        notice: told when a file cannot be read any more.
    """

    def __init__(
        self, conversation: Conversation, sources: Mapping[str, str], notice: Callable[[str], None]
    ) -> None:
        self._conversation = conversation
        self._notice = notice
        self._files = {
            name: Path(source)
            for name in ("system_prompt", "rules")
            if (source := sources.get(name, "")).endswith(".toml")
        }
        self._read = {name: getattr(conversation, name) for name in self._files}

    def read_again(self) -> None:
        """Take both from their files afresh, unless this session replaced them."""
        for name, file in self._files.items():
            if getattr(self._conversation, name) != self._read[name]:
                continue
            try:
                text = settings.read_file(file).get(name, "")
            except ConfigurationError as error:
                self._notice(f"{error}; going on with what it said before")
                continue
            self._read[name] = storable(str(text))
            setattr(self._conversation, name, self._read[name])
