"""`agentmem chat`: one turn for scripts, or a conversation on a terminal."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem import settings
from agentmem.cli import agreement, approval, options, output
from agentmem.display import Visible
from agentmem.errors import AgentMemError, UsageError
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentmem.agent import Agent
    from agentmem.models.base import Piece, ToolCall


def chat(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="The agent's name: up to 64 letters, digits, spaces and - _ .",
            autocompletion=options.complete_agents,
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK", help="What to say; - reads stdin too.", show_default=False),
    ] = None,
    model: options.ModelName = None,
    system: Annotated[
        str | None,
        typer.Option("--system", "-s", metavar="TEXT|@FILE", help="System prompt: who the agent is."),
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", metavar="TEXT|@FILE", help="Rules sent after the system prompt.")
    ] = None,
    api_base: options.ApiBase = None,
    context_length: Annotated[
        int | None,
        typer.Option("--context-length", metavar="N", min=1, help="The model's context window in tokens."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="SHARE",
            help="Share of the window that triggers compaction [default: 0.9].",
        ),
    ] = None,
    summarizer_model: Annotated[
        str | None,
        typer.Option(
            "--summarizer-model",
            metavar="NAME",
            help="Model that writes summaries [default: the agent's].",
            autocompletion=options.complete_models,
        ),
    ] = None,
    summarizer_temperature: Annotated[
        float | None,
        typer.Option("--summarizer-temperature", metavar="T", help="Sampling temperature of summaries."),
    ] = None,
    summarizer_max_tokens: Annotated[
        int | None,
        typer.Option("--summarizer-max-tokens", metavar="N", min=1, help="Tokens of a summary at most."),
    ] = None,
    no_compression: Annotated[bool, typer.Option("--no-compression", help="Never compact.")] = False,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Read and write nothing of this agent's memory.")
    ] = False,
    max_loops: Annotated[
        str | None,
        typer.Option("--max-loops", metavar="N|auto", help="Model calls a task may take [default: 1]."),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool", metavar="MODULE:FUNCTION", help="A Python function the model may call; repeatable."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Let tools run, and files name code to run, without asking.")
    ] = False,
    save: Annotated[
        bool, typer.Option("--save", help="Keep these options in agent.toml, for every later chat.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="Sampling temperature, 0 to 2.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", min=1, help="Tokens of the reply at most.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="Wait this long for the provider's next bytes [default: 600].",
        ),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Send the last unanswered message again, storing it once.")
    ] = False,
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Print the reply when it is whole.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="No colour, no Markdown rendering, no bar.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors only on stderr.")] = False,
    json: options.Json = False,
    workspace: options.WorkspaceOption = None,
) -> None:
    """Talk to AGENT: one turn with a TASK or piped stdin, else a conversation."""
    shelf = Workspace(settings.workspace_root(workspace))
    if agent is None:
        raise UsageError(f"name an agent: agentmem chat AGENT; {_known(shelf)}")
    if retry and task:
        raise UsageError("--retry sends the message that is there again; leave the TASK out")
    folder = shelf.existing(agent) if retry else shelf.folder(agent)
    flags: dict[str, object] = {
        "model": model,
        "system_prompt": output.read_argument(system) if system else None,
        "rules": output.read_argument(rules) if rules else None,
        "api_base": api_base,
        "context_length": context_length,
        "threshold": threshold,
        "summarizer_model": summarizer_model,
        "summarizer_temperature": summarizer_temperature,
        "summarizer_max_tokens": summarizer_max_tokens,
        "compression": False if no_compression else None,
        "memory": False if no_memory else None,
        "max_loops": max_loops,
        "tools": tuple(tool) if tool else None,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "timeout": timeout,
    }
    resolved = approval.load(flags, folder, yes=yes)
    tell = _silent if quiet else output.notice
    if save:
        _save(folder, {name: getattr(resolved, name) for name in flags if flags[name] is not None}, tell)

    def open_agent(notice: Callable[[str], None]) -> Agent:
        from agentmem import models
        from agentmem.agent import Agent

        # The model first: a name or a key that is wrong must not leave an empty agent behind.
        model = models.open_model(resolved) if resolved.model else None
        return Agent(
            agent,
            workspace_dir=workspace,
            model=model,
            resolved=resolved,
            confirm=approval.confirm_calls(yes=yes, tell=notice),
            notice=notice,
        )

    words = " ".join(task or [])
    conversation = not (words or retry) and sys.stdin.isatty()
    said = "" if retry or conversation else _task(task or [], optional=save)
    if not (said or retry or conversation):
        return
    kept = agreement.may_keep(agent, folder, resolved, quiet=quiet)
    resolved = dataclasses.replace(resolved, memory=kept)
    if resolved.keep_archives:
        from agentmem.cli.purge import purge

        purge(agent, folder, resolved, quiet=quiet)
    if conversation:
        from agentmem.repl import run_repl

        raise typer.Exit(run_repl(open_agent, name=agent, folder=folder, plain=plain, quiet=quiet))
    # One reply can be passed on as it comes; of several, only the last is the answer.
    one_reply = resolved.max_loops == 1 and not resolved.tools
    stream = not (no_stream or json) and (one_reply or sys.stdout.isatty())
    _end_orderly_on_signals()
    with open_agent(tell) as opened:
        _one_turn(opened, said, retry=retry, stream=stream, json=json, tell=tell)


def _end_orderly_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the turn as Ctrl-C does: what has come of the reply is kept."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), leave)


def _known(shelf: Workspace) -> str:
    names = shelf.names()
    return f"there are: {', '.join(names)}" if names else "there are none yet, any new name makes one"


def _save(folder: Path, given: Mapping[str, object], tell: Callable[[str], None]) -> None:
    """Keep the options that were given.

    Raises:
        UsageError: none was.
    """
    from agentmem import agent_toml

    if not given:
        raise UsageError("nothing to save: give the options to keep, such as --model or --system")
    path = agent_toml.save(folder, given)
    tell(f"saved {', '.join(given)} in {output.shell_path(path)}")


def _silent(_message: str) -> None:
    """Say nothing."""


def _task(words: list[str], *, optional: bool) -> str:
    """Return the task: the words, and piped stdin after a blank line.

    Args:
        words: as typed.
        optional: there may be none; then it is "".

    Raises:
        UsageError: there is nothing to say.
    """
    forced = "-" in words
    # Words come decoded by the locale; in the C locale that may not be what they were typed in.
    text = os.fsencode(" ".join(word for word in words if word != "-")).decode("utf-8", "replace")
    piped = output.read_stdin() if forced or not sys.stdin.isatty() else ""
    said = "\n\n".join(part for part in (text, piped) if part.strip())
    if not (said or optional):
        raise UsageError("nothing to say: give a TASK, pipe something in, or run it on a terminal")
    return said


def _one_turn(
    agent: Agent, task: str, *, retry: bool, stream: bool, json: bool, tell: Callable[[str], None]
) -> None:
    printer = _Printer() if stream else None
    on_piece = printer.take if printer else _ignore

    def on_result(call: ToolCall, result: str) -> None:
        tell(approval.outcome(call, result))

    answer = agent.retry(on_piece, on_result) if retry else agent.run(task, on_piece, on_result)
    if json:
        output.write_json(_as_json(agent, answer))
    elif printer:
        printer.end()
        printer.check()
    else:
        output.write_text(f"{answer}\n")


def _ignore(_piece: Piece) -> None:
    """Take no notice of a piece."""


def _as_json(agent: Agent, answer: str) -> dict[str, object]:
    reply, run = agent.last_reply, agent.last_run
    entry = next((turn.entry for turn in reversed(agent.short_memory.turns) if turn.entry), None)
    return {
        "agent": agent.agent_name,
        "model": agent.model.name,
        "reply": answer,
        "id": entry.stamp if entry else None,
        "finish": reply.finish or None,
        "usage": {
            "prompt_tokens": run.usage.prompt_tokens or None,
            "completion_tokens": run.usage.completion_tokens or None,
            "cached_tokens": run.usage.cached_tokens,
            "cost": run.usage.cost,
        },
        "calls": run.calls,
        "tool_calls": run.tool_calls,
        "stopped": run.stopped or None,
    }


class _Printer:
    """Writes replies to stdout as they arrive; a reader that goes away does not stop the turn from being kept."""

    def __init__(self) -> None:
        self._text = ""
        self._gone = False
        self._failure = ""
        self._ended = False
        self._visible = Visible() if sys.stdout.isatty() else None

    def take(self, piece: Piece) -> None:
        from agentmem.models.base import Finish, TextDelta

        if isinstance(piece, TextDelta):
            text = f"\n{piece.text}" if self._ended else piece.text
            self._write(self._visible.feed(text) if self._visible else text)
            self._ended = False
        elif isinstance(piece, Finish) and self._text and not self._ended:
            self.end()  # what a tool has to say on stderr begins a line of its own
            self._ended = True

    def end(self) -> None:
        self._write(self._visible.flush() if self._visible else "")
        self._write("" if self._text.endswith("\n") else "\n")

    def check(self) -> None:
        """Say that what was printed did not arrive.

        Raises:
            AgentMemError: stdout could not be written, and not because nobody reads it.
        """
        if self._failure:
            raise AgentMemError(f"the reply is stored, but stdout cannot be written: {self._failure}")

    def _write(self, text: str) -> None:
        self._text = text or self._text
        if self._gone:
            return
        try:
            output.write(text)
            sys.stdout.flush()
        except OSError as error:
            self._gone = True
            self._failure = "" if isinstance(error, BrokenPipeError) else error.strerror or str(error)
            # The interpreter flushes stdout once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
