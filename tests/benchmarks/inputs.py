"""What is measured on: memories, workspaces and replies made from a seed."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from agentmem.entries import make_entry, make_header

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
VOCABULARY = 20_000


class Inputs:
    """Texts as a seed makes them, the same ones for the same calls in the same order.

    Words follow Zipf's law, as in what people write: a few are everywhere, most are rare.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.words = [self._word() for _ in range(VOCABULARY)]
        self._shares: list[float] = []
        total = 0.0
        for rank in range(VOCABULARY):
            total += 1 / (rank + 3)
            self._shares.append(total)

    def _word(self) -> str:
        syllables = self._random.randint(1, 4)
        return "".join(
            self._random.choice("bcdfghklmnprstvwz") + self._random.choice("aeiou") for _ in range(syllables)
        )

    def sentence(self, words: int) -> str:
        """Return so many words."""
        return " ".join(self._random.choices(self.words, cum_weights=self._shares, k=words))

    def message(self) -> str:
        """Return what one turn may say: around 900 bytes, from a few words to a page."""
        return self.sentence(min(1200, int(self._random.lognormvariate(4.4, 1.0)) + 2))

    def entries(self, agent: str) -> Iterator[bytes]:
        """Yield entries, the user's and the agent's in turn, half a minute apart."""
        when, asking = BEGAN, True
        while True:
            stamp = when.isoformat(timespec="microseconds")
            yield make_entry("User" if asking else agent, stamp, self.message()).raw
            when, asking = when + timedelta(seconds=30), not asking

    def memory(self, folder: Path, *, entries: int | None = None, size: int | None = None) -> Path:
        """Write an agent's MEMORY.md with so many entries, or of at least so many bytes; returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "MEMORY.md"
        with path.open("wb") as file:
            file.write(make_header(f"{folder.name}_id_benchmark_conversation", BEGAN.isoformat()))
            for count, raw in enumerate(self.entries(folder.name)):
                if count == entries or (size is not None and file.tell() >= size):
                    break
                file.write(raw)
        return path

    def markdown(self, tokens: int) -> str:
        """Return a Markdown reply of about so many tokens, four bytes each."""
        parts: list[str] = []
        kinds = [self._paragraph, self._paragraph, self._list, self._code, self._table, self._heading]
        while sum(map(len, parts)) < tokens * 4:
            parts.append(self._random.choice(kinds)())
        return "\n\n".join(parts)[: tokens * 4] + "\n"

    def _paragraph(self) -> str:
        return f"{self.sentence(30)} **{self.sentence(2)}** {self.sentence(20)} `{self.sentence(1)}`."

    def _heading(self) -> str:
        return f"## {self.sentence(4)}"

    def _list(self) -> str:
        return "\n".join(f"- {self.sentence(8)}" for _ in range(5))

    def _code(self) -> str:
        lines = [f"    {self.sentence(1)} = {self.sentence(1)}({number})" for number in range(8)]
        return "\n".join(["```python", f"def {self.sentence(1)}():", *lines, "```"])

    def _table(self) -> str:
        rows = [f"| {self.sentence(1)} | {self.sentence(2)} | {number} |" for number in range(4)]
        return "\n".join(["| name | what | how many |", "|---|---|---:|", *rows])
