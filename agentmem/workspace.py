"""Names, paths and listing of a workspace: `$WORKSPACE_DIR/agents/{agent_name}/`."""

from __future__ import annotations

import os
import re
import shlex
import stat
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem import roles, spelling
from agentmem.errors import InvalidAgentName, MemoryUnreadable, MemoryUnwritable, NotFound

if TYPE_CHECKING:
    from pathlib import Path

MEMORY_FILE = "MEMORY.md"
ARCHIVE_FOLDER = "archive"
PRIVATE_FOLDER = ".agentmem"
INDEX_FILE = "index.db"
FORGOTTEN_FILE = "forgotten"
INPUT_HISTORY = "history"
RETENTION_FILE = "retention"
SUMMARY_PARTS = "summary-parts.json"
AGENT_SETTINGS = "agent.toml"
ARCHIVE_NAME = re.compile(r"history_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)(?:_(\d+))?\.md", re.ASCII)
"""The name of an archive: when it was made, in local time, and its number where there are several of one second."""
DELETED_PREFIX = ".deleted-"
"""How the name of an agent's folder begins while it is being deleted."""

NAME_LENGTH = 64
"""Characters an agent's name may have, at most."""

_WINDOWS_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"}
)
_PUNCTUATION = frozenset(" -_.")


def check_name(name: str) -> str:
    """Return the name if it can be an agent's, on every system.

    Raises:
        InvalidAgentName: the name is refused; the message says why.
    """
    reason = _objection(name)
    if reason:
        raise InvalidAgentName(f"not an agent name: {name[:80]!r}: {reason}")
    return name


def _objection(name: str) -> str:
    """Say what is wrong with a name, or ""."""
    if not name:
        return "it is empty"
    if len(name) > NAME_LENGTH:
        return f"it has {len(name)} characters, at most {NAME_LENGTH} are allowed"
    if name != unicodedata.normalize("NFC", name):
        return f"write it in composed form (NFC), {unicodedata.normalize('NFC', name)!r}"
    # Marks belong to letters in many scripts (Devanagari vowels, Thai tones).
    wrong = [c for c in name if c not in _PUNCTUATION and unicodedata.category(c)[0] not in "LNM"]
    if wrong:
        return f"{wrong[0]!r} is not a letter, a digit, a space, '-', '_' or '.'"
    if name[0] in " ." or name[-1] in " .":
        return "it begins or ends with a dot or a space"
    if name.casefold() in roles.RESERVED:
        return "it is a role in every memory"
    if name.split(".", maxsplit=1)[0].rstrip().casefold() in _WINDOWS_DEVICES:
        return "it is a device name on Windows"
    return ""


def is_archive(name: str) -> bool:
    """Whether a file in the archive folder is one by its name."""
    return ARCHIVE_NAME.fullmatch(name) is not None


def fold_name(name: str) -> str:
    """Return the form in which two names that some file system would confuse are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def check_private(folder: Path) -> None:
    """Refuse a folder that others could exchange for one of theirs.

    Args:
        folder: an agent's, in its workspace.

    Raises:
        MemoryUnwritable: others may write to the folder, or to one of the two above it.
    """
    if os.name == "nt":
        return
    agents = os.path.dirname(folder)
    for each in (folder, agents, os.path.dirname(agents)):
        try:
            mode = os.stat(each).st_mode
        except OSError:
            continue  # it is not there yet, or the next step says what is wrong with it
        # In a sticky folder others cannot rename what is ours.
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
            raise MemoryUnwritable(
                f"others may write to {each} (mode {stat.S_IMODE(mode):04o}), so nothing is stored there; "
                f"chmod go-w {shlex.quote(str(each))}"
            )


@dataclass(frozen=True)
class Workspace:
    """The folder that holds every agent of one user.

    Attributes:
        root: the workspace folder; it need not exist yet.
    """

    root: Path

    @property
    def agents(self) -> Path:
        """The folder with one folder per agent."""
        return self.root / "agents"

    def folder(self, name: str) -> Path:
        """Return the path of an agent's folder; nothing is created.

        Raises:
            InvalidAgentName: the name is refused, or an existing agent's name differs from it
                only by case or normalisation.
        """
        twin = self._twin(name)
        if twin:
            raise InvalidAgentName(
                f"not an agent name: {name!r} differs from the existing agent {twin!r} only by case or "
                f"normalisation; use {twin!r}"
            )
        return self.agents / check_name(name)

    def existing(self, name: str) -> Path:
        """Return the path of an existing agent's folder.

        Raises:
            InvalidAgentName: as `folder`.
            NotFound: there is no such agent.
        """
        folder = self.folder(name)
        names = self.names()
        if name in names:
            return folder
        hint = spelling.hint(name, names) or "; `agentmem show` lists those there are"
        none = f", which has none yet; `agentmem chat {shlex.quote(name)}` makes it"
        raise NotFound(f"no agent {name!r} in {self.agents}{hint if names else none}")

    def names(self) -> list[str]:
        """List the agents, sorted; folders whose name no agent may have are left out.

        Raises:
            MemoryUnreadable: the workspace cannot be listed.
        """
        return sorted((name for name in self._folders() if not _objection(name)), key=fold_name)

    def _twin(self, name: str) -> str:
        folded = fold_name(name)
        folders = self._folders()
        if name in folders:
            return ""
        return next((other for other in folders if fold_name(other) == folded), "")

    def _folders(self) -> list[str]:
        try:
            with os.scandir(self.agents) as children:
                return [child.name for child in children if child.is_dir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise MemoryUnreadable(f"cannot list {self.agents}: {error.strerror}") from error
