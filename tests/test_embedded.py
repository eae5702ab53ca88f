"""The main job end to end with the embedded model: no key, no network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from agentmem import Agent, settings
from agentmem.memory import Memory
from tests.program import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.embedded

LAYOUT = re.compile(
    r"# Agent Memory\n\n\*\*Conversation:\*\* Ada_id_[0-9a-f-]{36}_conversation\n\*\*Created:\*\* (?P<stamp>\S+)\n\n"
    r"---\n\n## Interaction Log\n\n"
    r"### User — \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d\n\nHello!\n\n---\n\n"
    r"### Ada — \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d\n\n(?P<reply>.+)\n\n---\n\n",
    re.DOTALL,
)


def test_a_first_chat_needs_nothing(workspace: Path) -> None:
    ran = run("chat", "Ada", "Hello!", "--max-tokens", "20")
    assert ran.code == 0, ran.err
    found = LAYOUT.fullmatch((workspace / "agents" / "Ada" / "MEMORY.md").read_text(encoding="utf-8"))
    assert found
    assert ran.out == f"{found['reply']}\n"


def test_thirty_turns_in_a_small_window_lose_nothing(workspace: Path) -> None:
    notices: list[str] = []
    told = [f"Fact {number}: the {number}th locker holds parcel P-{number * 37:05}." for number in range(30)]
    replaced: list[bytes] = []
    flags = {"model": "local", "context_length": 800, "max_tokens": 12, "summarizer_max_tokens": 64}
    with Agent("Ada", resolved=settings.load(flags), notice=notices.append) as agent:
        memory = agent.short_memory.memory
        assert memory is not None
        for fact in told:
            before = memory.path.read_bytes()
            archives = len(memory.archives())
            agent.run(fact)
            assert agent.meter.tokens <= 800
            if len(memory.archives()) > archives:
                replaced.append(before)
    archived = [memory.read_archive(archive.name)[1] for archive in memory.archives()]
    assert len(archived) >= 3
    # The archive is the file as it was when it was folded: all that stood before the turn, and the
    # turn's own message, already stored.
    for before, copy in zip(replaced, archived, strict=True):
        assert copy.startswith(before)
        assert copy.count(b"\n### User ") == before.count(b"\n### User ") + 1
    everything = b"".join([*archived, memory.path.read_bytes()]).decode()
    assert [fact for fact in told if fact not in everything] == []
    assert not [notice for notice in notices if "overflow" in notice]


def test_local_with_a_file_that_is_none(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"no model")
    ran = run("chat", "Ada", "Hello!", "-q", "--model", f"local:{tmp_path / 'x.gguf'}")
    assert ran.code == 78
    assert ran.err.count("\n") == 1
    assert Memory(workspace / "agents" / "Ada").read().entries == ()
