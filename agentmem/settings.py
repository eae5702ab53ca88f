"""Settings: flag > environment > the agent's agent.toml > the user's config.toml > default.

The fields of `Settings` are the one table that drives loading, help and the docs. This is the only
module of the core that reads the environment.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from agentmem import approvals, spelling
from agentmem.converting import (
    FALSE,
    TRUE,
    as_flag,
    as_integer,
    as_loops,
    as_number,
    as_one_of,
    as_text,
    as_texts,
    parse_duration,
)
from agentmem.errors import AgentMemError, ConfigurationError, UsageError
from agentmem.workspace import AGENT_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from agentmem.converting import Loops

PREFIX = "AGENTMEM_"
_OTHER_VARIABLES = frozenset({"AGENTMEM_DEBUG"})

# An empty flag for these is a shell variable that was not set, not a wish.
_NEVER_EMPTY = frozenset({"model", "api_base", "summarizer_model"})
_RECALLS = ("tool", "auto", "off")
_LOCKS = ("file", "none")


def _setting(
    default: Any,
    convert: Callable[[object], Any],
    explanation: str,
    *,
    unset: str = "",
    words: tuple[str, ...] = (),
    variables: tuple[str, ...] = (),
    runs_code: bool = False,
) -> Any:
    metadata = {
        "convert": convert,
        "help": explanation,
        "unset": unset,
        "words": words or (TRUE + FALSE if convert is as_flag else ()),
        "variables": variables,
        "runs_code": runs_code,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Unapproved:
    """A settings file that would run code, or an agent's that names an address elsewhere, unapproved.

    Those keys of it have no effect.

    Attributes:
        path: the file.
        values: what it would run or talk to, by key.
        mark: the fingerprint to approve.
    """

    path: Path
    values: Mapping[str, object]
    mark: str


@dataclass(frozen=True)
class Settings:
    """Every setting, resolved.

    `sources` says where each value came from, `unapproved` which files were not taken at their word.
    """

    model: str = _setting(
        "",
        as_text,
        "model to talk to, such as gpt-4o, anthropic/claude-sonnet-4-6, local or local:FILE.gguf",
        unset="by the keys that are set, else local",
    )
    api_base: str = _setting(
        "",
        as_text,
        "URL of an OpenAI-compatible endpoint",
        unset="the provider's",
        variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    )
    key_command: str = _setting(
        "",
        as_text,
        "command that prints the API key, such as `pass show openai`",
        unset="none",
        runs_code=True,
    )
    system_prompt: str = _setting("", as_text, "system prompt: who the agent is", unset="none")
    rules: str = _setting("", as_text, "rules sent after the system prompt", unset="none")
    temperature: float | None = _setting(
        None, as_number(0, 2), "sampling temperature, 0 to 2", unset="the provider's"
    )
    max_tokens: int | None = _setting(
        None, as_integer(1), "tokens of a reply at most", unset="the provider's limit"
    )
    timeout: float = _setting(
        600.0, as_number(0, above=True), "seconds to wait for the provider's next bytes"
    )
    context_length: int | None = _setting(
        None, as_integer(1), "the model's context window in tokens", unset="looked up"
    )
    compression: bool = _setting(True, as_flag, "summarise the memory when it fills the context window")
    threshold: float = _setting(
        0.9,
        as_number(0, 1, above=True),
        "share of the context window at which compaction fires, above 0, at most 1",
    )
    keep_tokens: int | None = _setting(
        None,
        as_integer(0),
        "tokens of recent talk a compaction leaves word for word",
        unset="10 % of the window, at most 4000",
    )
    summarizer_model: str = _setting("", as_text, "model that writes summaries", unset="the agent's own")
    summarizer_temperature: float = _setting(
        0.2, as_number(0, 2), "sampling temperature of summaries, 0 to 2"
    )
    summarizer_max_tokens: int = _setting(4000, as_integer(1), "tokens of a summary at most")
    max_summary_calls: int = _setting(32, as_integer(1), "model calls one compaction may take")
    memory: bool = _setting(True, as_flag, "keep the conversation in MEMORY.md")
    redact: bool = _setting(True, as_flag, "replace keys and passwords before anything is stored")
    keep_archives: timedelta | None = _setting(
        None, parse_duration, "delete archives older than this, such as 90d, 12h or 2w", unset="never"
    )
    recall: str = _setting(
        "",
        as_one_of("", *_RECALLS),
        "how the agent reaches archived talk: tool, auto or off",
        unset="by the model",
        words=_RECALLS,
    )
    max_loops: Loops = _setting(
        1, as_loops, "model calls a task may take, or auto: until no tool is wanted", words=("auto",)
    )
    tools: tuple[str, ...] = _setting(
        (),
        as_texts,
        "Python functions the model may call, each MODULE:FUNCTION",
        unset="none",
        runs_code=True,
    )
    tool_timeout: float | None = _setting(
        None, as_number(0, above=True), "seconds one call of a tool may take", unset="no limit"
    )
    lock_timeout: float = _setting(
        10.0, as_number(0), "seconds to wait for another process to release the folder"
    )
    lock: str = _setting(
        "file",
        as_one_of(*_LOCKS),
        "how processes keep out of each other's way: file, or none where the file system has no locks",
        words=_LOCKS,
    )
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    unapproved: tuple[Unapproved, ...] = field(default=(), repr=False)

    def variable(self, name: str) -> str:
        """Return an environment variable's value, or "": how providers' keys are read."""
        return os.environ.get(name, "")


TABLE: dict[str, dataclasses.Field[Any]] = {
    each.name: each for each in dataclasses.fields(Settings) if each.metadata
}
"""The settings by name; `metadata` has `help`, `unset` (what holds then), `convert`, `words`, `variables` and `runs_code`."""


def default(name: str) -> str:
    """Return what holds when a setting is not set, in words."""
    row = TABLE[name]
    value = f"{row.default:g}" if isinstance(row.default, float) else str(row.default)
    return row.metadata["unset"] or (value.lower() if isinstance(row.default, bool) else value)


def workspace_root(given: str | Path | None = None) -> Path:
    """Return the workspace folder: as given, `WORKSPACE_DIR`, or the user's data folder."""
    chosen = given or os.environ.get("WORKSPACE_DIR")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_data_path("agentmem")


def misspelt() -> dict[str, str]:
    """Return the variables in the environment that look like settings and are none, with the nearest one that is."""
    known = {PREFIX + name.upper() for name in TABLE}
    strange = {name for name in os.environ if name.startswith(PREFIX)} - known - _OTHER_VARIABLES
    return {name: spelling.nearest(name, known) for name in sorted(strange)}


def config_path() -> Path:
    """Return where the user's own config.toml is looked for."""
    return platformdirs.user_config_path("agentmem") / "config.toml"


def approvals_path() -> Path:
    """Return where it is recorded which settings files may run code."""
    return config_path().with_name("approved.json")


def load(
    flags: Mapping[str, object] | None = None,
    *,
    agent_folder: Path | None = None,
    options: Mapping[str, str] | None = None,
) -> Settings:
    """Resolve every setting; what `Unapproved` is about counts only from a file that was approved.

    Args:
        flags: values given by the caller; None means not given.
        agent_folder: the agent's folder, whose agent.toml counts.
        options: names of the options that give them, where they are not the settings' own.

    Raises:
        UsageError: a flag's value is refused.
        ConfigurationError: a file or a variable cannot be used; the message names it and the key.
    """
    values: dict[str, object] = {}
    sources = dict.fromkeys(TABLE, "default")
    unapproved: list[Unapproved] = []
    for path in (config_path(), *([agent_folder / AGENT_SETTINGS] if agent_folder else [])):
        content = _content(path)
        found = _parsed(path, content)
        left_out = _unapproved(path, content, found)
        unapproved += [left_out] if left_out else []
        for name in found.keys() - (left_out.values if left_out else {}).keys():
            values[name], sources[name] = found[name], str(path)
    for name, row in TABLE.items():
        for variable in (PREFIX + name.upper(), *row.metadata["variables"]):
            if os.environ.get(variable):
                values[name] = _converted(name, os.environ[variable], variable, ConfigurationError)
                sources[name] = variable
                break
        given = (flags or {}).get(name)
        option = (options or {}).get(name, f"--{name.replace('_', '-')}")
        if given == "" and name in _NEVER_EMPTY:
            raise UsageError(f"{option} is empty")
        if given is not None:
            values[name] = _converted(name, given, option, UsageError)
            sources[name] = "flag"
    return Settings(**values, sources=sources, unapproved=tuple(unapproved))  # type: ignore[arg-type]  # converted by the table


def read_file(path: Path) -> dict[str, object]:
    """Read a settings file, approved or not; a missing one is empty.

    Raises:
        ConfigurationError: it is no TOML, or has an unknown key or a refused value.
    """
    return _parsed(path, _content(path))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error


def withheld(path: Path) -> Unapproved | None:
    """Return what a settings file would run but may not, since nobody approved it; errors as `read_file`."""
    content = _content(path)
    return _unapproved(path, content, _parsed(path, content))


def _unapproved(path: Path, content: bytes, found: Mapping[str, object]) -> Unapproved | None:
    risky = {name: value for name, value in found.items() if value and _is_risky(path, name, value)}
    mark = approvals.fingerprint(path, content) if risky else ""
    return Unapproved(path, risky, mark) if risky and not approvals.approved(approvals_path(), mark) else None


def _is_risky(path: Path, name: str, value: object) -> bool:
    """Whether a key runs code, or lets a folder that came from elsewhere send words and key to a stranger."""
    if name == "api_base" and path.name == AGENT_SETTINGS:
        from urllib.parse import urlsplit

        try:
            host = urlsplit(str(value)).hostname or ""
        except ValueError:
            return True
        return not (host in {"localhost", "::1"} or re.fullmatch(r"127(\.\d{1,3}){3}", host))
    return bool(TABLE[name].metadata["runs_code"])


def _parsed(path: Path, content: bytes) -> dict[str, object]:
    if not content:
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(content.decode())
    except ValueError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from error
    for name in table.keys() - TABLE.keys():
        hint = spelling.hint(name, TABLE) or f"; there are {', '.join(TABLE)}"
        raise ConfigurationError(f"{path}: unknown key {name!r}{hint}")
    return {name: _converted(name, value, str(path), ConfigurationError) for name, value in table.items()}


def _converted(name: str, value: object, where: str, error: type[AgentMemError]) -> object:
    try:
        return TABLE[name].metadata["convert"](value)
    except ValueError as wrong:
        label = f"{where}: {name}" if where.endswith(".toml") else where
        near = spelling.hint(value, TABLE[name].metadata["words"])
        raise error(f"{label}: {wrong}, not {value!r}{near}") from None
