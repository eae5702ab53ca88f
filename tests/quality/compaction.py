"""How much of a long conversation is left after one to five compactions: `python -m tests.quality.compaction`.

Generated conversations with facts planted at known places run through a scripted summariser of each kind
over a loopback server. The figures of each generation: planted facts whose words still stand in MEMORY.md, rules
of the user among them, invented identifiers stored, tokens before and after, calls made. `--embedded` does the
same with the embedded model, which takes minutes; `--tight` shows what is left where the next request would not
fit, so that a useless summary is replaced by one made without a model.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem import Agent, settings
from agentmem.errors import AgentMemError
from tests.compaction.talks import INVENTED, RULES, SUMMARISERS, Planted, summarising, talk
from tests.loopback import Provider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.compressor import Compaction

GENERATIONS = 5
MODEL = "gpt-4o"


@dataclass(frozen=True)
class Row:
    """What one generation left.

    Attributes:
        kind: the summariser.
        generation: from 1 on.
        kept: planted facts that stand in MEMORY.md.
        planted: planted facts so far.
        rules: the user's rules that stand there, of those given.
        given: rules given so far.
        latest: whether the last of the budgets that replaced one another stands there, after all others.
        invented: invented identifiers that were stored.
        before: tokens of the request before.
        after: tokens after.
        calls: calls of the summariser; None when nobody counted them.
        outcome: what happened.
    """

    kind: str
    generation: int
    kept: int
    planted: int
    rules: int
    given: int
    latest: bool
    invented: int
    before: int
    after: int
    calls: int | None
    outcome: str


def generations(
    kind: str,
    root: Path,
    *,
    exchanges: int,
    window: int,
    seed: int,
    provider: Provider | None,
    tight: bool = False,
) -> Iterator[Row]:
    """Run a conversation through compactions.

    Args:
        kind: the summariser, or `embedded`.
        root: a fresh workspace.
        exchanges: of the conversation in each generation.
        window: the context length in tokens.
        seed: of the conversation.
        provider: where the scripted summarisers answer.
        tight: let a chat compact, in a window that the next request would not fit.
    """
    flags = {"model": MODEL if provider else "local", "context_length": window, "keep_tokens": 0}
    flags |= {} if provider else {"summarizer_max_tokens": 300}
    budgets: list[str] = []
    planted: list[Planted] = []
    with Agent("Ada", workspace_dir=root, resolved=settings.load(flags), notice=_silent) as agent:
        memory = agent.short_memory.memory
        if not memory:
            raise RuntimeError("the measure needs a memory on disk")
        for number in range(GENERATIONS):
            made = talk(seed, exchanges, start=number * exchanges)
            planted += made.planted
            budgets += [made.budget] if made.budget else []
            for role, text in made.turns:
                agent.short_memory.add(role, text)
            agent.window.measure()
            before, asked = agent.meter.tokens, len(provider.asked) if provider else 0
            calls: int | None = None
            outcome = "compacted"
            try:
                report = _in_a_chat(agent) if tight else agent.compact()
                calls = report.calls
                outcome = f"made without a model: {report.failure}" if report.extractive else outcome
            except AgentMemError as error:
                calls, outcome = len(provider.asked) - asked if provider else None, f"unchanged: {error}"
            text = memory.path.read_text(encoding="utf-8")
            rules = [rule for rule in RULES if any(fact.text == rule for fact in planted)]
            yield Row(
                kind,
                number + 1,
                sum(fact.text in text for fact in planted),
                len(planted),
                sum(rule in text for rule in rules),
                len(rules),
                all(text.rfind(each) <= text.rfind(budgets[-1]) for each in budgets),
                sum(each in text for each in INVENTED),
                before,
                agent.meter.tokens,
                calls,
                outcome,
            )


def _in_a_chat(agent: Agent) -> Compaction:
    """Say something that makes room necessary; returns what the compaction did."""
    earlier = len(agent.room.compactions)
    agent.meter.context_length = agent.meter.tokens + 50
    agent.run("and?")
    agent.meter.context_length = agent.settings.context_length or agent.meter.context_length
    return agent.room.compactions[earlier]


def _silent(_message: str) -> None:
    """Say nothing."""


def measure(
    kinds: list[str], *, exchanges: int, window: int, seed: int, tight: bool = False
) -> Iterator[Row]:
    """Measure scripted summarisers, each in a workspace of its own."""
    for kind in kinds:
        with Provider() as provider, tempfile.TemporaryDirectory() as root:
            os.environ.update(OPENAI_API_KEY="sk-loopback-0123456789", OPENAI_BASE_URL=provider.url)
            provider.answers.append(summarising(SUMMARISERS[kind]))
            yield from generations(
                kind,
                Path(root),
                exchanges=exchanges,
                window=window,
                seed=seed,
                provider=provider,
                tight=tight,
            )


HEAD = f"{'summariser':14} {'gen':>3} {'coverage':>16} {'rules':>6} {'latest':>6} {'invented':>8} {'before':>7} {'after':>7} {'calls':>5}  outcome"


def line(row: Row) -> str:
    """Return a row as it is printed."""
    coverage = f"{row.kept}/{row.planted} {100 * row.kept / row.planted:6.1f} %"
    return (
        f"{row.kind:14} {row.generation:>3} {coverage:>16} {row.rules}/{row.given:<4} {'yes' if row.latest else 'no':>6} {row.invented:>8} {row.before:>7} "
        f"{row.after:>7} {'?' if row.calls is None else row.calls:>5}  {row.outcome}"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--exchanges", type=int, default=6, help="of each generation")
    parser.add_argument("--window", type=int, default=32_000, help="context length in tokens")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tight", action="store_true", help="compact where the next request would not fit")
    parser.add_argument("--embedded", action="store_true", help="the embedded model instead of scripted ones")
    given = parser.parse_args()
    print(HEAD)
    if given.embedded:
        with tempfile.TemporaryDirectory() as root:
            for row in generations(
                "embedded", Path(root), exchanges=given.exchanges, window=8192, seed=given.seed, provider=None
            ):
                print(line(row), flush=True)
        return
    for row in measure(
        list(SUMMARISERS),
        exchanges=given.exchanges,
        window=given.window,
        seed=given.seed,
        tight=given.tight,
    ):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
