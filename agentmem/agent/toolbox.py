"""The tools an agent may use, and running what a model asks for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem.errors import ConfigurationError
from agentmem.models.base import ToolSpec
from agentmem.roles import tool_role
from agentmem.tools import Tool, tool_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentmem.models.base import ToolCall

DECLINED = "error: the user declined this call; do not repeat it, ask the user instead"


class Toolbox:
    """Tools by name.

    Attributes:
        timeout: seconds one call may take; None for no limit.
        confirm: asked before each call of a tool of the user's; None lets all of them run.
    """

    def __init__(
        self,
        tools: Iterable[Callable[..., object] | Tool],
        *,
        timeout: float | None = None,
    ) -> None:
        """Take functions, or tools made by hand.

        Args:
            tools: the user's.
            timeout: seconds one call may take; None for no limit.

        Raises:
            ConfigurationError: a function cannot be a tool, or two have the same name.
        """
        self.timeout = timeout
        self.confirm: Callable[[ToolCall], bool] | None = None
        self._free: set[str] = set()
        self._tools: dict[str, Tool] = {}
        for tool in map(tool_from, tools):
            if tool.name in self._tools:
                raise ConfigurationError(f"two tools are named {tool.name!r}; rename one")
            self._tools[tool.name] = tool

    def __bool__(self) -> bool:
        """Whether there is any tool of the user's."""
        return any(name not in self._free for name in self._tools)

    def offer(self, tool: Tool, *, wanted: bool) -> None:
        """Offer a harmless tool from now on, or no longer; a tool of the user's with its name comes first."""
        if tool.name in self._free:
            del self._tools[tool.name]
            self._free.remove(tool.name)
        if wanted and tool.name not in self._tools:
            self._tools[tool.name] = tool
            self._free.add(tool.name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

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
        """Run what was asked for, one after the other; every call gets a result, whatever happens.

        Args:
            calls: what the model asks for.
            keep: told each call and its result.

        Raises:
            KeyboardInterrupt: as it came; the calls it hit have a result that says so.
        """
        done = 0
        try:
            for call in calls:
                result = self._result(call)
                done += 1
                keep(call, result)
        except BaseException as stop:
            # Ctrl-C, or a signal that ends the program; an error of the memory cannot be kept in it.
            for call in () if isinstance(stop, Exception) else calls[done:]:
                keep(call, "error: interrupted by the user")
            raise

    def _result(self, call: ToolCall) -> str:
        tool = self._tools.get(call.name)
        if tool is None:
            return f"error: there is no tool {call.name!r}; there are: {', '.join(self._tools) or 'none'}"
        if self.confirm and call.name not in self._free and not self.confirm(call):
            return DECLINED
        return tool.call(call.arguments, self.timeout)


def repeatable(call: ToolCall) -> ToolCall:
    """Return a call as later requests may show it: providers refuse arguments that are no JSON object."""
    try:
        sound = isinstance(json.loads(call.arguments), dict)
    except ValueError:
        sound = False
    return call if sound else replace(call, arguments=json.dumps({"malformed": call.arguments}))


def role_of(call: ToolCall) -> str:
    """Return the role under which a call's result is stored, whatever name the model made up."""
    return tool_role(call.name if call.name.replace("-", "_").isidentifier() else "unknown")
