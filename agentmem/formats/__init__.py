"""Export and import, one small file a format.

An exporter takes the entries and the agent's name, and yields pieces of text that UTF-8 can carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from agentmem.formats import html, jsonl, markdown, openai, text
from agentmem.formats.exported import Exported, exported

__all__ = ["EXPORTS", "Exported", "Exporter", "exported"]

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
