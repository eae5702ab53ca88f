"""Where output goes: stdout carries the answer or the data, stderr everything else."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from agentmem import question
from agentmem.display import visible, visible_line
from agentmem.errors import UsageError
from agentmem.repl import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TextIO

_COLUMNS = 80  # where nobody says


def notice(message: str) -> None:
    """Tell the person something on stderr: in one line, which on a terminal is broken between words."""
    say(f"agentmem: {visible_line(message)}")


def say(line: str, indent: int = 2) -> None:
    """Print a line that is safe for a terminal on stderr; what does not fit on a row goes on, indented."""
    if sys.stderr.isatty():
        from agentmem.repl import draws_unicode

        line = line if draws_unicode() else rows.in_ascii(line)
        fitting = rows.wrapped((("", line),), width(sys.stderr), indent)
        line = "\n".join("".join(text for _, text in row) for row in fitting)
    print(line, file=sys.stderr)


def width(stream: TextIO) -> int:
    """Return the columns of a terminal, or what COLUMNS says."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def teller(*, quiet: bool) -> Callable[[str], None]:
    """Return what tells notices: `notice`, or nothing at all."""
    return (lambda _message: None) if quiet else notice


def end_quietly_on_closed_pipe() -> None:
    """Let `… | head` end the process without a word; only for commands that talk to no network."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def write(text: str) -> None:
    """Write data to stdout, whatever the locale's encoding can carry."""
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def write_text(text: str) -> None:
    """Write text that may hold anything: made safe where stdout is a terminal, as it is where it is not."""
    write(visible(text) if sys.stdout.isatty() else text)


def write_bytes(content: bytes) -> None:
    """Write bytes to stdout as they are."""
    sys.stdout.buffer.write(content)


def write_json(value: object) -> None:
    """Print one JSON document."""
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def colour(stream: TextIO | None = None) -> bool:
    """Whether a stream, stdout by default, is a terminal that wants colour."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and (stream or sys.stdout).isatty()


def interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(asked: str, command: str) -> bool:
    """Ask yes or no on the terminal.

    Args:
        asked: what to ask.
        command: what a script would have to run instead.

    Raises:
        UsageError: nobody can be asked.
    """
    if not interactive():
        raise UsageError(f"not done, since nobody can be asked; to do it: {command}")
    return yes_or_no(asked, default=False)


def yes_or_no(asked: str, *, default: bool) -> bool:
    """Ask until the answer is one; an empty one is the default, an end of the input is no."""
    choices = "[Y/n]" if default else "[y/N]"
    while (answer := ask(f"{asked} {choices}", at_end="n")) not in {"", "y", "yes", "n", "no"}:
        notice(f"please answer y or n, not {answer[:40]!r}")
    return default if not answer else answer in {"y", "yes"}


def ask(asked: str, *, at_end: str = "") -> str:
    """Ask on stderr, as `question.ask`."""
    return question.ask(asked, sys.stderr, at_end=at_end)


def table(body: Sequence[Mapping[str, str]], right: Iterable[str] = ()) -> str:
    """Return rows as aligned columns under their keys.

    Args:
        body: the rows, all with the same keys.
        right: keys of the columns that hold figures.
    """
    lines = [*({key: key.upper() for key in row} for row in body[:1]), *body]
    widths = {key: max(len(line[key]) for line in lines) for key in (lines[0] if lines else ())}
    aligned = set(right)
    return "".join(
        "  ".join(
            line[key].rjust(widths[key]) if key in aligned else line[key].ljust(widths[key]) for key in line
        ).rstrip()
        + "\n"
        for line in lines
    )


def read_stdin() -> str:
    """Return what is piped in; bytes that are not UTF-8 become U+FFFD, and that is said."""
    content = sys.stdin.buffer.read()
    try:
        return content.decode()
    except UnicodeDecodeError:
        notice("stdin is not UTF-8 throughout; what is not is shown as \N{REPLACEMENT CHARACTER}")
        return content.decode("utf-8", "replace")


def read_argument(text: str) -> str:
    """Return an argument's text: `@FILE` is the file's content, `-` is stdin.

    Raises:
        UsageError: the file cannot be read.
    """
    if text == "-":
        return read_stdin()
    if not text.startswith("@"):
        return text
    try:
        with open(os.path.expanduser(text[1:]), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {text[1:]}: {error.strerror}") from None
