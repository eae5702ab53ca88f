"""Whether swarms and agentmem continue each other's folders, with both really running.

    python -m venv /tmp/swarms && /tmp/swarms/bin/pip install 'swarms==16.*'
    python -m tests.compat.swarms_folders /tmp/swarms/bin/python

swarms is large and lives in an environment of its own, so this is no part of the test suite.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from agentmem import Agent
from agentmem.memory import Memory
from tests.loopback import Answer, Provider

SWARMS = """
import sys
from swarms import Agent

agent = Agent(
    agent_name="Ada",
    model_name="openai/gpt-4o",
    llm_base_url=sys.argv[1],
    llm_api_key="loopback",
    max_loops=1,
    persistent_memory=True,
    print_on=False,
    verbose=False,
)
for step in sys.argv[2:]:
    if step.startswith("COMPACT "):
        agent.short_memory.compact(summary=step.removeprefix("COMPACT "))
    else:
        agent.run(step)
print("HISTORY")
for message in agent.short_memory.conversation_history:
    print(message["role"], "|", message["content"])
"""


class Checked:
    """Runs the checks and counts them."""

    def __init__(self) -> None:
        self.failed = 0

    def __call__(self, what: str, true: object) -> None:
        print("ok  " if true else "FAIL", what, flush=True)
        self.failed += not true


def swarms(python: str, provider: Provider, *steps: str) -> str:
    """Run a swarms agent named Ada in a process of its own; return its history."""
    ended = subprocess.run(
        [python, "-c", SWARMS, provider.url, *steps],
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "SWARMS_TELEMETRY_ON": "False"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "HISTORY\n" not in ended.stdout:
        sys.exit(f"swarms did not run:\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}")
    return ended.stdout.partition("HISTORY\n")[2]


def check(python: str, provider: Provider, root: Path) -> int:
    """Let the two take turns on one folder."""
    checked = Checked()
    folder = root / "agents" / "Ada"
    provider.answers.append(lambda body: Answer(f"reply {len(str(body))}"))

    swarms(python, provider, "my boat is called Marvellous Ostrich")
    file = folder / "MEMORY.md"
    written = file.read_bytes()
    checked("swarms wrote agents/Ada/MEMORY.md", b"Marvellous Ostrich" in written)

    memory = Memory(folder)
    entries = memory.read().entries
    checked("we read its entries", [entry.role for entry in entries] == ["Human", "Ada"])
    checked("and every byte", memory.read().raw == written)
    with Agent("Ada", "openai/gpt-4o") as agent:
        agent.run("my cat is called Quiet Thunder")
    checked("our request had what swarms stored", "Marvellous Ostrich" in provider.asked[-1].text)
    checked("its bytes stand as they were", file.read_bytes().startswith(written))

    history = swarms(python, provider, "and now?")
    checked("swarms preloads what we wrote", "Quiet Thunder" in history)
    checked("as its persistent memory", "[Persistent Memory — MEMORY.md]" in history)
    roles = [entry.role for entry in memory.read().entries]
    checked("six entries, in turn", roles == ["Human", "Ada", "User", "Ada", "Human", "Ada"])

    with Agent("Ada", "openai/gpt-4o") as agent:
        agent.short_memory.compact(summary="Boat: Marvellous Ostrich. Cat: Quiet Thunder.")
    history = swarms(python, provider, "what is my boat called?")
    checked("swarms preloads our summary", "Cat: Quiet Thunder." in history)
    checked("and not what it replaced", "my cat is called" not in history)

    swarms(python, provider, "COMPACT Boat and cat have names.")
    with Agent("Ada", "openai/gpt-4o") as agent:
        agent.run("which?")
    request = provider.asked[-1].text
    checked("our request has the summary swarms made", "Boat and cat have names." in request)
    checked("and not what it replaced", "Quiet Thunder" not in request)
    archives = [archive.name for archive in memory.archives()]
    checked("we list the archives of both", len(archives) == 2)
    named = [re.fullmatch(r"history_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(_\d+)?\.md", name) for name in archives]
    checked("under the documented names", all(named))
    text = "".join((folder / "archive" / name).read_text() for name in archives)
    checked("nothing was lost", all(fact in text for fact in ("Marvellous Ostrich", "Quiet Thunder")))
    return checked.failed


def main(arguments: list[str]) -> int:
    """Run the checks with the given interpreter; returns the number of failures."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as root, Provider() as provider:
        os.environ.update(
            WORKSPACE_DIR=root, OPENAI_API_KEY="loopback", AGENTMEM_API_BASE=provider.url, HOME=root
        )
        failed = check(arguments[0], provider, Path(root))
        for complaint in provider.complaints:
            print("FAIL", complaint)
        return failed + len(provider.complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
