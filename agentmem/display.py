r"""Terminal-safe text: what could steer a terminal or hide from the eye is shown, not obeyed.

Such a character becomes its backslash escape: `\x1b`, `\u202e`, `\U000e0041`, and `\r` for a lone
carriage return. A newline and a tab stay, `\r\n` becomes a newline. Invisible characters that writing
needs stay where they belong: joiners in emoji, Persian and Indic words, one variation selector after a
character that takes it. Escape sequences need no parsing, for without its first character none is left.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0, DEL and C1, but neither tab nor newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi marks, embeddings, overrides, isolates
    "\u2028\u2029"  # line and paragraph separator
    "\xad\u034f\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"  # zero width
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # letters and vowels without a glyph
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variation selectors
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags, and what is reserved beside them
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # layout of hieroglyphs, notes
    "\ud800-\udfff\ufdd0-\ufdef"
) + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))

_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_SYMBOLS = "0\u2200-\u22ff\u2a00-\u2aff\u3001-\u303f\uff01-\uff60\u1000-\u109f\ua840-\ua87f"
_MONGOLIAN = "\u1820-\u18aa"
_HIEROGLYPHS = "\U00013000-\U0001345f"
# Scripts whose letters join or stack: Arabic, Syriac, N'Ko and their like; the Brahmic family; Mongolian.
_JOINING = (
    "\u0600-\u086f\u0870-\u0dff\u1000-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\ua82f"
    "\ua840-\ua8df\ua980-\ua9ff\uaa60-\uaa7f\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00010b8f\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
# Scripts without spaces between words, where a zero-width space says where a line may break.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1980-\u1aaf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"

# The only tag sequences in use: the flags of England, Scotland and Wales.
_FLAG = "\U0001f3f4"
_FLAGS = tuple(
    _FLAG + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
_SUSPECT = re.compile(f"[{_HIDDEN}]")
_SUSPECT_SEQUENCE = re.compile("|".join(("\r\n", *_FLAGS, f"[{_HIDDEN}]")))
_CONTEXT = 2
"""Characters that a decision may look back; what it looks ahead is held by `Visible`."""
_DEPENDENT = "\r\u200b\u200d\ufe0f"
"""Characters whose meaning the next one decides."""


def shell_path(path: Path) -> str:
    """Return a path as a person would type it, with `~` for the home folder."""
    home = os.path.expanduser("~")
    text = str(path)
    return f"~{text[len(home) :]}" if text.startswith(home + os.sep) else text


def visible(text: str) -> str:
    """Return the text with everything a terminal would obey, or hide, written out."""
    return _render(text, 0, len(text))


def visible_line(text: str) -> str:
    r"""Return `visible(text)` on one line: newlines and tabs are written out too, as `\n` and `\t`."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


class Visible:
    """`visible` for text that arrives in pieces: the pieces' results and `flush` make up the whole's."""

    def __init__(self) -> None:
        self._before = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        """Take a piece and return what can be shown by now."""
        return self._advance(piece, whole=False)

    def flush(self) -> str:
        """Return what was held back, at the end of the text; the next piece begins a new one."""
        rest = self._advance("", whole=True)
        self._before = ""
        return rest

    def _advance(self, piece: str, *, whole: bool) -> str:
        text = self._before + self._held + piece
        start = len(self._before)
        stop = len(text) if whole else max(start, _decided(text))
        self._before, self._held = text[max(0, stop - _CONTEXT) : stop], text[stop:]
        return _render(text, start, stop)


def _decided(text: str) -> int:
    """Return how much of the text means the same whatever follows it."""
    if text.endswith(tuple(_DEPENDENT)):
        return len(text) - 1
    flag = text.rfind(_FLAG, 1 - len(_FLAGS[0]))
    if flag >= 0 and any(known.startswith(text[flag:]) for known in _FLAGS):
        return flag
    return len(text)


def _render(text: str, start: int, stop: int) -> str:
    """Return `text[start:stop]` made visible, in the light of what surrounds it."""
    if not _SUSPECT.search(text, start, stop):
        return text[start:stop]
    parts: list[str] = []
    for found in _SUSPECT_SEQUENCE.finditer(text, start):
        if found.start() >= stop:
            break
        parts += (text[start : found.start()], _shown(found))
        start = found.end()
    return "".join((*parts, text[start:stop]))


def _shown(found: re.Match[str]) -> str:
    suspect = found[0]
    if suspect == "\r\n":
        return "\n"
    if len(suspect) > 1 or _fitting().match(found.string, found.start()):
        return suspect
    return suspect.encode("unicode_escape").decode()


@cache
def _fitting() -> re.Pattern[str]:
    """Match an invisible character where it belongs; compiled late, for most programs never need it."""
    return re.compile(
        f"(?<![{_HIDDEN}])(?:"
        f"(?<=[{_JOINING}])[\u200c\u200d]"
        f"|(?<=[{_EMOJI}])(?:\u200d(?=[{_EMOJI}])|[\ufe0e\ufe0f])"
        "|(?<=[0-9#*])\ufe0f(?=\u20e3)"
        f"|(?<=[{_SYMBOLS}{_IDEOGRAPHS}])[\ufe00-\ufe0d]"
        f"|(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
        f"|(?<=[{_MONGOLIAN}])[\u180b-\u180e]"
        f"|(?<=[{_HIEROGLYPHS}])[\U00013430-\U0001343f]"
        f"|(?<=[{_UNSPACED}])\u200b(?=[{_UNSPACED}])(?![{_HIDDEN}])"
        ")"
        f"|(?<=[{_EMOJI}]\ufe0f)\u200d(?=[{_EMOJI}])"
    )
