"""Secrets that already are in an agent's files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.entries import parse_pieces
from agentmem.errors import StorageError
from agentmem.folders import Folder
from agentmem.redaction import find
from agentmem.workspace import AGENT_SETTINGS, ARCHIVE_FOLDER, INPUT_HISTORY, MEMORY_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Leak:
    """A secret in a file; which one it is stays unsaid.

    Attributes:
        file: relative to the agent's folder.
        line: the line in the file, counted from 1: of the secret, or of the entry it stands in.
        entry: the id of that entry, or "" where it stands in none.
        kind: such as `github token`.
    """

    file: str
    line: int
    entry: str
    kind: str


def secrets_in(path: Path) -> Iterator[Leak]:
    """Look for secrets in memory, archives, input history and settings of the agent with this folder.

    What cannot be read is left out, and a secret that nothing marks as one is missed.
    """
    for file, folder, name in _files(path):
        with suppress(StorageError, OSError):
            yield from (
                _in_entries(file, folder.pieces(name))
                if name.endswith(".md")
                else _in_lines(file, folder.read(name))
            )


def _in_entries(file: str, pieces: Iterable[bytes]) -> Iterator[Leak]:
    line = 1
    for document in parse_pieces(pieces):
        yield from _in_lines(file, document.header)
        line += document.header.count(b"\n")
        for entry in document.entries:
            for kind in sorted({secret.kind for secret in find(entry.content)}):
                yield Leak(file, line, entry.stamp, kind)
            line += entry.raw.count(b"\n")


def _in_lines(file: str, content: bytes) -> Iterator[Leak]:
    text = content.decode("utf-8", "surrogateescape")
    for secret in find(text):
        yield Leak(file, text.count("\n", 0, secret.start) + 1, "", secret.kind)


def _files(path: Path) -> Iterator[tuple[str, Folder, str]]:
    places = (
        ("", lambda name: name in {MEMORY_FILE, AGENT_SETTINGS}),
        (ARCHIVE_FOLDER, lambda name: name.endswith(".md")),
        (PRIVATE_FOLDER, lambda name: name == INPUT_HISTORY),
    )
    for inner, wanted in places:
        with suppress(StorageError, OSError), Folder.open(path / inner if inner else path) as folder:
            for name in filter(wanted, folder.names()):
                yield (f"{inner}/{name}" if inner else name), folder, name
