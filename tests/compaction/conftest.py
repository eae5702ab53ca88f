from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem import Agent, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.loopback import Provider

    Opener = Callable[..., Agent]


@pytest.fixture
def told() -> list[str]:
    """The notices of the agents that `opened` opens."""
    return []


@pytest.fixture
def opened(provider: Provider, told: list[str]) -> Iterator[Opener]:
    """Opens the agent Ada with settings, and fills its memory with what was said."""
    agents: list[Agent] = []
    assert provider

    def open_agent(said: Sequence[tuple[str, str]] = (), **flags: object) -> Agent:
        given = {"context_length": 8192, "keep_tokens": 0, "model": "gpt-4o", **flags}
        agent = Agent("Ada", resolved=settings.load(given), notice=told.append)
        agents.append(agent)
        for role, text in said:
            agent.short_memory.add(role, text)
        if said:
            agent.window.measure()
        return agent

    yield open_agent
    for agent in agents:
        agent.close()
