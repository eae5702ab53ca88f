"""`show --tokens`: how many tokens a memory takes, by who said them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem import figures, settings
from agentmem.cli import output, screen
from agentmem.display import visible_line
from agentmem.models import catalog, known_window
from agentmem.models.base import Usage
from agentmem.tokens import MESSAGE_OVERHEAD, Estimator

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentmem.entries import Entry


def weigh(chosen: Iterable[tuple[int, Entry]], agent: str, folder: Path, *, json: bool) -> None:
    """Print the tokens of entries by role, and what share of the model's window they take, and cost."""
    model, length = known_window(settings.load(agent_folder=folder))
    estimator = Estimator(model)
    counts = [(number, entry, estimator.count(entry.content) + MESSAGE_OVERHEAD) for number, entry in chosen]
    total = sum(tokens for _, _, tokens in counts)
    cost = catalog.cost(model, Usage(prompt_tokens=total)) if model and total else None
    cached = catalog.cost(model, Usage(prompt_tokens=total, cached_tokens=total)) if model and total else None
    if json:
        output.write_json(
            {
                "agent": agent,
                "model": model or None,
                "context_length": length,
                "tokens": total,
                "estimated": True,
                "cost": cost,
                "cached_cost": cached,
                "entries": [
                    {"number": number, "id": entry.stamp, "role": entry.role, "tokens": tokens}
                    for number, entry, tokens in counts
                ],
            }
        )
        return
    by_role: dict[str, tuple[int, int]] = {}
    for _, entry, tokens in counts:
        entries, so_far = by_role.get(entry.role, (0, 0))
        by_role[entry.role] = entries + 1, so_far + tokens
    rows = [*by_role.items(), ("total", (len(counts), total))]
    screen.print_table(
        [
            {"role": visible_line(role), "entries": str(entries), "tokens": f"~{figures.tokens(tokens)}"}
            for role, (entries, tokens) in rows
        ],
        right=("entries", "tokens"),
    )
    screen.print_lines([_share(total, model, length, cost, cached)])


def _share(total: int, model: str, length: int | None, cost: float | None, cached: float | None) -> str:
    """Return what the tokens mean for the model, in one line."""
    if not model:
        return "no model is configured: its window and price are unknown"
    window = (
        f"~{100 * total / length:.1f} % of its {figures.tokens(length)} window"
        if length
        else "window unknown"
    )
    price = "cost unknown" if cost is None else f"{figures.money(cost)} a request"
    if cost is not None and cached is not None and cached < cost:
        price += f", {figures.money(cached)} from the provider's cache"
    return f"{model}: {window} · {price}"
