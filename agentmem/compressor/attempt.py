"""One compaction up to its commit: split, ledger, summary, checks, exact details."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentmem.compressor.details import complete, covered, missing_lines
from agentmem.compressor.extract import extract
from agentmem.compressor.grounding import invented, without
from agentmem.compressor.ledger import Ledger, collect, previous_summary
from agentmem.compressor.report import Compaction
from agentmem.compressor.split import split
from agentmem.errors import AgentMemError, CompactionFailed, ContextOverflow, ModelError, NothingToCompact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem.compressor.ledger import Detail
    from agentmem.compressor.summariser import Draft, Summariser
    from agentmem.conversation import Conversation
    from agentmem.tokens import Meter
    from agentmem.turns import Turn

_KEEP_SHARE, _KEEP_TOKENS = 0.10, 4000
_LEDGER_SHARE, _LEDGER_TOKENS, _LEDGER_MOST = 0.05, 500, 1 / 8
_SUMMARY_MOST = 1 / 5  # of the window: with the tail and the ledger, well below half of the trigger
_COVERAGE = 0.9
_FENCE = 100  # tokens of the label and the marks around the summary in a request
_LEAST_SUMMARY = 64  # tokens a summary by a model needs to be worth the call
_LEAST = 24  # tokens without which no summary at all can be made


def render(turn: Turn) -> str:
    """Return a turn as the summariser reads it."""
    return f"[{turn.timestamp}] {turn.role}: {turn.content}"


@dataclass(frozen=True)
class Limits:
    """How many tokens a compaction may leave.

    Attributes:
        keep: of recent talk, word for word.
        ledger: of details appended to the summary.
        summary: of the summary's own text.
        asked: whether `keep` was asked for rather than the default.
        fixed: tokens of every request besides the record.
        capacity: tokens the next request may take, or None while it fits.
    """

    keep: int
    ledger: int
    summary: int
    asked: bool
    fixed: int
    capacity: int | None

    @classmethod
    def of(cls, length: int, keep: int | None, trigger: float, fixed: int, capacity: int | None) -> Limits:
        """Return the limits for a context length; what the fixed part takes is not given to the tail."""
        # Of what the fixed part leaves below the trigger a quarter stays free, or it would fire again at once.
        free = max(0, int(trigger - fixed), (length - fixed) // 2)
        usual = min(int(_KEEP_SHARE * length), _KEEP_TOKENS, free // 4)
        ledger = min(max(int(_LEDGER_SHARE * length), _LEDGER_TOKENS), int(_LEDGER_MOST * length), free // 6)
        return cls(
            usual if keep is None else keep,
            ledger,
            max(_LEAST_SUMMARY, min(int(_SUMMARY_MOST * length), free // 3)),
            keep is not None,
            fixed,
            capacity,
        )


class KeptResults:
    """Results of the summariser's calls, in memory and, as far as that is possible, on disk."""

    def __init__(self, conversation: Conversation, *, write: bool) -> None:
        self._conversation = conversation
        self._write = write
        self._results: dict[str, str] = {}
        with suppress(AgentMemError):
            self._results = conversation.memory.summary_parts() if conversation.memory else {}

    def get(self, key: str) -> str | None:
        """Return a kept result."""
        return self._results.get(key)

    def keep(self, key: str, text: str) -> None:
        """Keep a result; one that cannot be written is only paid for again after a crash."""
        self._results[key] = text
        memory, snapshot = self._conversation.memory, self._conversation.snapshot
        if self._write and memory and snapshot:
            with suppress(AgentMemError):
                memory.keep_summary_part(key, text, snapshot)


@dataclass
class Attempt:
    """One try at a compaction.

    Attributes:
        kept: the turns that stay word for word, once `run` has returned.
    """

    conversation: Conversation
    summariser: Summariser
    limits: Limits
    meter: Meter
    pending: Turn | None
    focus: str
    by_model: bool = True
    kept: list[Turn] = field(default_factory=list)
    _sizes: dict[int, int] = field(default_factory=dict)
    _invented: set[str] = field(default_factory=set)

    def run(self, summary: str | None) -> Compaction:
        """Make a summary and return what it would do; errors as `ContextCompressor.compress`."""
        record = self.conversation.record
        head = self._split(record)
        if not head:
            raise NothingToCompact("nothing to compact: all there is stays word for word")
        forced = summary is not None or self.focus or self.limits.capacity is not None
        if not forced and self.conversation.memory and all(turn.is_summary for turn in head):
            raise NothingToCompact(
                "nothing to compact: nothing was said since the last compaction that may go"
            )
        if summary is not None:  # a person decided what is worth keeping
            return self._report(head, Ledger(), Compaction(summary=summary.strip()))
        ledger = collect(head)
        try:
            if not self.by_model:
                raise CompactionFailed("the model's last summaries were of no use")
            made = self._by_model(head, ledger)
            if self._tokens(made.summary) > self._left:
                raise CompactionFailed("the summary is too long for what is left of the window")
        except (ModelError, CompactionFailed) as error:
            if self.limits.capacity is None:
                raise
            made = self._without_model(head, ledger, str(error))
        return self._report(head, ledger, made)

    # What goes and what stays

    def _size(self, turn: Turn) -> int:
        size = self._sizes.get(id(turn))
        if size is None:
            size = self._sizes[id(turn)] = self.meter.estimate(render(turn))
        return size

    def _tokens(self, text: str) -> int:
        return self.meter.size(text)

    def _split(self, record: list[Turn]) -> list[Turn]:
        head, self.kept = split(record, self.limits.keep, self._size, self.pending)
        wanted = min(self.limits.summary + self.limits.ledger, 1000)
        if self.limits.capacity is not None and self._left < wanted:
            head, self.kept = split(record, 0, self._size, self.pending)
        return head

    @property
    def _left(self) -> int:
        """Tokens that the summary may take, details and all."""
        if self.limits.capacity is None:
            return self.meter.context_length
        stays = sum(map(self._size, self.kept))
        return self.limits.capacity - self.limits.fixed - stays - _FENCE

    # With a model

    def _by_model(self, head: list[Turn], ledger: Ledger) -> Compaction:
        before = sum(map(self._size, head))
        details = min(self.limits.ledger, self._left // 3)
        budget = min(self.summariser.max_tokens, self.limits.summary, self._left - details, before * 3 // 4)
        if budget < _LEAST_SUMMARY and self.limits.capacity is not None:
            raise CompactionFailed("the window leaves no room for more")
        draft = self._draft(head, max(16, budget))
        prose = self._grounded(draft.text, head)
        core = ledger.within(details, self._tokens)
        prose, retried = self._with_coverage(prose, core, head, max(16, budget))
        size = self._tokens(prose)
        if size >= before:
            raise CompactionFailed("the summary is no smaller than what it would replace")
        details = min(details, before - size - 8, self._left - size - 8)
        done = complete(prose, ledger, details, self._tokens, unread=draft.unread)
        return Compaction(
            summary=done.text,
            left_out=draft.left_out,
            unread=draft.unread,
            invented=len(self._invented),
            retried=retried,
        )

    def _draft(self, head: list[Turn], budget: int) -> Draft:
        said = [render(turn) for turn in head if not turn.is_summary]
        try:
            return self.summariser.draft(previous_summary(head), said, self.focus, budget)
        except ContextOverflow as overflow:
            # The tokens are fewer by our count than by the model's own: leave more room.
            window = self.summariser.window
            stated = overflow.limit if overflow.limit and overflow.limit < window else window * 3 // 4
            self.summariser.window = stated
        return self._draft(head, budget)

    def _grounded(self, prose: str, head: list[Turn]) -> str:
        """Return a summary without what nobody said."""
        claims = invented(prose, self._sources(head))
        clean = without(prose, claims)
        if not any(character.isalnum() for character in clean):
            raise CompactionFailed("the model's summary told only what nobody said")
        self._invented |= {claim.text for claim in claims}
        return clean

    def _sources(self, head: list[Turn]) -> Iterator[str]:
        yield "\n".join([self.focus, *(render(turn) for turn in [*head, *self.kept])])
        memory = self.conversation.memory
        if not memory:
            return
        with suppress(AgentMemError):
            archives = memory.archives()
            yield "\n".join(archive.name for archive in archives)
            for archive in reversed(archives):
                yield memory.read_archive(archive.name)[1].decode("utf-8", "replace")

    def _with_coverage(
        self, prose: str, core: list[Detail], head: list[Turn], budget: int
    ) -> tuple[str, bool]:
        """Return a summary that holds nine tenths of the details, asking once more where it does not."""
        # Rules are appended in any case, and what is a name is a guess: neither is worth a call by itself.
        wanted = [detail for detail in core if detail.fact.kind not in {"rule", "name"}]
        held = covered(wanted, prose)
        if len(held) >= _COVERAGE * len(wanted) or self.summariser.calls >= self.summariser.max_calls:
            return prose, False
        known = {detail.folded for detail in covered(core, prose)}
        missing = [detail for detail in core if detail.folded not in known]
        with suppress(ModelError, CompactionFailed):  # what it lacks is appended all the same
            room = self.summariser.room(self.focus) - self._tokens(prose)
            lines = missing_lines(missing, min(room, 2 * self.limits.ledger), self._tokens)
            if not lines:
                return prose, False
            again = self._grounded(self.summariser.revise(prose, lines, self.focus, budget), head)
            if len(covered(wanted, again)) > len(held):
                return again, True
        return prose, True

    # Without one

    def _without_model(self, head: list[Turn], ledger: Ledger, failure: str) -> Compaction:
        room = min(self._left, self.limits.summary + self.limits.ledger, sum(map(self._size, head)) - 1)
        if room < _LEAST:
            raise CompactionFailed(failure)
        details = room // 2
        prose = extract(head, room - details, self._tokens)
        done = complete(prose, ledger, room - self._tokens(prose) - 8, self._tokens)
        return Compaction(summary=done.text, extractive=True, failure=failure)

    def _report(self, head: list[Turn], ledger: Ledger, made: Compaction) -> Compaction:
        """Return the report with the figures."""
        stays = self.limits.fixed + sum(map(self._size, self.kept))
        text = "\n".join([made.summary, *(turn.content for turn in self.kept)])
        return replace(
            made,
            before=stays + sum(map(self._size, head)),
            after=stays + self._tokens(made.summary) + _FENCE,
            summarised=len(head),
            kept=len(self.kept),
            calls=self.summariser.calls,
            usage=self.summariser.usage,
            details=len(ledger.details),
            details_kept=len(covered(ledger.details, text)),
        )
