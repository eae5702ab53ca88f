"""What a request to forget means, what else it touches, and what may remain. Nothing here asks or prints."""

from __future__ import annotations

from agentmem.forgetting.leftovers import Remains, remains
from agentmem.forgetting.planning import EVERY, Plan, Wanted, carry_out, plan
from agentmem.forgetting.summaries import redone

__all__ = ["EVERY", "Plan", "Remains", "Wanted", "carry_out", "plan", "redone", "remains"]
