from __future__ import annotations

import tempfile

from hypothesis import given
from hypothesis import strategies as st

from agentmem.entries import make_entry, parse
from agentmem.memory import reading

HEADING = "### User — 2026-04-20T18:33:15.120001+01:00"
pieces = st.sampled_from(
    ["### ", "###", " — ", "\n", "\r\n", "\n\n", HEADING, f"{HEADING}\n\n", f"\n{HEADING}", "x"]
)
entries = st.text(max_size=30).map(lambda text: make_entry("User", "2026-04-20T18:33:15+01:00", text).raw)
files = st.lists(pieces.map(str.encode) | entries, max_size=12).map(b"".join)


@given(files, st.integers(1, 40))
def test_entries_are_counted_as_they_are_read_however_the_file_is_cut(content: bytes, chunk: int) -> None:
    usual, reading._CHUNK = reading._CHUNK, chunk
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(content)
            document = parse(content)
            assert reading.count_before(file.fileno(), len(content)) == len(document.entries)
            for before, entry in enumerate(document.entries):
                assert reading.count_before(file.fileno(), entry.start) == before
    finally:
        reading._CHUNK = usual
