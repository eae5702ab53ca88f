"""Link-proof, durable file operations in one folder: what `Memory` builds its promises from.

Every name is resolved relative to an open directory, so that neither a rename nor a planted link can
redirect an operation. Systems without `dir_fd` (Windows) use the path instead.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.durable import FILE_MODE, FOLDER_MODE, close, read_at, reading, sync, write_all, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self

TEMP_PREFIX = ".tmp-"

_BY_DESCRIPTOR = {os.open, os.mkdir, os.unlink, os.rename, os.link, os.stat} <= os.supports_dir_fd
_LINKS_LINKS = os.link in os.supports_follow_symlinks
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_PIECE = 1 << 18
# What file systems without hard links (FAT, some network and FUSE ones) and Android answer.
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EINVAL}
)
# Windows refuses to replace a file that somebody has open, such as a reader or a virus scanner.
_RENAME_WAITS = (0.01, 0.05, 0.25, 1.0) if os.name == "nt" else ()


class Folder:
    """A directory held open; close it, or use it as a context manager.

    Attributes:
        place: where the directory was when it was opened.
    """

    def __init__(self, place: str, fd: int) -> None:
        self.place = place
        self._fd = fd

    @property
    def path(self) -> Path:
        """Where the directory was when it was opened."""
        return Path(self.place)

    @classmethod
    def open(cls, path: Path, *, create: bool = False) -> Self:
        """Open a directory without following a link at its last component.

        Args:
            path: the directory.
            create: make it, and its parents, mode 0700, when it is missing.

        Raises:
            MemoryUnwritable: it cannot be created.
            MemoryUnreadable: it cannot be opened, or is no directory.
        """
        place = str(path)
        with reading(path):
            try:
                return cls(place, _open(place, None))
            except FileNotFoundError:
                if not create:
                    raise
        with writing(path):
            _make_folders(path)
        return cls.open(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the directory."""
        if self._fd >= 0:
            close(self._fd)
            self._fd = -1

    def child(self, name: str, *, create: bool = False) -> Folder:
        """Open a directory below this one; arguments and errors as `open`."""
        place = os.path.join(self.place, name)
        if create:
            with writing(place):
                self._make_child(name)
        with reading(place):
            return Folder(place, _open(*self._at(name)))

    def _make_child(self, name: str) -> None:
        target, dir_fd = self._at(name)
        with suppress(FileExistsError):
            os.mkdir(target, FOLDER_MODE, dir_fd=dir_fd)
            os.chmod(target, FOLDER_MODE, dir_fd=dir_fd)  # whatever the umask
            self.sync()

    def open_file(self, name: str, flags: int) -> int:
        """Open a regular file and return its descriptor; a new one gets mode 0600 whatever the umask.

        Raises:
            OSError: as `os.open`; ELOOP for a link, EINVAL for anything that is no regular file.
        """
        # O_NONBLOCK: opening a FIFO would otherwise wait for its other end.
        flags |= _NOFOLLOW | _CLOEXEC | _BINARY | _NONBLOCK
        target, dir_fd = self._at(name)
        if not _NOFOLLOW and os.path.islink(target):
            raise OSError(errno.ELOOP, "")
        fd = os.open(target, flags, FILE_MODE, dir_fd=dir_fd)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            if flags & os.O_EXCL and hasattr(os, "fchmod"):
                os.fchmod(fd, FILE_MODE)
        except BaseException:
            close(fd)
            raise
        return fd

    @contextmanager
    def opened(self, name: str, flags: int) -> Iterator[int]:
        """Open a regular file for the length of a block; errors as `open_file`."""
        fd = self.open_file(name, flags)
        try:
            yield fd
        finally:
            close(fd)

    def read(self, name: str, offset: int = 0) -> bytes:
        """Return a file's bytes from an offset on.

        Raises:
            OSError: as `open_file`.
        """
        with self.opened(name, os.O_RDONLY) as fd:
            return read_at(fd, offset, max(0, os.fstat(fd).st_size - offset))

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a file's bytes as it is now, some at a time.

        Raises:
            OSError: as `open_file`.
        """
        with self.opened(name, os.O_RDONLY) as fd:
            size = os.fstat(fd).st_size
            for start in range(0, size, _PIECE):
                yield read_at(fd, start, min(_PIECE, size - start))

    def create(self, name: str, pieces: Iterable[bytes], *, mode: int = FILE_MODE) -> None:
        """Write a file that did not exist, durably; on failure it is removed again.

        Raises:
            OSError: FileExistsError when the name is taken, else as the system says.
        """
        fd = self.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            try:
                for piece in pieces:
                    write_all(fd, piece)
                if hasattr(os, "fchmod"):
                    os.fchmod(fd, mode)
                sync(fd)
            finally:
                close(fd)
            self.sync()
        except BaseException:
            with suppress(OSError):
                self.remove(name)
            raise

    def replace(self, name: str, pieces: Iterable[bytes], *, mode: int = FILE_MODE) -> None:
        """Put new content under a name in one step: readers see the old bytes or the new ones.

        Raises:
            OSError: the old content stands.
        """
        fresh, former = _temporary_name(), _temporary_name()
        self.create(fresh, pieces, mode=mode)
        kept = renamed = False
        try:
            # A second name for the old content: it can come back should the directory not be synced.
            kept = self._link(name, former)
            self.rename(fresh, name)
            renamed = True
            self.sync()
        except BaseException:
            with suppress(OSError):
                if not renamed:
                    self._discard(fresh)
                elif kept:
                    self.rename(former, name)
            raise
        finally:
            if kept:
                self._discard(former)
                with suppress(OSError):
                    self.sync()  # or a power cut could bring back what was to be forgotten

    def publish(self, name: str, pieces: Iterable[bytes], *, mode: int = FILE_MODE) -> None:
        """Make a complete new file appear under a name that must be free, durably.

        Raises:
            OSError: FileExistsError when the name is taken, else as the system says; nothing is left behind.
        """
        fresh = _temporary_name()
        self.create(fresh, pieces, mode=mode)
        try:
            # A hard link fails where the name is taken; a rename would overwrite it.
            if not self._link(fresh, name):
                if name in self.names():
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                self.rename(fresh, name)
            try:
                self.sync()
            except BaseException:
                self._discard(name)
                raise
        finally:
            self._discard(fresh)

    def _discard(self, name: str) -> None:
        """Remove a file that may be gone already; one failure is not taken for an answer."""
        with suppress(FileNotFoundError):
            with suppress(OSError):
                self.remove(name)
                return
            self.remove(name)

    def _link(self, name: str, other: str) -> bool:
        """Give a file a second name; returns False without such a file, or where files have but one name.

        Raises:
            OSError: FileExistsError when the other name is taken, else as the system says.
        """
        source, dir_fd = self._at(name)
        target, _ = self._at(other)
        try:
            os.link(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=not _LINKS_LINKS)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or error.errno in _NO_LINKS:
                return False
            raise
        return True

    def rename(self, name: str, other: str) -> None:
        """Give a file another name, replacing what has that name."""
        source, dir_fd = self._at(name)
        target, _ = self._at(other)
        for wait in _RENAME_WAITS:
            with suppress(PermissionError):
                os.replace(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
                return
            time.sleep(wait)
        os.replace(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)

    def remove(self, name: str) -> None:
        """Delete one name; a link is deleted, not followed."""
        target, dir_fd = self._at(name)
        os.unlink(target, dir_fd=dir_fd)

    def remove_folder(self, name: str) -> None:
        """Delete an empty directory."""
        target, dir_fd = self._at(name)
        os.rmdir(target, dir_fd=dir_fd)

    def sync(self) -> None:
        """Put the directory's own changes (new, renamed, deleted names) on the medium."""
        if self._fd >= 0:
            os.fsync(self._fd)

    def stat(self, name: str) -> os.stat_result:
        """Return what the system knows of a name, a link itself included."""
        target, dir_fd = self._at(name)
        return os.stat(target, dir_fd=dir_fd, follow_symlinks=False)

    def is_current(self) -> bool:
        """Whether the directory's path still leads to it: false once it was deleted or renamed."""
        if self._fd < 0:
            return os.path.isdir(self.place)
        try:
            return os.path.samestat(os.fstat(self._fd), os.lstat(self.place))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def names(self) -> list[str]:
        """List what is in the directory, sorted."""
        return sorted(os.listdir(self._fd if self._fd >= 0 else self.place))

    def _at(self, name: str) -> tuple[str, int | None]:
        if not name or "/" in name or os.sep in name or name in {".", ".."}:
            raise OSError(errno.EINVAL, f"not a plain file name: {name!r}")
        return (name, self._fd) if self._fd >= 0 else (os.path.join(self.place, name), None)


def outside(path: str | Path) -> Folder:
    """Open a directory that is not an agent's; links on the way to it are its owner's business and followed.

    Raises:
        OSError: as the system says.
    """
    place = os.path.realpath(path)
    return Folder(place, _open(place, None))


def _open(path: str, dir_fd: int | None) -> int:
    """Open a directory and return its descriptor, or -1 on systems that have none.

    Raises:
        OSError: ELOOP for a link, ENOTDIR for another file, else as the system says.
    """
    if not _BY_DESCRIPTOR:
        kind = os.lstat(path).st_mode
        if not stat.S_ISDIR(kind):
            raise OSError(errno.ELOOP if stat.S_ISLNK(kind) else errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return -1
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NOFOLLOW | _CLOEXEC, dir_fd=dir_fd)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def _temporary_name() -> str:
    return f"{TEMP_PREFIX}{os.urandom(8).hex()}"


def _make_folders(path: Path) -> None:
    """Create a directory and its missing parents, each 0700 whatever the umask, durably."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another process may be as fast
            folder.mkdir(FOLDER_MODE)
            folder.chmod(FOLDER_MODE)
            with outside(folder.parent) as parent:
                parent.sync()
