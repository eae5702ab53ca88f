"""A key from a command of the user's, such as a password manager."""

from __future__ import annotations

import functools
import shlex
import subprocess

from agentmem.errors import ConfigurationError

_LONGEST = 300.0  # seconds; a password manager may have to ask the person first


@functools.cache
def key_from(command: str) -> str:
    """Return the first line a command prints; it runs once a process, without a shell.

    Raises:
        ConfigurationError: it cannot be run, fails, or prints nothing. What it printed is not shown.
    """
    try:
        words = shlex.split(command)
        # stdin carries the task; what the command asks, it asks on the terminal.
        ended = subprocess.run(  # noqa: S603 # settings.load lets only approved commands through
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_LONGEST, check=False
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"key_command: cannot run {command!r}: {error}") from None
    except subprocess.TimeoutExpired:
        raise ConfigurationError(
            f"key_command: {words[0]} did not end within {_LONGEST:g} s; run it by hand to see what it waits for"
        ) from None
    if ended.returncode:
        raise ConfigurationError(
            f"key_command: {words[0]} ended with status {ended.returncode}; run it by hand to see why"
        )
    key = ended.stdout.decode("utf-8", "replace").partition("\n")[0].strip()
    if not key:
        raise ConfigurationError(f"key_command: {words[0]} printed nothing; it has to print the key")
    return key
