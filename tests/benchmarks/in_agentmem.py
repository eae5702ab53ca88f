"""Open an agent that has a memory and find out whether to send or to compact: `in_agentmem.py AGENT`."""

from __future__ import annotations

import sys

from agentmem import Agent

with Agent(agent_name=sys.argv[1], model_name="gpt-4o", max_loops=1) as agent:
    assert agent.context_compressor
    if not agent.context_compressor.due(agent.meter):
        print(len(agent.window.prompt.messages()))
