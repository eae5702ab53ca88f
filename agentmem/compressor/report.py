"""What a compaction did, as a value and as the line people read."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentmem import figures
from agentmem.models.base import Usage


@dataclass(frozen=True)
class Compaction:
    """What a compaction did, or would do.

    Attributes:
        before: tokens of the next request before.
        after: tokens of it after, by the same meter.
        summarised: turns that went into the summary.
        kept: turns that stayed word for word.
        archive: name of the archive with the raw log, "" for a dry run or when nothing is on disk.
        calls: calls of the summariser.
        usage: what they took; it is no part of the conversation's own usage.
        left_out: parts too old to be summarised within the calls allowed; they are in the archive.
        unread: their tokens.
        details: exact details that the record held.
        details_kept: those that stand in the summary or in what stayed.
        invented: identifiers and quotations of the summariser's own, taken out again.
        retried: whether the summary was asked for again because of details it lacked.
        extractive: whether the summary was made without a model.
        failure: why it was made without one.
        summary: its text.
    """

    before: int = 0
    after: int = 0
    summarised: int = 0
    kept: int = 0
    archive: str = ""
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    left_out: int = 0
    unread: int = 0
    details: int = 0
    details_kept: int = 0
    invented: int = 0
    retried: bool = False
    extractive: bool = False
    failure: str = ""
    summary: str = ""

    @property
    def line(self) -> str:
        """The result in one line: `12.4k → 2.1k tokens · raw log in archive/history_….md · 41/41 details kept`."""
        parts = [
            f"{figures.tokens(self.before)} → {figures.tokens(self.after)} tokens",
            f"raw log in archive/{self.archive}" if self.archive else "nothing was written",
        ]
        if self.details:
            parts.append(f"{self.details_kept}/{self.details} details kept")
        if self.invented:
            parts.append(f"{figures.counted(self.invented, 'invented detail')} dropped")
        if self.left_out:
            what = "part" if self.left_out == 1 else f"{self.left_out} parts"
            parts.append(
                f"the oldest {what} (~{figures.tokens(self.unread)} tokens) not summarised, only archived"
            )
        if self.extractive:
            parts.append(f"made without a model: {self.failure}" if self.failure else "made without a model")
        return " · ".join(parts)
