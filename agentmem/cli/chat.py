"""`agentmem chat`: one turn for scripts, or a conversation on a terminal."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem import settings
from agentmem.cli import agreement, approval, options, output, turn
from agentmem.display import shell_path
from agentmem.errors import UsageError
from agentmem.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentmem.agent import Agent


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
    model: Annotated[
        str | None,
        options.setting("model", "--model", "-m", value="NAME", complete=options.complete_models),
    ] = None,
    system: Annotated[
        str | None, options.setting("system_prompt", "--system", "-s", value="TEXT|@FILE")
    ] = None,
    rules: Annotated[str | None, options.setting("rules", "--rules", value="TEXT|@FILE")] = None,
    api_base: options.ApiBase = None,
    context_length: options.ContextLength = None,
    threshold: Annotated[str | None, options.setting("threshold", "--threshold", value="SHARE")] = None,
    summarizer_model: Annotated[
        str | None,
        options.setting(
            "summarizer_model", "--summarizer-model", value="NAME", complete=options.complete_models
        ),
    ] = None,
    summarizer_temperature: Annotated[
        str | None, options.setting("summarizer_temperature", "--summarizer-temperature", value="T")
    ] = None,
    summarizer_max_tokens: Annotated[
        str | None, options.setting("summarizer_max_tokens", "--summarizer-max-tokens", value="N")
    ] = None,
    no_compression: Annotated[bool, typer.Option("--no-compression", help="Never compact.")] = False,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Read and write nothing of this agent's memory.")
    ] = False,
    max_loops: Annotated[str | None, options.setting("max_loops", "--max-loops", value="N|auto")] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool",
            metavar="MODULE:FUNCTION",
            help="A Python function the model may call; repeatable [default: none].",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Let tools run, and files name code to run, without asking.")
    ] = False,
    save: Annotated[
        bool, typer.Option("--save", help="Keep these options in agent.toml, for every later chat.")
    ] = False,
    temperature: Annotated[str | None, options.setting("temperature", "--temperature", value="T")] = None,
    max_tokens: Annotated[str | None, options.setting("max_tokens", "--max-tokens", value="N")] = None,
    timeout: Annotated[str | None, options.setting("timeout", "--timeout", value="SECONDS")] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Send the last unanswered message again, storing it once.")
    ] = False,
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Print the reply when it is whole.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="No colour, no Markdown rendering, no bar.")] = False,
    quiet: options.Quiet = False,
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
    tell = output.teller(quiet=quiet)
    if save:
        _save(folder, {name: getattr(resolved, name) for name in flags if flags[name] is not None}, tell)

    def open_agent(notice: Callable[[str], None]) -> Agent:
        from agentmem import models
        from agentmem.agent import Agent

        # The model first: a name or a key that is wrong must not leave an empty agent behind.
        model = models.open_model(resolved) if resolved.model else None
        opened = Agent(
            agent,
            workspace_dir=workspace,
            model=model,
            resolved=resolved,
            confirm=approval.confirm_calls(yes=yes, tell=notice),
            notice=notice,
        )
        opened.on_missing = _wants_back
        return opened

    words = " ".join(task or [])
    conversation = not (words or retry) and sys.stdin.isatty()
    if conversation and json:
        raise UsageError("--json prints one reply: give a TASK, or pipe it in")
    said = "" if retry or conversation else _task(task or [], optional=save and not json)
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
    with turn.ended_orderly(), open_agent(tell) as opened:
        turn.take(opened, said, retry=retry, stream=stream, json=json, tell=tell)


def _wants_back(_missing: object) -> bool:
    """Ask whether entries that vanished shall come back; with nobody to ask, nothing is lost."""
    return not output.interactive() or output.confirm("put them back?", "")


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
    tell(f"saved {', '.join(given)} in {shell_path(path)}")


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
