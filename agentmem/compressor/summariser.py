"""Summaries by a model: in one call where the record fits its window, else part by part and merged."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agentmem.compressor import prompts
from agentmem.compressor.answers import cleaned, objection
from agentmem.compressor.chunking import BETWEEN, parts
from agentmem.errors import CompactionFailed
from agentmem.models.base import Finish, Message, Request, TextDelta, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem.models.base import Model

_OVERHEAD = 80  # tokens of the marks and the chat format around what is to be condensed
_LEAST = 48  # tokens of the notes on a part, at least
_WORDS = 0.6  # words a token stands for, with room to spare
_NO_SMALLER = "the summary is no smaller than what it would replace"


class Results(Protocol):
    """Where the results of calls are kept, so that a compaction that is run again need not pay for them twice."""

    def get(self, key: str) -> str | None:
        """Return a kept result."""
        ...

    def keep(self, key: str, text: str) -> None:
        """Keep a result."""
        ...


@dataclass(frozen=True)
class Draft:
    """What came of the model's work.

    Attributes:
        text: the summary.
        unread: tokens of the oldest text that there were no calls for.
        left_out: parts that is.
    """

    text: str
    unread: int = 0
    left_out: int = 0


@dataclass
class Summariser:
    """A model that condenses text.

    Attributes:
        model: the model.
        window: its context length in tokens.
        temperature: sampling temperature.
        max_tokens: tokens of an answer at most.
        max_calls: calls of one run at most.
        count: tokens of a text.
        results: where results are kept.
        progress: told the part under way and the number of parts.
        calls: calls made so far.
        usage: what the provider said they took, summed up.
    """

    model: Model
    window: int
    temperature: float
    max_tokens: int
    max_calls: int
    count: Callable[[str], int]
    results: Results
    progress: Callable[[int, int], None]
    calls: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost=0.0))
    _corrected: bool = False
    _planned: int = 0
    _part: int = 0
    _parts: int = 0

    @property
    def output(self) -> int:
        """Tokens of one answer at most: no more than a quarter of the model's own window."""
        return max(16, min(self.max_tokens, self.window // 4))

    def room(self, focus: str) -> int:
        """Return the tokens of text one call can condense.

        Raises:
            CompactionFailed: there is none to speak of.
        """
        instructions = prompts.focused(f"{prompts.TASK} {prompts.MERGE}", focus, 0)
        room = self.window - self.window // 50 - self.output - self.count(instructions) - _OVERHEAD
        if room < 2 * _LEAST:
            raise CompactionFailed(
                f"the context window of {self.model.name}, {self.window} tokens, is too small to summarise anything"
            )
        return room

    def draft(self, previous: str, texts: Sequence[str], focus: str, budget: int) -> Draft:
        """Condense a record.

        Args:
            previous: the summary of what came before it, or "".
            texts: the record, oldest first.
            focus: what the user wants kept above all, or "".
            budget: tokens the summary should take at most.

        Raises:
            ModelError: the model did not answer.
            CompactionFailed: it answered nothing that can be used.
        """
        room = self.room(focus)
        before = self.count(previous) if previous else 0
        if before > room // 2:
            texts, previous, before = [previous, *texts], "", 0
        cut = parts(texts, room, self.count)
        if len(cut) <= 1 and before + (self.count(cut[0]) if cut else 0) <= room:
            self._planned, self._part, self._parts = 0, 0, 1
            return Draft(self._ask(prompts.TASK, prompts.blocks(previous, "".join(cut)), focus, budget))
        number = self._affordable(len(cut), before, room)
        if not number:
            return self._newest(previous, before, texts, focus, budget)
        left, cut = cut[: len(cut) - number], cut[len(cut) - number :]
        note = self._note(number, room - before)
        merges = _merges([before] * bool(before) + [note] * number, room)
        self._planned, self._part, self._parts = number + merges, 0, number + merges
        notes = [self._condense(part, focus, note) for part in cut]
        text = self._merge(previous, notes, focus, budget, room)
        return Draft(text, sum(self.count(part) for part in left), len(left))

    def revise(self, draft: str, missing: Sequence[str], focus: str, budget: int) -> str:
        """Write a summary again with details it lacks worked in; errors as `draft`."""
        self._planned, self._parts = 0, self._part + 1
        text = (
            f"{prompts.block('condensed-record', draft)}\n\n{prompts.block('details', BETWEEN.join(missing))}"
        )
        return self._ask(f"{prompts.TASK} {prompts.REVISE}", text, focus, budget, grows=True)

    def _note(self, number: int, room: int) -> int:
        """Return the tokens of the notes on each of some parts, so that all of them fit one merge."""
        return max(_LEAST, min(self.output, room // number))

    def _affordable(self, number: int, before: int, room: int) -> int:
        """Return how many parts can be condensed and merged within the calls allowed, one kept for a retry."""
        allowed = max(1, self.max_calls - 1)
        while number:
            notes = [before] * bool(before) + [self._note(number, room - before)] * number
            if number + _merges(notes, room) <= allowed:
                return number
            number -= 1
        return 0

    def _newest(self, previous: str, before: int, texts: Sequence[str], focus: str, budget: int) -> Draft:
        """Condense in a single call the newest text that fits it."""
        cut = parts(texts, max(_LEAST, self.room(focus) - before), self.count)
        self._planned, self._part, self._parts = 0, 0, 1
        text = self._ask(prompts.TASK, prompts.blocks(previous, cut[-1]), focus, budget)
        return Draft(text, sum(self.count(part) for part in cut[:-1]), len(cut) - 1)

    def _condense(self, part: str, focus: str, budget: int) -> str:
        if self.count(part) <= budget:  # as short as its notes may be: it goes into the merge as it is
            self._planned -= 1
            self._part += 1
            return part
        return self._ask(f"{prompts.TASK} {prompts.PART}", prompts.blocks("", part), focus, budget)

    def _merge(self, previous: str, notes: list[str], focus: str, budget: int, room: int) -> str:
        instructions = f"{prompts.TASK} {prompts.MERGE}"
        while True:
            before = self.count(previous) if previous else 0
            groups = parts(notes, room - before, self.count)
            if len(groups) == 1:
                # With one part only, and nothing before it, its notes are the summary.
                if len(notes) == 1 and not previous:
                    return notes[0]
                return self._ask(instructions, prompts.blocks(previous, groups[0]), focus, budget)
            groups = parts(notes, room, self.count)
            if len(groups) >= len(notes):
                raise CompactionFailed(_NO_SMALLER)
            notes = [self._condense(group, focus, self._note(len(groups), room)) for group in groups]

    def _ask(self, instructions: str, text: str, focus: str, budget: int, *, grows: bool = False) -> str:
        """Return what the model makes of a text; an answer of no use is asked for once more a run."""
        self._part += 1
        self._planned = max(0, self._planned - 1)
        self.progress(self._part, max(self._part, self._parts))
        key = _key(self.model.name, instructions, focus, text)
        if (kept := self.results.get(key)) is not None:
            return kept
        budget = min(budget, self.output)
        system = prompts.focused(instructions, focus, max(16, int(budget * _WORDS)))
        largest = self.count(text)
        problem = ""
        while True:
            answer, finish = self._call(system, text, problem)
            answer = cleaned(answer)
            problem = objection(answer, finish)
            if not problem and not grows and self.count(answer) >= largest:
                problem = _NO_SMALLER
            if not problem:
                self.results.keep(key, answer)
                return answer
            # Once a run: a model that cannot do it will not learn it part by part.
            if self._corrected or self.calls + self._planned >= self.max_calls:
                raise CompactionFailed(problem)
            self._corrected = True

    def _call(self, system: str, text: str, problem: str) -> tuple[str, str]:
        if self.calls >= self.max_calls:
            raise CompactionFailed(f"{self.max_calls} calls were not enough; max_summary_calls allows more")
        self.calls += 1
        wish = "Write the condensed record."
        if problem:
            wish = f"Your last answer could not be used: {problem}. Write the condensed record, shorter, and nothing else."
        request = Request(
            (Message("system", system), Message("user", f"{text}\n\n{wish}")),
            temperature=self.temperature,
            max_tokens=self.output,
        )
        said: list[str] = []
        finish = ""
        with closing(self.model.stream(request)) as stream:
            for piece in stream:
                if isinstance(piece, TextDelta):
                    said.append(piece.text)
                elif isinstance(piece, Finish):
                    finish = piece.reason
                elif isinstance(piece, Usage):
                    self.usage += piece
        return "".join(said), finish


def _merges(notes: list[int], room: int) -> int:
    """Return the calls it takes to merge notes of these sizes into one, or a great many when it cannot be done."""
    calls = 0
    while len(notes) > 1:
        groups, used = 1, 0
        for size in notes:
            if used and used + size + 1 > room:
                groups, used = groups + 1, 0
            used += size + 1
        if groups >= len(notes):
            return 1_000_000
        calls += groups
        notes = [max(_LEAST, room // groups // 2)] * groups if groups > 1 else [1]
    return calls


def _key(*parts_of_it: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for each in parts_of_it:
        digest.update(each.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()
