"""Times as people write them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from agentmem.errors import UsageError
from agentmem.selection import parse_when

NOW = datetime.fromisoformat("2026-04-20T18:33:15+02:00")
MIDNIGHT = datetime.fromisoformat("2026-04-20T00:00:00+02:00")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("today", MIDNIGHT),
        (" Yesterday ", MIDNIGHT - timedelta(days=1)),
        ("2h", NOW - timedelta(hours=2)),
        ("30d ago", NOW - timedelta(days=30)),
        ("2026-04-20T18:30Z", datetime.fromisoformat("2026-04-20T18:30+00:00")),
        ("2026-04-20", datetime(2026, 4, 20).astimezone()),
    ],
)
def test_a_time_is_read(text: str, when: datetime) -> None:
    assert parse_when(text, NOW) == when


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "999999d", "1000000d", "-1d"])
def test_what_is_no_time_or_out_of_reach_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        parse_when(text, NOW)
