"""What each command loads: heavy modules must not creep into the start."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem.cli.loading import COMMANDS
from agentmem.memory import Memory
from tests.program import agree, environment
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

HEAVY = frozenset(
    {"litellm", "openai", "httpx", "tiktoken", "prompt_toolkit", "pydantic", "rich", "xllamacpp"}
)
SCRIPT = """
import sys
from agentmem.cli import main
code = main({words!r})
print("\\n".join(sorted(name.partition(".")[0] for name in sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def loaded(*words: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(words=list(words))],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(ended.stderr.split())


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["--help"],
        ["show", "--help"],
        ["chat", "--help"],
        ["show"],
        ["show", "Ada"],
        ["show", "Ada", "--last", "1", "--json"],
        ["search", "Ada", "teal"],
        ["search", "--all", "teal"],
        ["archives", "Ada"],
        ["doctor", "Ada"],
        ["export", "Ada"],
        ["forget", "Ada", "--match", "teal", "--dry-run"],
    ],
    ids=" ".join,
)
def test_a_command_without_a_model_loads_nothing_heavy(workspace: Path, words: list[str]) -> None:
    Memory(workspace / "agents" / "Ada").append("User", "teal")
    assert loaded(*words) & HEAVY == set()


def test_compacting_by_hand_loads_what_counts_tokens(workspace: Path, provider: Provider) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    for number in range(10):
        memory.append("User" if number % 2 else "Ada", f"teal {number}")
    words = ["compact", "Ada", "-m", "gpt-4o", "--keep-tokens", "0", "--summary", "They talked."]
    assert loaded(*words) & HEAVY <= {"httpx", "tiktoken"}
    assert not provider.asked


def test_importing_a_file_loads_nothing_heavy(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    path.write_text('[{"role": "user", "content": "teal"}]', encoding="utf-8")
    Memory(workspace / "agents" / "Ada").ensure()
    assert loaded("import", "Ada", str(path)) & HEAVY == set()


def test_every_command_has_a_budget() -> None:
    (cases,) = (
        mark.args[1]
        for mark in test_a_command_without_a_model_loads_nothing_heavy.pytestmark  # type: ignore[attr-defined]
        if mark.name == "parametrize"
    )
    assert {words[0] for words in cases} >= COMMANDS.keys() - {"chat", "compact", "import"}  # below


def test_the_package_itself_loads_nothing_of_others() -> None:
    script = "import sys; old = set(sys.modules); import agentmem; print(*set(sys.modules) - old)"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert {name.partition(".")[0] for name in ended.stdout.split()} <= sys.stdlib_module_names | {"agentmem"}


def test_one_turn_over_the_openai_wire_loads_httpx_and_nothing_else_that_is_heavy(
    workspace: Path, provider: Provider
) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    for number in range(100):
        memory.append("User" if number % 2 else "Ada", f"teal {number}")
    agree(workspace)
    provider.answers.append("hello")
    assert loaded("chat", "Ada", "hi", "-m", "gpt-4o") & HEAVY == {"httpx"}
    assert "teal 99" in provider.asked[0].text


AT_THE_PROMPT = """
import sys
from agentmem.cli import main
from agentmem.repl import prompt

def ask(_prompt):
    with open(sys.argv[1], "w") as out:
        print(*{name.partition(".")[0] for name in sys.modules}, file=out)
    raise EOFError

prompt.Prompt.ask = ask
sys.exit(main(["chat", "Ada", "-m", "gpt-4o"]))
"""


def test_the_prompt_comes_before_anything_heavy(workspace: Path, provider: Provider, tmp_path: Path) -> None:
    agree(workspace)
    listed = tmp_path / "modules"
    with Terminal([sys.executable, "-c", AT_THE_PROMPT, str(listed)], environment=environment()) as terminal:
        assert terminal.wait_end() == 0
    assert set(listed.read_text(encoding="utf-8").split()) & HEAVY == {"prompt_toolkit"}
