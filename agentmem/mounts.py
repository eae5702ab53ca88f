"""Which file system a path is on, as far as the system tells (Linux)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_TABLE = "/proc/self/mountinfo"
# Their lock calls never wait for another machine or another program.
_LOCAL = frozenset(
    {"bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay", "reiserfs"}
    | {"tmpfs", "vfat", "xfs", "zfs"}
)
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """Where a file system is mounted.

    Attributes:
        point: the folder.
        kind: such as `ext4` or `nfs4`; "" when unknown.
    """

    point: str
    kind: str

    @property
    def local(self) -> bool:
        """Whether it is known to live on this machine, in the kernel alone."""
        return self.kind in _LOCAL

    def __str__(self) -> str:
        return f"{self.kind} at {self.point}" if self.kind else self.point


@functools.lru_cache(maxsize=64)
def mount_of(path: str) -> Mount:
    """Return the mount that an absolute path is on."""
    found = Mount(path, "")
    longest = -1
    try:
        with open(_TABLE, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                fields, _, rest = line.partition(" - ")
                point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
                # Of two mounts at one point the later one is in use.
                if len(point) >= longest and f"{path}/".startswith(f"{point.rstrip('/')}/"):
                    found, longest = Mount(point, rest.split(" ", 1)[0]), len(point)
    except (OSError, IndexError):
        pass
    return found
