"""How `--help` is set, and what is said of mistakes: without the words of the machine, in any width."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TYPE_CHECKING

from typer._click.formatting import HelpFormatter

from agentmem import spelling

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

_WIDEST, _NARROW = 78, 50


class Formatter(HelpFormatter):
    """Sets help as typer does; on a narrow terminal each text stands below what it is about."""

    def __init__(self) -> None:
        columns = shutil.get_terminal_size().columns
        super().__init__(width=columns if columns <= _NARROW + 1 else min(columns - 2, _WIDEST))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how the command is called."""
        if self.width >= _NARROW:
            super().write_usage(prog, usage(args), prefix)
        else:
            self.write(f"{self._filled(f'Usage: {prog} {usage(args)}', '', '  ')}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        indent = " " * self.current_indent
        parts = (self._filled(part, indent, indent) for part in re.split(r"\n\s*\n", text))
        self.write("\n\n".join(parts) + "\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write terms with what they mean."""
        tidied = [tidy(term, text) for term, text in rows]
        if self.width >= _NARROW:
            super().write_dl(tidied, col_max, col_spacing)
            return
        for term, text in tidied:
            self.write(f"{self._filled(term, '  ', '    ')}\n")
            self.write(f"{self._filled(text, '    ', '    ')}\n" if text else "")

    def _filled(self, text: str, first: str, rest: str) -> str:
        return textwrap.fill(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )


def usage(words: str) -> str:
    """Return the arguments of a command as manuals have them: `AGENT [ARCHIVE]`, `[TASK...]`."""
    words = re.sub(r"\{(\w+)\}", r"\1", words)
    words = re.sub(r"\[\[(\w+)\]\]", r"[\1]", words)
    return re.sub(r"\[(\w+)(?:\.\.\.)?\]\.\.\.", r"[\1...]", words)


def tidy(term: str, text: str) -> tuple[str, str]:
    """Return a row of help without types and bounds: what is required shows in the usage."""
    return re.sub(r"(?:\.\.\.)? <.*>$", "", term), re.sub(r"\s*\[(?:required|x>=\d)\]$", "", text)


_WORDS = (
    (r"Input should be a valid integer.*", "a whole number is wanted"),
    (r"Input should be a valid number.*", "a number is wanted"),
    (r"Input should be greater than or equal to (\S+)", r"at least \1 is wanted"),
    (r"Input should be less than or equal to (\S+)", r"at most \1 is wanted"),
    (r"Got unexpected extra argument\(?s?\)? \((.*)\)", r"too many arguments: \1"),
    (r"No such command (.*?)\. Did you mean (.*?)\?", r"no command \1; did you mean \2?"),
    (r"No such command ([^.]*)\.", r"no command \1"),
)


def mistake(error: typer.TyperException) -> str:
    """Return in one line what is wrong with what was typed, and where to look."""
    said, context = error.format_message(), getattr(error, "ctx", None)
    typed = getattr(error, "option_name", "")
    if typed and hasattr(error, "possibilities") and context:
        known = [name for each in context.command.get_params(context) for name in each.opts]
        said = f"no option {typed}{spelling.hint(typed, known)}"
    for pattern, ours in _WORDS:
        said = re.sub(pattern, ours, said)
    said = f"{said[:1].lower()}{said[1:]}".rstrip(".")
    return f"{said} ({context.command_path} -h helps)" if context else said
