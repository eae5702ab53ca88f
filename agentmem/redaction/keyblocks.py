"""Private keys between BEGIN and END lines, whole or cut off at either side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIND = "private key"
_MARKER = re.compile(
    r"(?P<dashes>-{4,5}) ?(?P<side>BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?(?P=dashes)"
)
_LONGEST = 64 * 1024
"""Characters; an END line further away than this belongs to no key."""

# What may stand between two lines of a key, in a file, an indented or quoted block, JSON or source code.
_BREAK = r"""(?:\s|\\[nrt]|["'+,>|#*])"""
_ENCODED = re.compile(r"[A-Za-z0-9+/]{20}")
_PIECE = r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\]{0,200}|[A-Za-z0-9+/=]{16,})"
_HEAD = re.compile(rf"{_BREAK}*{_PIECE}(?:{_BREAK}+{_PIECE})*(?:{_BREAK}{{1,8}}[A-Za-z0-9+/=]+(?=\s*\Z))?")
_TAIL = re.compile(rf"{_BREAK}*[A-Za-z0-9+/=]+(?:{_BREAK}+[A-Za-z0-9+/=]{{16,}})*")


def key_blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each private key; a BEGIN or END line alone is none."""
    if "PRIVATE KEY" not in text:
        return
    markers = list(_MARKER.finditer(text))
    done = 0
    for index, marker in enumerate(markers):
        following = markers[index + 1] if index + 1 < len(markers) else None
        if marker.start() < done:
            continue
        if marker["side"] == "END":
            start, end = _before(text, marker, done), marker.end()
        elif following and following["side"] == "END" and following.start() - marker.end() <= _LONGEST:
            start, end = marker.start(), following.end()
        else:
            body = _HEAD.match(text, marker.end(), following.start() if following else len(text))
            start, end = marker.start(), body.end() if body else marker.end()
        done = end
        if _ENCODED.search(text, start, end):
            yield (_KIND, start, end)


def _before(text: str, marker: re.Match[str], floor: int) -> int:
    """Return where the key starts whose END line this is, when its beginning is cut off."""
    floor = max(floor, marker.start() - _LONGEST)
    # Backwards, as only the end is known; the pieces read the same in both directions.
    backwards = text[floor : marker.start()][::-1].replace("n\\", "\n ").replace("r\\", "\r ")
    body = _TAIL.match(backwards)
    return marker.start() - (body.end() if body else 0)
