"""What is measured on: memories, workspaces and replies made from a seed."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from pydoc_data.topics import topics
from typing import TYPE_CHECKING

from agentmem.entries import make_entry, make_header

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_PAGES = " ".join(topics.values()).split()


class Inputs:
    """Texts as a seed makes them, the same ones for the same calls in the same order.

    They are passages of Python's own reference, which is prose and code by people, with made-up names in
    between that nothing else has.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.words = [word for word, _ in Counter(word for word in _PAGES if word.isalnum()).most_common()]

    def sentence(self, words: int) -> str:
        """Return so many words."""
        start = self._random.randrange(len(_PAGES) - words)
        return " ".join(_PAGES[start : start + words])

    def name(self) -> str:
        """Return a name nobody has used."""
        letters = self._random.choices("abcdefghijklmnopqrstuvwxyz", k=self._random.randint(4, 9))
        return f"{''.join(letters)}-{self._random.randrange(10_000)}"

    def message(self) -> str:
        """Return what one turn may say: around 900 bytes, from a few words to a page."""
        words = min(1200, int(self._random.lognormvariate(4.4, 1.0)) + 2)
        return f"{self.name()}: {self.sentence(words)}"

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
