"""The index in `.agentmem/index.db`: derived from the files, made anew whenever it does not fit them.

Nothing is ever deleted from it: SQLite would keep the words in its file. When text has vanished from the
files, a new index takes the old one's place. Writers exclude each other with a lock of their own, so that
nobody who appends to the memory ever waits for them.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from agentmem.durable import reading
from agentmem.errors import AgentMemError
from agentmem.folders import Folder
from agentmem.locking import locked
from agentmem.search.contents import SCHEMA, VERSION, Unusable, known, only_grown, survey, synchronise
from agentmem.workspace import INDEX_FILE, MEMORY_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCK_FILE = "index.lock"
_WAIT = 10.0  # seconds for another process that builds the index; after that it is done without one
_TRIES = 5


@contextmanager
def opened(path: Path, progress: Callable[[int, int], None]) -> Iterator[sqlite3.Connection]:
    """Open the index of an agent's folder, brought up to date, for the length of a block.

    When it cannot be used or written, an index in memory takes its place.

    Raises:
        StorageError: the memory itself cannot be read.
    """
    with Folder.open(path) as folder:
        try:
            connection = _up_to_date(folder, progress)
        except (AgentMemError, OSError, sqlite3.Error):
            with reading(path / MEMORY_FILE):
                connection = _in_memory(folder, progress)
        with closing(connection):
            yield connection


def state(path: Path) -> str:
    """Return how the index of an agent's folder is: `none`, `current`, `behind` or `damaged`.

    The next search sees to all but the second.

    Raises:
        StorageError: the folder cannot be read.
    """
    with Folder.open(path) as folder:
        if not os.path.lexists(path / PRIVATE_FOLDER / INDEX_FILE):
            return "none"
        try:
            with closing(_existing(folder)) as connection:
                sound = connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
                return (
                    "damaged" if not sound else "current" if known(connection) == survey(folder) else "behind"
                )
        except (sqlite3.Error, Unusable):
            return "damaged"


def discard(path: Path) -> None:
    """Delete the index of an agent's folder, so that the next use makes a new one."""
    with (
        suppress(AgentMemError, OSError),
        Folder.open(path) as folder,
        folder.child(PRIVATE_FOLDER) as private,
    ):
        for name in private.names():
            if name.startswith(INDEX_FILE):
                private.remove(name)


def _up_to_date(folder: Folder, progress: Callable[[int, int], None]) -> sqlite3.Connection:
    with suppress(sqlite3.Error, OSError, Unusable), _kept(_existing(folder)) as connection:
        if known(connection) == survey(folder):
            return connection
        raise Unusable
    with locked(folder, _WAIT, name=LOCK_FILE):
        # A forget may come between reading the files and writing the index: then it is looked at again.
        for _ in range(_TRIES):
            with suppress(Unusable), _kept(_synchronised(folder, progress)) as connection:
                if only_grown(known(connection), survey(folder)):
                    return connection
                raise Unusable
    raise OSError("the files keep changing")


def _synchronised(folder: Folder, progress: Callable[[int, int], None]) -> sqlite3.Connection:
    with suppress(sqlite3.Error, OSError, Unusable), _kept(_existing(folder)) as connection:
        synchronise(connection, folder)
        return connection
    _build(folder, progress)
    return _existing(folder)


@contextmanager
def _kept(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Close a connection if the block fails."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _existing(folder: Folder) -> sqlite3.Connection:
    """Open the index.

    Raises:
        Unusable: there is none of this version.
    """
    path = folder.path / PRIVATE_FOLDER / INDEX_FILE
    if not path.is_file() or path.is_symlink() or path.parent.is_symlink():
        raise Unusable
    with _kept(_connected(f"file:{quote(str(path))}?mode=rw")) as connection:
        if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
            raise Unusable
        return connection


def _connected(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=_WAIT, isolation_level=None, uri=True)
    with _kept(connection):
        connection.execute("PRAGMA cache_size = -8192")
        return connection


def _build(folder: Folder, progress: Callable[[int, int], None]) -> None:
    """Put a new index in the place of the old one."""
    with folder.child(PRIVATE_FOLDER, create=True) as private:
        # The name begins like the index's: forgetting deletes an unfinished one as well.
        for name in private.names():
            if name.startswith(f"{INDEX_FILE}-"):
                private.remove(name)
        temporary = f"{INDEX_FILE}-{secrets.token_hex(8)}"
        private.create(temporary, [])
        try:
            path = str(folder.path / PRIVATE_FOLDER / temporary)
            with closing(_connected(f"file:{quote(path)}?mode=rw")) as connection:
                # Nobody else knows this file, and a crash leaves nothing but a file to delete.
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute("PRAGMA synchronous = OFF")
                _fill(connection, folder, progress)
            private.rename(temporary, INDEX_FILE)
        except BaseException:
            with suppress(OSError):
                private.remove(temporary)
            raise


def _in_memory(folder: Folder, progress: Callable[[int, int], None]) -> sqlite3.Connection:
    try:
        with _kept(_connected(":memory:")) as connection:
            _fill(connection, folder, progress)
            return connection
    except sqlite3.OperationalError as error:
        raise AgentMemError(
            f"this Python's SQLite ({sqlite3.sqlite_version}) cannot search: {error}; it takes 3.34 or newer with FTS5"
        ) from error


def _fill(connection: sqlite3.Connection, folder: Folder, progress: Callable[[int, int], None]) -> None:
    connection.executescript(SCHEMA)
    # Words gathered before they are written, in bytes: a fifth of the time for 100,000 entries.
    with suppress(sqlite3.Error):
        for table in ("words", "parts"):
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('hashsize', {16 << 20})")  # noqa: S608
    synchronise(connection, folder, progress)
