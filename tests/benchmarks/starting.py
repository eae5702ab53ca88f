"""Rows about the start: commands, one turn for a script, the prompt of the REPL."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.measuring import Row, in_turn, milliseconds, processes
from tests.benchmarks.peers import HERE, ours, theirs
from tests.loopback import Provider
from tests.program import COMMAND, agree
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.benchmarks.run import Plan

TYPER = [sys.executable, "-c", "import typer"]
SCREEN = [sys.executable, "-c", "import typer, rich.console, prompt_toolkit"]
QUESTION = "And which of them was it?"
KEY = "sk-loopback-0123456789"


def commands(plan: Plan) -> Iterator[Row]:
    """`--version`, `--help`, `show AGENT` and name completion, beside `import typer` and `llm logs list`.

    They wait for nothing, so processor time tells what they take, whatever else the machine does.
    """
    workspace = plan.folder / "start"
    plan.inputs.memory(workspace / "agents" / "Ada", entries=100)
    env = ours(workspace)
    typed = {"COMP_WORDS": "agentmem show A", "COMP_CWORD": "2", "_AGENTMEM_COMPLETE": "complete_bash"}
    cases: dict[str, tuple[list[str], dict[str, str]]] = {
        "--version": ([*COMMAND, "--version"], env),
        "--help": ([*COMMAND, "--help"], env),
        "show AGENT, 100 entries": ([*COMMAND, "show", "Ada"], env),
        "name completion": (COMMAND, {**env, **typed}),
    }
    for what, case in cases.items():
        own, typer = processes(plan.runs, case, (TYPER, env))
        ratio = own.over(typer)
        yield Row(
            what,
            ratio.cpu,
            2.0,
            details=f"processor time; {milliseconds(own.cpu.median)} over `import typer`, "
            f"{milliseconds(typer.cpu.median)}; on the clock {ratio.wall.median:.2f} times",
        )
    if not plan.peers.has("llm"):
        return
    with Provider() as provider:
        logs = _llm_talk(plan, workspace, provider)
    for what, case in cases.items():
        own, peer = processes(plan.runs, case, ([plan.peers.program("llm", "llm"), "logs", "list"], logs))
        ratio = own.over(peer)
        yield Row(
            f"{what}, beside `llm logs list`",
            ratio.cpu,
            0.25,
            details=f"processor time; {milliseconds(own.cpu.median)} over {milliseconds(peer.cpu.median)}; "
            f"on the clock {ratio.wall.median:.2f} times",
        )


def chat(plan: Plan) -> Iterator[Row]:
    """One-shot `chat`, from the start of the process to the request on the wire."""
    workspace = plan.folder / "chat"
    memory = plan.inputs.memory(workspace / "agents" / "Ada", entries=100)
    fresh = memory.read_bytes()
    agree(workspace)
    with Provider() as provider:
        openai = ours(workspace, OPENAI_BASE_URL=provider.url, OPENAI_API_KEY=KEY)
        claude = ours(workspace, ANTHROPIC_BASE_URL=provider.root, ANTHROPIC_API_KEY=KEY)

        def own(env: Mapping[str, str], model: str) -> float:
            memory.write_bytes(fresh)
            return _to_request(provider, [*COMMAND, "chat", "Ada", "-m", model, QUESTION], env)

        wire = lambda: own(openai, "gpt-4o")  # noqa: E731 - one measure of several
        litellm = lambda: own(claude, "anthropic/claude-sonnet-4-6")  # noqa: E731
        if plan.peers.has("llm"):
            peer = _llm(plan, workspace, provider)
            ours_, theirs_ = in_turn(plan.runs, wire, peer)
            yield Row(
                "one-shot chat to the request, memory of 100 entries, beside `llm -c`",
                ours_.over(theirs_),
                0.6,
                details=f"{milliseconds(ours_.median)} over {milliseconds(theirs_.median)}",
            )
        ours_, other = in_turn(max(3, plan.runs // 3), wire, litellm)
        yield Row(
            "the same through litellm, beside the OpenAI lane",
            other.over(ours_),
            None,
            details=f"{milliseconds(other.median)} over {milliseconds(ours_.median)}",
        )


def _to_request(provider: Provider, command: Sequence[str], env: Mapping[str, str]) -> float:
    """Return the seconds from the start of a command to its request."""
    arrived: list[float] = []

    def answer(_body: Mapping[str, object]) -> str:
        arrived.append(time.perf_counter())
        return "It was the second one."

    provider.answers.clear()
    provider.asked.clear()
    provider.answers.append(answer)
    start = time.perf_counter()
    ended = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if ended.returncode or not arrived or len(provider.asked[-1].text) < 50_000:
        raise SystemExit(f"{' '.join(command)} did not send its memory: {ended.stderr.decode()[-2000:]}")
    return arrived[0] - start


def _llm(plan: Plan, workspace: Path, provider: Provider) -> Callable[[], float]:
    """Return the measure of going on with a conversation of `llm`."""
    env = _llm_talk(plan, workspace, provider)
    logs = Path(env["LLM_USER_PATH"]) / "logs.db"
    kept = logs.read_bytes()

    def measure() -> float:
        logs.write_bytes(kept)
        return _to_request(provider, [plan.peers.program("llm", "llm"), "-c", QUESTION], env)

    return measure


def _llm_talk(plan: Plan, workspace: Path, provider: Provider) -> dict[str, str]:
    """Let `llm` have a conversation of fifty exchanges; returns its environment."""
    user = workspace.parent / "llm"
    user.mkdir(exist_ok=True)
    models = f"- model_id: loopback\n  model_name: gpt-4o\n  api_base: {provider.url}\n"
    (user / "extra-openai-models.yaml").write_text(models)
    env = theirs(workspace, LLM_USER_PATH=str(user), OPENAI_API_KEY=KEY)
    provider.answers.append(lambda _body: plan.inputs.message())
    script = [plan.peers.program("llm"), str(HERE / "in_llm.py"), "loopback"]
    questions = "\n".join(plan.inputs.message() for _ in range(50)).encode()
    subprocess.run(script, env=env, input=questions, check=True, capture_output=True)
    return env


def repl(plan: Plan) -> Iterator[Row]:
    """The REPL, from its start to the prompt on a pseudo-terminal."""
    workspace = plan.folder / "repl"
    plan.inputs.memory(workspace / "agents" / "Ada", entries=100)
    agree(workspace)
    with Provider() as provider:
        env: dict[str, str | None] = {**ours(workspace, OPENAI_BASE_URL=provider.url, OPENAI_API_KEY=KEY)}

        def prompt() -> float:
            start = time.perf_counter()
            with Terminal([*COMMAND, "chat", "Ada", "-m", "gpt-4o"], environment=env) as terminal:
                terminal.wait_prompt()
                took = time.perf_counter() - start
                terminal.wait_for("compacts at")
                terminal.send("\x04")
                terminal.wait_end()
            return took

        def imports() -> float:
            start = time.perf_counter()
            subprocess.run(SCREEN, env=ours(workspace), check=True)
            return time.perf_counter() - start

        own, bare = in_turn(plan.runs, prompt, imports)
    yield Row(
        "REPL, start to prompt, memory of 100 entries",
        own.over(bare),
        1.5,
        details=f"{milliseconds(own.median)} over `import typer, rich.console, prompt_toolkit`, "
        f"{milliseconds(bare.median)}",
    )
