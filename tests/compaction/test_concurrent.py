"""Others at work while the summary is being written: appending, editing, compacting, interrupting."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from agentmem.memory import Memory
from tests.answers import Answer, Gate
from tests.compaction.talks import good, talk
from tests.program import COMMAND, environment, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback import Provider

SETTINGS = {"AGENTMEM_MODEL": "gpt-4o", "AGENTMEM_KEEP_TOKENS": "0"}


@pytest.fixture
def memory(provider: Provider, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Ada's memory, with a talk in it."""
    assert provider
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    found = Memory(workspace / "agents" / "Ada")
    for role, text in talk(7, 8).turns:
        found.append(role, text)
    return found


@pytest.fixture
def compacting() -> Iterator[Any]:
    """Starts `agentmem compact Ada` in a process of its own; what still runs is ended."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**more: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*COMMAND, "compact", "Ada"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**more),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def held(gate: Gate) -> Any:
    return lambda body: Answer(str(good(body)), gate=gate)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, said = process.communicate(timeout=120)
    return process.returncode, said.decode()


def test_what_is_appended_meanwhile_is_carried_over_word_for_word(
    provider: Provider, memory: Memory, compacting: Any
) -> None:
    before, gate = memory.path.read_bytes(), Gate()
    provider.answers.append(held(gate))
    process = compacting()
    gate.wait_until_reached()
    memory.append("User", "in between,\n\n---\n\nwith a rule")
    appended = memory.path.read_bytes()[len(before) :]
    gate.open()
    code, said = ended(process)
    assert code == 0, said
    assert memory.path.read_bytes().endswith(appended)
    assert memory.read().entries[-1].text == "in between,\n\n---\n\nwith a rule"
    assert memory.read_archive("latest")[1] == before + appended


def edit(memory: Memory, number: int) -> None:
    content = memory.path.read_bytes()
    memory.path.write_bytes(
        content.replace(b"# Agent Memory", f"# Agent Memory\n\nby hand {number}".encode(), 1)
    )


def test_after_an_edit_by_hand_the_compaction_is_tried_once_more(
    provider: Provider, memory: Memory, compacting: Any
) -> None:
    gate = Gate()
    provider.answers.extend([held(gate), good])
    process = compacting()
    gate.wait_until_reached()
    edit(memory, 1)
    edited = memory.path.read_bytes()
    gate.open()
    code, said = ended(process)
    assert code == 0, said
    assert memory.read_archive("latest")[1] == edited
    assert "by hand 1" in provider.asked[1].text


def test_after_two_edits_by_hand_it_is_given_up_and_said_so(
    provider: Provider, memory: Memory, compacting: Any
) -> None:
    gates = [Gate(), Gate()]
    provider.answers.extend(held(gate) for gate in gates)
    process = compacting()
    for number, gate in enumerate(gates):
        gate.wait_until_reached()
        edit(memory, number)
        gate.open()
    edited = memory.path.read_bytes()
    code, said = ended(process)
    assert code == 74
    assert "was edited while it was being summarised" in said
    assert memory.path.read_bytes() == edited
    assert memory.archives() == []


def test_two_compactions_take_turns(provider: Provider, memory: Memory, compacting: Any) -> None:
    gate = Gate()
    provider.answers.extend([held(gate), good])
    first = compacting()
    gate.wait_until_reached()
    second = compacting(AGENTMEM_LOCK_TIMEOUT="100")
    memory.append("User", "an append does not wait")
    gate.open()
    assert ended(first)[0] == 0
    assert ended(second)[0] == 0
    assert len(memory.archives()) == 2
    assert "an append does not wait" in provider.asked[1].text
    assert provider.asked[0].messages[1]["content"] != provider.asked[1].messages[1]["content"]


def test_whoever_waits_too_long_for_another_compaction_is_told_its_pid(
    provider: Provider, memory: Memory, compacting: Any
) -> None:
    gate = Gate()
    provider.answers.append(held(gate))
    first = compacting()
    gate.wait_until_reached()
    before = memory.path.read_bytes()
    ran = run("compact", "Ada", AGENTMEM_LOCK_TIMEOUT="0.2")
    assert ran.code == 75
    assert f"is being compacted by process {first.pid}" in ran.err
    assert memory.path.read_bytes() == before
    gate.open()
    assert ended(first)[0] == 0


@pytest.mark.parametrize(("window", "code"), [("2500", 0), ("1500", 75)])
def test_a_chat_that_cannot_wait_goes_on_while_it_fits(
    window: str, code: int, provider: Provider, memory: Memory, compacting: Any
) -> None:
    gate = Gate()
    provider.answers.extend([held(gate), *(["fine"] if code == 0 else [])])
    first = compacting()
    gate.wait_until_reached()
    options = ("--context-length", window, "--threshold", "0.5", "-q")
    ran = run("chat", "Ada", "how are you?", *options, AGENTMEM_LOCK_TIMEOUT="0.2")
    assert ran.code == code, ran.err
    assert ran.out == ("fine\n" if code == 0 else "")
    assert memory.read().entries[-1 if code else -2].text == "how are you?"
    gate.open()
    assert ended(first)[0] == 0


def test_a_chat_that_is_due_waits_for_the_other_and_finds_nothing_left_to_do(
    provider: Provider, memory: Memory, compacting: Any
) -> None:
    gate = Gate()
    provider.answers.extend([held(gate), "fine"])
    first = compacting()
    gate.wait_until_reached()
    chat = subprocess.Popen(
        [*COMMAND, "chat", "Ada", "how are you?", "--context-length", "2200", "--threshold", "0.5"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(AGENTMEM_LOCK_TIMEOUT="100"),
    )
    try:
        with memory.path.open("rb") as file:
            while b"how are you?" not in file.read():
                file.seek(0)
                assert chat.poll() is None
        gate.open()
        assert ended(first)[0] == 0
        out, said = chat.communicate(timeout=120)
    finally:
        chat.kill()
    assert chat.returncode == 0, said
    assert out == b"fine\n"
    assert len(memory.archives()) == 1
    assert len(provider.asked) == 2


@pytest.mark.parametrize("at", [0, 3])
def test_ctrl_c_while_the_summary_is_written_leaves_everything(
    at: int, provider: Provider, memory: Memory, compacting: Any
) -> None:
    before, gate = memory.path.read_bytes(), Gate(at)
    provider.answers.extend([held(gate), good])
    process = compacting()
    gate.wait_until_reached()
    process.send_signal(signal.SIGINT)
    code, said = ended(process)
    assert code == 130, said
    assert "Traceback" not in said
    assert memory.path.read_bytes() == before
    assert memory.archives() == []
    assert run("compact", "Ada").code == 0


def test_ctrl_c_in_a_chat_that_compacts_keeps_the_message(provider: Provider, memory: Memory) -> None:
    before, gate = memory.path.read_bytes(), Gate()
    provider.answers.append(held(gate))
    chat = subprocess.Popen(
        [*COMMAND, "chat", "Ada", "how are you?", "--context-length", "2200", "--threshold", "0.5"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    gate.wait_until_reached()
    chat.send_signal(signal.SIGINT)
    code, said = ended(chat)
    assert code == 130, said
    assert memory.path.read_bytes().startswith(before)
    assert memory.read().entries[-1].text == "how are you?"
    assert memory.archives() == []


def test_undo_puts_the_archived_bytes_back_followed_by_what_came_after(
    provider: Provider, memory: Memory
) -> None:
    before = memory.path.read_bytes()
    provider.answers.append(good)
    assert run("compact", "Ada").code == 0
    later = memory.append("User", "said after it")
    ran = run("compact", "Ada", "--undo")
    assert ran.code == 0
    assert "the memory is again as in archive/history_" in ran.err
    assert memory.path.read_bytes() == before + later.raw


def test_undo_without_a_compaction(memory: Memory) -> None:
    before = memory.path.read_bytes()
    ran = run("compact", "Ada", "--undo")
    assert ran.code == 66
    assert "nothing to undo" in ran.err
    assert memory.path.read_bytes() == before


def test_a_dry_run_writes_nothing(provider: Provider, memory: Memory) -> None:
    files = {path: path.read_bytes() for path in memory.folder.rglob("*") if path.is_file()}
    provider.answers.append(good)
    ran = run("compact", "Ada", "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("## Facts and names\n")
    assert "nothing was written" in ran.err
    after = {path: path.read_bytes() for path in memory.folder.rglob("*") if path.is_file()}
    for found in (files, after):  # who held a lock last is no part of the memory
        for path in [path for path in found if "lock" in path.name]:
            del found[path]
    assert after == files


def test_a_summary_by_hand_needs_no_model(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENTMEM_MODEL"):
        monkeypatch.delenv(name)
    (tmp_path / "summary.md").write_text("We spoke.\n")
    ran = run("compact", "Ada", "--summary", f"@{tmp_path / 'summary.md'}")
    assert ran.code == 0, ran.err
    assert [entry.text for entry in memory.read().entries] == ["[Compressed Memory Summary]\n\nWe spoke."]
    ran = run("compact", "Ada", "--summary", " \n")
    assert ran.code == 2


def test_a_second_compaction_without_anything_new_is_refused_unasked(
    provider: Provider, memory: Memory
) -> None:
    provider.answers.append(good)
    assert run("compact", "Ada").code == 0
    before = memory.path.read_bytes()
    ran = run("compact", "Ada")
    assert (ran.code, ran.err) == (
        1,
        "agentmem: nothing to compact: nothing was said since the last compaction that may go\n",
    )
    assert memory.path.read_bytes() == before
    assert len(provider.asked) == 1
