"""Opening the agent in the background, while the person types."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.agent import Agent


class Opening:
    """Opens an agent on a thread of its own and gets everything ready that the first turn needs.

    Args:
        open_agent: opens it; slow.
        ready: called, on that thread, once it is open, or failed to.
    """

    def __init__(self, open_agent: Callable[[], Agent], ready: Callable[[], None]) -> None:
        self._open_agent = open_agent
        self._ready = ready
        self._done = threading.Event()
        self._agent: Agent | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="opening", daemon=True)

    def start(self) -> None:
        """Begin, unless that was done before."""
        if not self._done.is_set() and self._thread.ident is None:
            self._thread.start()

    @property
    def agent(self) -> Agent | None:
        """The agent, if it is open by now."""
        return self._agent if self._done.is_set() else None

    def wait(self) -> Agent:
        """Return the agent once it is open.

        Raises:
            AgentMemError: what opening it raised.
        """
        self.start()
        self._done.wait()
        if self.error:
            raise self.error
        assert self._agent is not None  # noqa: S101 - told to mypy: there is one where there is no error
        return self._agent

    def _run(self) -> None:
        try:
            agent = self._open_agent()
            # This may ask the endpoint. Nothing is counted yet: loading the vocabulary keeps the
            # interpreter, and with it the keyboard, for a quarter of a second.
            _ = agent.meter
            self._agent = agent
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.error = error
        self._done.set()
        self._ready()
        if self._agent:
            _warm(self._agent)


def _warm(agent: Agent) -> None:
    """Load what the first turn would wait for: what draws Markdown, and the way to the model."""
    from agentmem import models
    from agentmem.repl import flow  # noqa: F401

    with suppress(AgentMemError):  # the first turn says what is wrong
        models.warm(agent.model)
