"""The tools an agent may use, and running what a model asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentmem.models.base import ToolSpec
from agentmem.tools import Tool, tool_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentmem.models.base import ToolCall


class Toolbox:
    """Tools by name."""

    def __init__(self, tools: Iterable[Callable[..., object] | Tool]) -> None:
        """Take functions, or tools made by hand.

        Raises:
            ConfigurationError: a function cannot be a tool.
        """
        self._tools = {tool.name: tool for tool in map(tool_from, tools)}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a model sees them."""
        return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in self._tools.values())

    @property
    def schema_text(self) -> str:
        """What the tools take of a request, as text, for counting; "" when there are none."""
        if not self._tools:
            return ""
        return json.dumps([[spec.name, spec.description, spec.parameters] for spec in self.specs])

    def run(self, calls: Sequence[ToolCall], keep: Callable[[ToolCall, str], object]) -> None:
        """Run what was asked for, in order; every call gets a result, whatever happens.

        Args:
            calls: what the model asks for.
            keep: told each call and its result.
        """
        done = 0
        try:
            for call in calls:
                tool = self._tools.get(call.name)
                keep(call, tool.call(call.arguments) if tool else f"error: there is no tool {call.name!r}")
                done += 1
        except KeyboardInterrupt:
            for call in calls[done:]:
                keep(call, "error: interrupted")
            raise


def role_of(call: ToolCall) -> str:
    """Return the role under which a call's result is stored, whatever name the model made up."""
    return f"Tool ({call.name if call.name.replace('-', '_').isidentifier() else 'unknown'})"
