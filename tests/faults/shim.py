"""Stands between the program and the system: counts its calls and makes one of them go wrong.

It wraps the functions of `os` (and `fcntl.flock`) in the process that installs it. That they are every
call that changes a disk is shown by `test_the_shim_sees_what_strace_sees`.
"""

from __future__ import annotations

import errno
import fcntl
import functools
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
_SPACE = {"fsync", "link", "mkdir", "open", "write"}
_RETRIED = {"chmod", "close", "fchmod", "flock", "fsync", "fstat", "ftruncate", "open", "read", "write"}
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
        calls: the names of the calls so far.
    """

    def __init__(self, fault: Fault) -> None:
        self.calls: list[str] = []
        self._fault = fault

    def install(self) -> None:
        """Wrap the functions of this process for good."""
        for name in (*CHANGING, *LOOKING):
            module = fcntl if name == "flock" else os
            setattr(module, name, self._wrapped(name, getattr(module, name)))

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(*arguments: Any, **options: Any) -> Any:
            at = len(self.calls)
            self.calls.append(name)
            fault = self._fault
            if fault.kind == "full" and at >= fault.at and _takes_space(name, arguments):
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


def _takes_space(name: str, arguments: tuple[Any, ...]) -> bool:
    return name in _SPACE and (name != "open" or bool(arguments[1] & os.O_CREAT))


def faults_of(calls: list[str]) -> list[Fault]:
    """Return every fault that a run with these calls can meet."""
    found = [Fault("kill", at) for at in range(len(calls))]
    for at, name in enumerate(calls):
        if name == "write":
            found += [Fault("torn", at, part) for part in (1, 0, -1)]
            found += [Fault("short", at, part) for part in (1, 0, -1)]
        if name in _SPACE:
            found.append(Fault("full", at))
        found += [Fault("EIO", at), Fault("ENOSPC", at)]
        if name not in _RETRIED:
            found.append(Fault("EINTR", at))
    return found
