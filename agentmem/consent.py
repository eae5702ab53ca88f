"""What the owner of a workspace was told about storage, and what they answered."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem.errors import StorageError
from agentmem.folders import Folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

RECORD = "notice.toml"
"""File in the workspace; deleting it means being told, and asked, again."""


@dataclass(frozen=True)
class Consent:
    """How far the owner of a workspace knows.

    Attributes:
        told: the notice was shown.
        agreed: they said yes to it.
    """

    told: bool = False
    agreed: bool = False


def read(root: Path) -> Consent:
    """Return what a workspace has on record; what cannot be read counts as nothing."""
    with suppress(OSError, StorageError, ValueError), Folder.open(root.resolve()) as folder:
        table = tomllib.loads(folder.read(RECORD).decode())
        return Consent(told="told" in table, agreed=table.get("agreed") is True)
    return Consent()


def record(root: Path, when: datetime, *, agreed: bool) -> None:
    """Put on record that the notice was shown, and whether someone said yes; the workspace is created.

    Raises:
        StorageError: the workspace cannot be created or opened.
        OSError: the record cannot be written.
    """
    lines = [
        "# agentmem said what it stores here; without this file it says so, and asks, again.",
        f"told = {when.isoformat(timespec='seconds')}",
        *(["agreed = true"] if agreed else []),
    ]
    with Folder.open(root.resolve(), create=True) as folder:
        folder.replace(RECORD, ["\n".join([*lines, ""]).encode()])


@dataclass(frozen=True)
class Terms:
    """What the notice speaks of.

    Attributes:
        agent: the agent.
        folder: its folder, as a person would write it.
        config: the user's config.toml, likewise.
        redacts: whether keys and passwords are replaced.
        keeps: how old archives get before they are deleted, such as `90d`, or "" for never.
    """

    agent: str
    folder: str
    config: str
    redacts: bool = True
    keeps: str = ""


def notice(terms: Terms) -> list[tuple[str, str]]:
    """Return the notice as rows of a word and what it means."""
    redacted = "keys and passwords that are recognised, before anything is stored; others can be missed"
    deleted = f"archives older than {terms.keeps}" if terms.keeps else "nothing by itself"
    return [
        ("stored", f"what you say, replies, tool results and summaries, as plain text in {terms.folder}"),
        ("readable", "by your user account alone; nothing is encrypted"),
        ("sent", "the conversation, to the model you choose; nothing to anyone else"),
        ("redacted", redacted if terms.redacts else "nothing, since redact = false"),
        ("deleted", f"{deleted}; `agentmem forget {_word(terms.agent)} --all` deletes the agent"),
        ("to read it", f"agentmem show {_word(terms.agent)}"),
        ("to store nothing", f"--no-memory for a session, memory = false in {terms.config} for good"),
    ]


def _word(text: str) -> str:
    import shlex

    return shlex.quote(text) if os.name != "nt" else f'"{text}"'
