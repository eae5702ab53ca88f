"""What each command loads: heavy modules must not creep into the start."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem.memory import Memory
from tests.program import environment

if TYPE_CHECKING:
    from pathlib import Path

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
        ["archives", "Ada"],
        ["export", "Ada"],
        ["forget", "Ada", "--match", "teal", "--dry-run"],
    ],
    ids=" ".join,
)
def test_a_command_without_a_model_loads_nothing_heavy(workspace: Path, words: list[str]) -> None:
    Memory(workspace / "agents" / "Ada").append("User", "teal")
    assert loaded(*words) & HEAVY == set()


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
