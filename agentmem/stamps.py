"""Times: as entries are stamped with them, which makes their ids, and as people write them."""

from __future__ import annotations

from datetime import datetime, timedelta

TICK = timedelta(microseconds=1)
"""The least by which two timestamps differ."""


def now() -> datetime:
    """Return the local time with its UTC offset."""
    return datetime.now().astimezone()


def format_stamp(when: datetime) -> str:
    """Return an entry's timestamp: ISO 8601, microseconds, UTC offset."""
    return when.isoformat(timespec="microseconds")


def to_minute(stamp: str) -> str:
    """Return a timestamp as a list has room for it: `2026-04-20 18:33`."""
    return stamp[:16].replace("T", " ")


def read_time(text: str) -> datetime:
    """Read an ISO 8601 time; one without an offset is local.

    Raises:
        ValueError: it is none, or one that this machine cannot tell the offset of.
    """
    when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    try:
        return when if when.tzinfo else when.astimezone()
    except (OverflowError, OSError) as error:
        raise ValueError(str(error)) from None


def is_stamp(stamp: str) -> bool:
    """Whether a timestamp is one."""
    try:
        read_time(stamp)
    except ValueError:
        return False
    return True


def parse_stamp(stamp: str) -> datetime:
    """Read a timestamp; one that is no time is the epoch's start."""
    try:
        return read_time(stamp)
    except ValueError:
        return datetime.fromtimestamp(0).astimezone()
