"""The formats by name.

An exporter takes the entries and the agent's name, and yields pieces of text that UTF-8 can carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from agentmem.formats import chatgpt, claude, html, jsonl, llm_logs, markdown, openai, text
from agentmem.formats.exported import Exported, exported
from agentmem.formats.imported import Left, Result, Taken
from agentmem.formats.source import Node, Source

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ENDINGS",
    "EXPORTS",
    "IMPORTS",
    "Exported",
    "Exporter",
    "Import",
    "Left",
    "Taken",
    "exported",
    "open_import",
]

Exporter = Callable[[Iterable[Exported], str], Iterator[str]]

EXPORTS: dict[str, Exporter] = {
    "markdown": markdown.write,
    "json": jsonl.write_array,
    "jsonl": jsonl.write,
    "openai": openai.write,
    "html": html.write,
    "text": text.write,
}
"""The exporters by the name that `export --format` takes."""

ENDINGS = {".md": "markdown", ".json": "json", ".jsonl": "jsonl", ".html": "html", ".txt": "text"}
"""The exporter's name by the ending of the file it is to write."""

Reader = Callable[[Iterable[Node], str, Source], Iterator[Result]]

IMPORTS: dict[str, tuple[Callable[[Node], bool], Reader]] = {
    "agentmem JSON": (jsonl.recognises, jsonl.read),
    "ChatGPT": (chatgpt.recognises, chatgpt.read),
    "Claude": (claude.recognises, claude.read),
    "llm logs": (llm_logs.recognises, llm_logs.read),
    "OpenAI messages": (openai.recognises, openai.read),
}
"""The JSON sources by name: what tells one from its first value, and its reader."""

_OWN = ("agentmem JSON", "MEMORY.md")


@dataclass(frozen=True)
class Import:
    """A file on its way in.

    Attributes:
        format: what the file is.
        exact: its ids and their order are ours and must stay; otherwise the timestamps are made up
            from what the file says and the conversations may come in any order.
        results: what it holds, read as it is asked for; the error of a place deep in the file comes
            only then.
    """

    format: str
    exact: bool
    results: Iterator[Result]


def open_import(path: Path, agent: str) -> Import:
    """Find out what a file is and begin to read it.

    Args:
        path: the file.
        agent: the name of the agent that takes it in: its replies get this role.

    Raises:
        ImportRefused: the file cannot be read, or is nothing known here.
    """
    source = Source(path)
    with source.opened() as file:
        beginning = file.read(256)
    if beginning.startswith(b"PK\x03\x04"):
        raise source.refused("this is a zip archive; unpack it and import the conversations.json inside")
    if beginning.lstrip().startswith(b"<"):
        raise source.refused("this is HTML or XML, which cannot be read back; export it as jsonl instead")
    if markdown.recognises(beginning):
        return Import("MEMORY.md", exact=True, results=markdown.read(source, agent))
    nodes = source.nodes()
    first = next(nodes, None)
    if first is None:
        raise source.refused("there is nothing in it")
    for name, (recognises, read) in IMPORTS.items():
        if recognises(first):
            return Import(name, name in _OWN, read(chain([first], nodes), agent, source))
    known = ", ".join(["MEMORY.md", *IMPORTS])
    raise source.refused(f"the format is not known here; known are {known}")
