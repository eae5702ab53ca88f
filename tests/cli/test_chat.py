from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.loopback import Answer, Garbage, Gate, Refusal
from tests.program import COMMAND, environment, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider, Scripted


def said(workspace: Path, agent: str = "Ada") -> list[tuple[str, str, str]]:
    entries = Memory(workspace / "agents" / agent).read().entries
    return [(entry.role, entry.text, entry.note) for entry in entries]


def test_a_reply_is_stdout_and_nothing_else_is(provider: Provider, workspace: Path) -> None:
    provider.answers.append("eu-west, by 11 %.")
    ran = run("chat", "Ada", "Which region is", "cheapest?", "-m", "gpt-4o", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "eu-west, by 11 %.\n", "")
    assert said(workspace) == [
        ("User", "Which region is cheapest?", ""),
        ("Ada", "eu-west, by 11 %.", ""),
    ]


def test_task_blank_line_stdin(provider: Provider, workspace: Path) -> None:
    provider.answers.append("done")
    ran = run("chat", "Ada", "summarise", "-m", "gpt-4o", stdin="a\nb")
    assert (ran.code, ran.out) == (0, "done\n")
    assert provider.asked[0].messages[-1]["content"].endswith("] summarise\n\na\nb")
    assert said(workspace)[0] == ("User", "summarise\n\na\nb", "")


def test_stdin_alone_is_the_task(provider: Provider, workspace: Path) -> None:
    provider.answers.append("yes")
    assert run("chat", "Ada", "-m", "gpt-4o", stdin="only this").code == 0
    assert said(workspace)[0] == ("User", "only this", "")


def test_json_is_one_document_with_the_usage(provider: Provider, workspace: Path) -> None:
    provider.answers.append(Answer("42", usage=(100, 7, 30)))
    ran = run("chat", "Ada", "sum", "-m", "gpt-4o", "--json", stdin="1 2")
    shape = json.loads(ran.out)
    entry = Memory(workspace / "agents" / "Ada").read().entries[-1]
    assert shape["agent"] == "Ada"
    assert shape["model"] == "gpt-4o"
    assert shape["reply"] == "42"
    assert shape["id"] == entry.stamp
    assert shape["usage"]["prompt_tokens"] == 100
    assert shape["usage"]["completion_tokens"] == 7
    assert shape["usage"]["cached_tokens"] == 30


def test_nothing_to_say_is_a_usage_error_and_creates_nothing(provider: Provider, workspace: Path) -> None:
    ran = run("chat", "Ada", "-m", "gpt-4o")
    assert ran.code == 2
    assert not workspace.exists()
    assert not provider.asked


AGAIN = "the message is kept: `agentmem chat Ada --retry` sends it again"

FAILURES: list[tuple[str, Scripted, int]] = [
    ("401", Refusal(401, "bad key"), 77),
    ("403", Refusal(403, "no access"), 77),
    ("404", Refusal(404, "no such model"), 78),
    ("429", Refusal(429, "slow down"), 75),
    ("500", Refusal(500, "oops"), 69),
    ("not json", Garbage(), 69),
]


@pytest.mark.parametrize(("answer", "code"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_a_failed_turn_says_one_line_and_keeps_the_message(
    provider: Provider, workspace: Path, answer: Scripted, code: int
) -> None:
    provider.answers.append(answer)
    ran = run("chat", "Ada", "are you there?", "-m", "gpt-4o", "-q")
    assert ran.code == code
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("agentmem: ")
    assert ran.err.endswith(f"; {AGAIN}\n")
    assert said(workspace) == [("User", "are you there?", "")]

    provider.answers.append("now I am")
    assert run("chat", "Ada", "--retry", "-m", "gpt-4o").out == "now I am\n"
    assert said(workspace) == [("User", "are you there?", ""), ("Ada", "now I am", "")]
    again = provider.asked[-1].messages
    assert again[-1]["role"] == "user"
    assert again[-1]["content"].endswith("are you there?")
    assert sum(str(message["content"]).count("are you there?") for message in again) == 1


def test_a_refused_connection(provider: Provider, workspace: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        ran = run("chat", "Ada", "hello", "-m", "gpt-4o", "-q", OPENAI_BASE_URL=url)
    assert ran.code == 69
    assert ran.err.count("\n") == 1
    assert AGAIN in ran.err
    assert said(workspace) == [("User", "hello", "")]
    assert not provider.asked


def test_a_message_that_was_not_kept_is_not_said_to_be(provider: Provider, workspace: Path) -> None:
    provider.answers += [Refusal(429, "slow down"), Refusal(429, "slow down")]
    assert AGAIN not in run("chat", "Ada", "hello", "-m", "gpt-4o", "--no-memory").err
    assert AGAIN in run("chat", "Ada", "hello", "-m", "gpt-4o").err
    too_large = run("chat", "Ada", "-m", "gpt-4o", "--context-length", "500", stdin="word " * 5000)
    assert (too_large.code, AGAIN in too_large.err) == (65, False)
    assert said(workspace) == [("User", "hello", "")]


def test_a_stream_cut_half_way_keeps_what_came(provider: Provider, workspace: Path) -> None:
    provider.answers.append(Answer("one two three four", cut="after 2"))
    ran = run("chat", "Ada", "count", "-m", "gpt-4o", "-q")
    assert ran.code == 69
    assert ran.err.count("\n") == 1
    assert said(workspace)[0] == ("User", "count", "")
    role, text, note = said(workspace)[1]
    assert (role, note) == ("Ada", "interrupted")
    assert text
    assert "one two three four".startswith(text)

    provider.answers.append("one two three four")
    assert run("chat", "Ada", "--retry", "-m", "gpt-4o").code == 0
    assert [entry[1] for entry in said(workspace)] == ["count", text, "one two three four"]
    assert provider.asked[-1].messages[-1]["content"].endswith("count")


def test_a_hang_ends_at_the_timeout(provider: Provider, workspace: Path) -> None:
    gate = Gate()
    provider.answers.append(Answer("never", gate=gate))
    ran = run("chat", "Ada", "hello", "-m", "gpt-4o", "-q", "--timeout", "0.5")
    gate.open()
    assert ran.code == 69
    assert "timeout" in ran.err
    assert ran.err.count("\n") == 1
    assert said(workspace) == [("User", "hello", "")]


def test_ctrl_c_keeps_what_came(provider: Provider, workspace: Path) -> None:
    gate = Gate(2)
    provider.answers.append(Answer("one two three four", gate=gate))
    words = [*COMMAND, "chat", "Ada", "count", "-m", "gpt-4o"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment()
    ) as child:
        assert child.stdout
        shown = os.read(child.stdout.fileno(), 100)
        gate.wait_until_reached()
        child.send_signal(signal.SIGINT)
        rest, errors = child.communicate(timeout=60)
        gate.open()
    assert child.returncode == 130
    assert b"Traceback" not in errors
    assert errors.decode().endswith(f"agentmem: {AGAIN}\n")
    assert said(workspace)[1] == ("Ada", (shown + rest).decode().removesuffix("\n"), "interrupted")


def test_a_reader_that_goes_away_does_not_lose_the_reply(provider: Provider, workspace: Path) -> None:
    gate = Gate(1)
    provider.answers.append(Answer("one two three", gate=gate))
    words = [*COMMAND, "chat", "Ada", "count", "-m", "gpt-4o", "-q"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment()
    ) as child:
        assert child.stdout
        assert child.stderr
        os.read(child.stdout.fileno(), 100)
        child.stdout.close()
        gate.open()
        assert child.stderr.read() == b""
        assert child.wait(60) == 0
    assert said(workspace)[1] == ("Ada", "one two three", "")


def test_no_memory_writes_and_reads_nothing(provider: Provider, workspace: Path) -> None:
    provider.answers.append("hi")
    assert run("chat", "Ada", "hello", "-m", "gpt-4o", "--no-memory").code == 0
    assert not (workspace / "agents" / "Ada").exists()


def test_a_task_too_large_is_refused_before_it_is_stored(provider: Provider, workspace: Path) -> None:
    ran = run("chat", "Ada", "-m", "gpt-4o", "--context-length", "500", "-q", stdin="word " * 5000)
    assert ran.code == 65
    assert ran.err.count("\n") == 1
    assert said(workspace) == []
    assert not provider.asked


def test_no_compression_never_compacts(provider: Provider, workspace: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    for _ in range(20):
        memory.append("User", "many words " * 20)
    before = memory.path.read_bytes()
    ran = run("chat", "Ada", "hello", "-m", "gpt-4o", "--context-length", "600", "--no-compression")
    assert ran.code == 65
    assert "--no-compression" in ran.err
    assert memory.path.read_bytes().startswith(before)
    assert said(workspace)[-1] == ("User", "hello", "")
    assert not provider.asked


def test_no_model_is_said_once_with_what_to_do(workspace: Path) -> None:
    ran = run("chat", "Ada", "hello", "-m", "gpt-4o")
    assert ran.code == 78
    assert "OPENAI_API_KEY" in ran.err
    assert not (workspace / "agents").exists()


def test_an_unknown_key_in_a_settings_file_is_named(provider: Provider, workspace: Path) -> None:
    folder = workspace / "agents" / "Ada"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text('modle = "gpt-4o"\n')
    ran = run("chat", "Ada", "hello")
    assert ran.code == 78
    assert "agent.toml" in ran.err
    assert "'modle'" in ran.err
    assert "'model'" in ran.err
    assert not provider.asked


def test_a_model_nobody_named_is_said_once(provider: Provider, workspace: Path) -> None:
    provider.answers.append("hi")
    ran = run("chat", "Ada", "hello")
    assert ran.code == 0
    assert ran.err.count("OPENAI_API_KEY is set") == 1
    assert provider.asked[0].body["model"] in ran.err


def test_a_full_disk_behind_stdout_does_not_lose_the_reply(provider: Provider, workspace: Path) -> None:
    provider.answers.append("one two three")
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*COMMAND, "chat", "Ada", "count", "-m", "gpt-4o", "-q"],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.count(b"\n") == 1
    assert b"stdout" in ended.stderr
    assert said(workspace)[1] == ("Ada", "one two three", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(provider: Provider, workspace: Path, closed: str) -> None:
    provider.answers.append("hi")
    ended = subprocess.run(
        ["bash", "-c", f'"$@" {closed}', "-", *COMMAND, "chat", "Ada", "hello", "-m", "gpt-4o", "-q"],
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0
    assert said(workspace) == [("User", "hello", ""), ("Ada", "hi", "")]
    assert (workspace / "agents" / "Ada" / "MEMORY.md").read_bytes().startswith(b"# Agent Memory\n")


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_keeps_what_came(
    provider: Provider, workspace: Path, ended_by: signal.Signals
) -> None:
    gate = Gate(2)
    provider.answers.append(Answer("one two three four", gate=gate))
    with subprocess.Popen(
        [*COMMAND, "chat", "Ada", "count", "-m", "gpt-4o", "-q"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
    ) as child:
        assert child.stdout
        shown = os.read(child.stdout.fileno(), 100)
        gate.wait_until_reached()
        child.send_signal(ended_by)
        rest = child.stdout.read()
        gate.open()
        assert child.wait(60) == 128 + ended_by
    assert said(workspace)[1] == ("Ada", (shown + rest).decode().removesuffix("\n"), "interrupted")


def test_retry_of_an_agent_that_is_none_creates_nothing(provider: Provider, workspace: Path) -> None:
    assert run("chat", "Ghost", "--retry", "-m", "gpt-4o").code == 66
    assert not workspace.exists()


@pytest.mark.parametrize("words", [["--retry", "more"], ["hi", "--model", ""], ["hi", "--api-base", ""]])
def test_words_that_would_be_ignored_are_refused(
    provider: Provider, workspace: Path, words: list[str]
) -> None:
    assert run("chat", "Ada", *words).code == 2
    assert not workspace.exists()


def test_words_typed_in_the_c_locale_arrive_as_typed(provider: Provider, workspace: Path) -> None:
    provider.answers.append("hi")
    words = ("chat", "Ada", "漢字", "-m", "gpt-4o")
    assert run(*words, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").code == 0
    assert said(workspace)[0] == ("User", "漢字", "")
