"""No socket but the configured model's, as the system sees it."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.program import COMMAND, environment
from tests.requires import needs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

_CALL = re.compile(r"^\d+ +(?P<name>\w+)\((?P<rest>.*)$", re.MULTILINE)
# urllib3, which litellm loads, tries at import whether IPv6 works, by binding to loopback: no peer, no listening.
_PROBE = 'bind(3, {sa_family=AF_INET6, sin6_port=htons(0), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1"'


def network_calls(trace: Path, *words: str, **more: str) -> str:
    """Run agentmem and give the system calls of it, and of every process it starts, that touch the network."""
    command = [needs("strace"), "-f", "-qq", "-e", "trace=network", "-o", str(trace), *COMMAND, *words]
    ended = subprocess.run(
        command,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return trace.read_text()


def _is_no_clients(call: re.Match[str]) -> bool:
    """Whether a client of one connection has no need for a call."""
    if call["name"] == "bind":
        return not f"bind({call['rest']}".startswith(_PROBE)
    if call["name"] == "sendto":
        return "NULL, 0)" not in call["rest"]
    return call["name"] in {"listen", "accept", "accept4", "sendmsg", "sendmmsg"}


def reached(trace: str) -> set[str]:
    """Return the peers, and whatever else was done with a socket that a client has no need for."""
    found = set()
    for call in _CALL.finditer(trace):
        if call["name"] == "connect":
            family = re.search(r"sa_family=(\w+)", call["rest"])
            port = re.search(r"htons\((\d+)\)", call["rest"])
            host = re.search(r'inet_\w+\((?:AF_INET6, )?"([^"]+)"', call["rest"])
            found.add(f"{host[1]}:{port[1]}" if host and port else f"{family and family[1]}: {call['rest']}")
        elif _is_no_clients(call):
            found.add(call[0])
    return found


@pytest.mark.parametrize(
    ("model", "variable"),
    [("gpt-4o", "OPENAI_BASE_URL"), ("anthropic/claude-sonnet-4-6", "ANTHROPIC_API_BASE")],
    ids=["OpenAI wire", "litellm"],
)
def test_a_chat_reaches_the_model_and_nobody_else(
    provider: Provider, workspace: Path, tmp_path: Path, model: str, variable: str
) -> None:
    provider.answers += ["hi", "hi again"]
    base = provider.url if variable == "OPENAI_BASE_URL" else provider.root
    for number in range(2):
        trace = network_calls(
            tmp_path / f"trace-{number}",
            *("chat", "Ada", "hello", "-m", model),
            **{variable: base, "ANTHROPIC_API_KEY": "sk-ant-loopback-0123456789"},
        )
        assert reached(trace) == {provider.root.removeprefix("http://")}
        assert "AF_INET6" not in trace or model.startswith("anthropic")


def test_a_compaction_reaches_the_model_and_nobody_else(
    provider: Provider, workspace: Path, tmp_path: Path
) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    for number in range(20):
        memory.append("User", f"{number}: " + "many words of an ordinary talk " * 20)
    provider.answers.append(lambda _body: "## Facts\nMany words were said in an ordinary talk.")
    words = ("compact", "Ada", "--keep-tokens", "0")
    trace = network_calls(tmp_path / "trace", *words, AGENTMEM_MODEL="gpt-4o")
    assert reached(trace) == {provider.root.removeprefix("http://")}


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["show"],
        ["show", "Ada"],
        ["archives", "Ada"],
        ["search", "Ada", "hello"],
        ["export", "Ada"],
        ["forget", "Ada", "--match", "hello", "--yes"],
    ],
    ids=" ".join,
)
def test_other_commands_open_no_socket(workspace: Path, tmp_path: Path, words: list[str]) -> None:
    Memory(workspace / "agents" / "Ada").append("User", "hello")
    assert network_calls(tmp_path / "trace", *words) == ""


@pytest.mark.embedded
def test_the_embedded_model_is_reached_on_loopback_and_nobody_else(workspace: Path, tmp_path: Path) -> None:
    trace = network_calls(tmp_path / "trace", "chat", "Ada", "hello", "-m", "local", "--max-tokens", "4")
    bound = re.findall(r"bind\(\d+, (.*)\) += 0", trace)
    assert len(bound) == 1  # llama.cpp's own server, inside this process and behind a key
    assert 'inet_addr("127.0.0.1")' in bound[0]
    peers = {each for each in reached(trace) if re.match(r"[\w.:]+:\d+$", each)}
    assert len(peers) == 1
    assert peers.pop().startswith("127.0.0.1:")
    assert "AF_INET6" not in trace
    assert "AF_UNIX" not in trace.replace("socketpair(AF_UNIX", "")
