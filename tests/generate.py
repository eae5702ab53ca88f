"""Write what is made from the program: completions/, man/, the README's settings: `python -m tests.generate`.

A test fails when these files are not what this makes of the commands as they are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agentmem import __version__
from agentmem.cli import app
from agentmem.cli.helping import tidy, usage
from agentmem.cli.loading import COMMANDS
from tests.documents import README, with_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
RELEASED = "2026-12-01"

BASH = """\
# Completion of agentmem for bash: commands, options, and the names of agents, archives and models.

_agentmem_completion() {
    local IFS=$'\\n' word
    COMPREPLY=()
    for word in $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
        _AGENTMEM_COMPLETE=complete_bash "$1" 2>/dev/null); do
        COMPREPLY+=("$(printf '%q' "$word")")
    done
}

complete -o default -F _agentmem_completion agentmem
"""

ZSH = """\
#compdef agentmem
# Completion of agentmem for zsh: commands, options, and the names of agents, archives and models.

_agentmem_completion() {
    eval "$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _AGENTMEM_COMPLETE=complete_zsh ${words[1]} 2>/dev/null)"
}

if [[ ${funcstack[1]} == _agentmem ]]; then
    _agentmem_completion "$@"
else
    compdef _agentmem_completion agentmem
fi
"""

FISH = """\
# Completion of agentmem for fish: commands, options, and the names of agents, archives and models.

function __agentmem_complete
    env _AGENTMEM_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \\
        _TYPER_COMPLETE_ARGS=(commandline -cp) agentmem 2>/dev/null
end

complete --command agentmem --no-files --condition '__agentmem_complete is-args' \\
    --arguments '(__agentmem_complete get-args)'
"""

EXIT_STATUS = (
    ("0", "all went well"),
    ("1", "another failure"),
    ("2", "the command, an argument or an option makes no sense"),
    ("65", "the task cannot fit the model's context window"),
    ("66", "no such agent, archive or entry"),
    ("69", "the provider cannot be reached"),
    ("74", "the memory cannot be read or written"),
    ("75", "rate-limited, or the folder is locked; try again"),
    ("77", "the provider does not accept the key"),
    ("78", "no model, no key, or a settings file that cannot be used"),
    ("130", "Ctrl-C"),
)
ENVIRONMENT = (
    ("WORKSPACE_DIR", "the folder that holds all agents"),
    ("AGENTMEM_NAME", "the setting NAME, such as AGENTMEM_MODEL or AGENTMEM_THRESHOLD"),
    ("OPENAI_BASE_URL, OPENAI_API_BASE", "the URL of an OpenAI-compatible endpoint"),
    ("OPENAI_API_KEY, ANTHROPIC_API_KEY, ...", "the provider's key"),
    ("NO_COLOR", "no colours, when not empty"),
    ("PAGER", "what shows long output on a terminal; less when not set, nothing when it is cat"),
    ("VISUAL, EDITOR", "what Ctrl-X Ctrl-E opens in a conversation"),
)
FILES = (
    ("agents/AGENT/MEMORY.md", "the memory, appended every turn"),
    ("agents/AGENT/archive/", "copies of MEMORY.md, each taken just before a compaction"),
    ("agents/AGENT/agent.toml", "who the agent is, and its settings"),
    ("agents/AGENT/.agentmem/", "lock, search index and input history; safe to delete"),
)


def files() -> dict[str, str]:
    """Return every generated file: its path below the root, and its text."""
    made = {
        "completions/agentmem.bash": BASH,
        "completions/_agentmem": ZSH,
        "completions/agentmem.fish": FISH,
        "man/agentmem.1": main_page(),
        README.name: with_settings(README.read_text(encoding="utf-8")),
    }
    group = typer.main.get_command(app)
    for name in COMMANDS:
        made[f"man/agentmem-{name}.1"] = command_page(name, group)
    return made


def main_page() -> str:
    """Return agentmem(1)."""
    lines = [
        *heading("agentmem", "talk to LLM agents that remember"),
        *section("SYNOPSIS", [r"\fBagentmem\fR \fICOMMAND\fR [\fIARGUMENT\fR...]"]),
        ".SH DESCRIPTION",
        roff(
            "Every turn of a conversation is written, durably, to a Markdown file that you own. When it outgrows "
            "the model's context window, it is folded into a summary and the raw log goes to an archive."
        ),
        ".SH COMMANDS",
        *listed((rf"\fBagentmem\-{roff(name)}\fR(1)", text) for name, text in COMMANDS.items()),
        *common(),
        *see_also(f"agentmem-{name}" for name in COMMANDS),
    ]
    return "\n".join(lines) + "\n"


def command_page(name: str, group: Any) -> str:
    """Return the page of one command."""
    command = group.commands[name]
    context = command.make_context(name, [], resilient_parsing=True, parent=None)
    parameters = command.get_params(context)
    records = [
        (each.param_type_name, tidy(*record))
        for each in parameters
        if (record := each.get_help_record(context))
    ]
    arguments = [record for kind, record in records if kind == "argument"]
    options = [record for kind, record in records if kind == "option"]
    words = usage(" ".join(word for each in parameters for word in each.get_usage_pieces(context)))
    synopsis = " ".join(rf"\fI{roff(word)}\fR" for word in words.split())
    lines = [
        *heading(f"agentmem-{name}", COMMANDS[name].rstrip(".")),
        *section("SYNOPSIS", [rf"\fBagentmem {roff(name)}\fR [\fIOPTION\fR...] {synopsis}"]),
        ".SH DESCRIPTION",
        *(roff(part) for part in re.split(r"\n\s*\n", command.help or COMMANDS[name])),
    ]
    if arguments:
        lines += [".SH ARGUMENTS", *listed((rf"\fI{roff(term)}\fR", text) for term, text in arguments)]
    lines += [".SH OPTIONS", *listed((option(term), text) for term, text in options)]
    lines += [*common(), *see_also(["agentmem"])]
    return "\n".join(lines) + "\n"


def heading(name: str, line: str) -> Iterator[str]:
    yield f'.TH {name.upper()} 1 "{RELEASED}" "agentmem {__version__}" "agentmem"'
    yield from section("NAME", [rf"{roff(name)} \- {roff(line[:1].lower() + line[1:])}"])


def section(title: str, lines: list[str]) -> Iterator[str]:
    yield f".SH {title}"
    yield from lines


def listed(rows: Any) -> Iterator[str]:
    """Yield a list of terms, each already roff, with their texts."""
    for term, text in rows:
        yield from (".TP", term, roff(text))


def option(term: str) -> str:
    """Return an option and its value: `-m, --model NAME` with the value in italics."""
    names, _, value = term.rpartition(" ") if not term.rpartition(" ")[2].startswith("-") else (term, "", "")
    return rf"\fB{roff(names)}\fR" + (rf" \fI{roff(value)}\fR" if value else "")


def common() -> Iterator[str]:
    """Yield what every page says."""
    yield from [".SH EXIT STATUS", *listed((rf"\fB{code}\fR", text) for code, text in EXIT_STATUS)]
    yield from [".SH ENVIRONMENT", *listed((rf"\fB{roff(name)}\fR", text) for name, text in ENVIRONMENT)]
    yield from [".SH FILES", *listed((rf"\fI{roff(name)}\fR", text) for name, text in FILES)]


def see_also(names: Any) -> Iterator[str]:
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {roff(name)} (1)" for name in names).replace(",\n", " ,\n")


def roff(text: str) -> str:
    """Return a text that troff shows as it is."""
    text = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return f"\\&{text}" if text.startswith((".", "\\(aq")) else text


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
