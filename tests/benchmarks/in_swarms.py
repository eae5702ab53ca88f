"""Run by the `swarms` peer: open an agent that has a memory and find out whether to send or to compact.

python in_swarms.py AGENT
"""

from __future__ import annotations

import sys

from swarms import Agent

agent = Agent(
    agent_name=sys.argv[1],
    model_name="gpt-4o",
    max_loops=1,
    persistent_memory=True,
    context_compression=True,
    print_on=False,
)
if not agent._context_compressor.should_compress(agent):
    print(len(agent.short_memory.return_history_as_string()))
