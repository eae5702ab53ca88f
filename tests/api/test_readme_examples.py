"""The README's Python examples run, and pass the strictest type check: they are small user programs."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.documents import README
from tests.loopback import Answer
from tests.program import ROOT, environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def script(body: dict[str, Any]) -> Answer:
    """Answer any example: with a summary, with calls of its tools, then with words."""
    if "tools" in body and body["messages"][-1]["role"] == "user":
        return Answer(calls=(("price", {"region": "eu-west"}), ("price", {"region": "eu-north"})))
    return Answer("eu-west is cheaper.")


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(provider: Provider, tmp_path: Path, example: str) -> None:
    provider.answers.append(script)
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        env=environment(AGENTMEM_MODEL="gpt-4o"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "eu-west is cheaper." in ended.stdout
    if "price" in example and "tools=" in example:
        assert "\n2 2 " in ended.stdout


def test_the_examples_pass_mypy_strict(tmp_path: Path) -> None:
    for number, example in enumerate(EXAMPLES):
        (tmp_path / f"example_{number}.py").write_text(example, encoding="utf-8")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            str(ROOT / ".mypy_cache" / "examples"),
            ".",
        ],
        env=environment(MYPYPATH=str(ROOT)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert len(EXAMPLES) >= 6
