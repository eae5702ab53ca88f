"""Secrets that already are in an agent's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.durable import Folder
from agentmem.entries import parse
from agentmem.errors import StorageError
from agentmem.redaction import find
from agentmem.workspace import AGENT_SETTINGS, ARCHIVE_FOLDER, INPUT_HISTORY, MEMORY_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    for file, content in _files(path):
        if not file.endswith(".md"):
            yield from _in_lines(file, content)
            continue
        document = parse(content)
        yield from _in_lines(file, document.header)
        for entry in document.entries:
            for kind in sorted({secret.kind for secret in find(entry.content)}):
                yield Leak(file, content.count(b"\n", 0, entry.start) + 1, entry.stamp, kind)


def _in_lines(file: str, content: bytes) -> Iterator[Leak]:
    text = content.decode("utf-8", "surrogateescape")
    for secret in find(text):
        yield Leak(file, text.count("\n", 0, secret.start) + 1, "", secret.kind)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    places = (
        ("", lambda name: name in {MEMORY_FILE, AGENT_SETTINGS}),
        (ARCHIVE_FOLDER, lambda name: name.endswith(".md")),
        (PRIVATE_FOLDER, lambda name: name == INPUT_HISTORY),
    )
    for inner, wanted in places:
        try:
            with Folder.open(path / inner if inner else path) as folder:
                names = [name for name in folder.names() if wanted(name)]
        except (StorageError, OSError):
            continue
        for name in names:
            try:
                with Folder.open(path / inner if inner else path) as folder:
                    content = folder.read(name)
            except (StorageError, OSError):
                continue
            yield (f"{inner}/{name}" if inner else name), content
