"""Writing settings into an agent's agent.toml, leaving what people wrote there as it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agentmem import approvals, settings
from agentmem.durable import writing
from agentmem.errors import ConfigurationError
from agentmem.folders import Folder
from agentmem.workspace import AGENT_SETTINGS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def save(folder: Path, values: Mapping[str, object]) -> Path:
    """Set keys in agent.toml; comments, order and all other keys stay. Returns the file's path.

    Code that the values name was named by the user just now, so the file stays approved, or becomes
    it, unless it names other code that is not.

    Args:
        folder: the agent's folder; it is created when it is missing.
        values: settings by name, as `Settings` has them.

    Raises:
        ConfigurationError: the file is no valid settings file.
        StorageError: it cannot be written.
    """
    path = folder / AGENT_SETTINGS
    withheld = settings.withheld(path)
    others = withheld.values.keys() - values.keys() if withheld else ()
    with Folder.open(folder, create=True) as opened, writing(path):
        try:
            before = opened.read(AGENT_SETTINGS)
        except FileNotFoundError:
            before = b""
        content = _with(before, {name: _plain(value) for name, value in values.items()}, path)
        opened.replace(AGENT_SETTINGS, [content])
    after = settings.withheld(path)
    if after and not others:
        approvals.approve(settings.approvals_path(), path, after.mark)
    return path


def _with(before: bytes, values: Mapping[str, object], path: Path) -> bytes:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(before.decode())
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from error
    for name, value in values.items():
        document[name] = _written(value)
    return tomlkit.dumps(document).encode()


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _written(value: object) -> Any:
    """Return a text of several lines as TOML's long form, where that gives the same text back."""
    import tomlkit

    if isinstance(value, str) and "\n" in value:
        long = tomlkit.string(value, multiline=True)
        if tomllib.loads(f"text = {long.as_string()}")["text"] == value:
            return long
    return value
