"""Summaries that tell of what is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.memory.rewriting import SUMMARY_NOTE
from agentmem.selection import key_of
from agentmem.workspace import MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentmem.entries import Entry
    from agentmem.forgetting.planning import Plan
    from agentmem.memory import Memory

Contents = dict[str, set[bytes]]
"""What every file holds: keys of entries by the file's name, archives first, oldest first."""


def made_from(
    contents: Contents,
    summaries: Iterable[tuple[str, Entry]],
    keys: Iterable[bytes],
    removed_from: Callable[[str], bool],
) -> list[tuple[str, Entry]]:
    """Return the summaries, by file, that were made from entries, or from such a summary in turn.

    An entry of the archive that also stands beside the summary was kept word for word, not summarised. A
    summary that does not say what it was made from may have been made from anything.

    Args:
        contents: of every file.
        summaries: all there are, by file, in the order of the files.
        keys: of the entries.
        removed_from: says of which files they are removed.
    """
    touched = set(keys)
    found = []
    for file, summary in summaries:
        if key_of(summary) in touched and removed_from(file):
            continue
        summarised = touched - contents[file]
        if any(not summarised.isdisjoint(contents[source]) for source in _sources(summary, file, contents)):
            touched.add(key_of(summary))
            found.append((file, summary))
    return found


def _sources(summary: Entry, file: str, contents: Contents) -> list[str]:
    if summary.note.startswith(SUMMARY_NOTE):
        source = summary.note.removeprefix(SUMMARY_NOTE)
        return [source] if source in contents else []
    return [name for name in contents if name not in {file, MEMORY_FILE}]


def redone(
    memory: Memory,
    decided: Plan,
    summarise: Callable[[Sequence[Entry]], str],
    stored: Callable[[Entry, str], Entry],
) -> tuple[dict[bytes, Entry], list[tuple[str, Entry]]]:
    """Make the summaries anew from what stays of their sources, oldest first; nothing is written.

    Args:
        memory: the agent's.
        decided: the plan.
        summarise: gives the text of a summary of entries.
        stored: gives the entry that a new text of a summary makes, in the old one's place.

    Returns:
        What takes their places, by key, and those of which nothing is left to summarise.

    Raises:
        MemoryUnreadable: a file cannot be read.
    """
    news: dict[bytes, Entry] = {}
    empty: list[tuple[str, Entry]] = []
    gone = set(decided.keys)
    for file, summary in decided.summaries:
        key = key_of(summary)
        if key in news or key in gone:
            continue
        left = {
            each: entry
            for source in _sources(summary, file, decided.contents)
            for entry in memory.walk(source)
            if (each := key_of(entry)) not in gone and each not in decided.contents[file]
        }
        if left:
            news[key] = stored(summary, summarise([news.get(each, entry) for each, entry in left.items()]))
        else:
            gone.add(key)
            empty.append((file, summary))
    return news, empty
