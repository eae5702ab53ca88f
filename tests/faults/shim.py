"""Stands between the program and the system: counts its calls and makes one of them go wrong.

It wraps the functions of `os` (and `fcntl.flock`) in the process that installs it. That they are every
call that changes a disk is shown by `test_the_shim_sees_what_strace_sees`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGING = [
    *("chmod", "fchmod", "flock", "fsync", "ftruncate", "link", "mkdir", "open"),
    *("rename", "replace", "rmdir", "unlink", "write"),
]
LOOKING = ["close", "fstat", "listdir", "lseek", "lstat", "read", "scandir", "stat"]
_SPACE = {"create", "fsync", "link", "mkdir", "write"}
_RETRIED = {
    "chmod",
    "close",
    "create",
    "fchmod",
    "flock",
    "fsync",
    "fstat",
    "ftruncate",
    "open",
    "read",
    "write",
}
"""What Python itself calls again after EINTR (PEP 475), so that the program never hears of it."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and when.

    Attributes:
        kind: `none`, `kill` (before the call), `torn` (a write is cut and the process killed), `short` (a
            write takes only a part), `full` (from then on nothing fits), or the name of an error number.
        at: the call, counted from 0.
        part: of a torn or short write, how many bytes are written; negative from the end, 0 half.
    """

    kind: str = "none"
    at: int = -1
    part: int = 0


class Shim:
    """Counts the calls; `install` puts it between.

    Attributes:
        calls: the names of the calls so far; an `open` that may make a file is a `create`.
    """

    def __init__(self, fault: Fault, *, sync: bool = False) -> None:
        """Prepare; without `sync` the disk is not waited for."""
        self.calls: list[str] = []
        self._fault = fault
        self._sync = sync

    def install(self) -> None:
        """Wrap the functions of this process for good."""
        for name in (*CHANGING, *LOOKING):
            module = fcntl if name == "flock" else os
            # Nothing cuts the power here: a sync that is counted and left out changes no outcome, only the time.
            real = _nothing if name == "fsync" and not self._sync else getattr(module, name)
            setattr(module, name, self._wrapped(name, real))

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            at = len(self.calls)
            creates = name == "open" and bool(arguments[1] & os.O_CREAT)
            self.calls.append("create" if creates else name)
            fault = self._fault
            if fault.kind == "full" and at >= fault.at and self.calls[at] in _SPACE:
                return self._fill(real, name, arguments)
            if at != fault.at or fault.kind in {"none", "full"}:
                return real(*arguments, **options)
            if fault.kind in {"torn", "short"}:
                return self._write_part(real, *arguments)
            if fault.kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if name == "close":
                real(*arguments, **options)  # Linux lets go of the descriptor, whatever it answers
            raise OSError(getattr(errno, fault.kind), os.strerror(getattr(errno, fault.kind)))

        return call

    def _write_part(self, real: Callable[..., int], fd: int, content: bytes) -> int:
        part = self._fault.part or len(content) // 2
        written = real(fd, bytes(content)[:part])
        if self._fault.kind == "torn":
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    def _fill(self, real: Callable[..., int], name: str, arguments: tuple[Any, ...]) -> int:
        """Write what still fits, half of it, the first time; nothing after that."""
        if name == "write" and len(arguments[1]) > 1 and self.calls.count("write") == self._first_write():
            return real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _first_write(self) -> int:
        return self.calls[: self._fault.at].count("write") + 1


def _nothing(_fd: int) -> None:
    pass


def faults_of(calls: list[str]) -> list[Fault]:
    """Return every fault that a run with these calls can meet."""
    found = [Fault("kill", at) for at in range(len(calls))]
    for at, name in enumerate(calls):
        if name == "write":
            found += [Fault("torn", at, part) for part in (1, 0, -1)]
            found += [Fault("short", at, part) for part in (1, 0, -1)]
        if name in _SPACE:
            found.append(Fault("full", at))
        found.append(Fault("EIO", at))
        if name in CHANGING or name == "create":
            found.append(Fault("ENOSPC", at))
        if name not in _RETRIED:
            found.append(Fault("EINTR", at))
    return found
