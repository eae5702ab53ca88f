"""A file somebody wants to import, read value by value, with the place of whatever is wrong in it."""

from __future__ import annotations

import codecs
import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from agentmem.errors import ImportRefused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_CHUNK = 1 << 18
_FRACTION = re.compile(r"\.(\d+)")
_SPACE = re.compile(r"[ \t\r\n]*")
# How far from the end of what has been read an error must be to be the text's, not the cut's.
_MARGIN = 32


@dataclass(frozen=True)
class Node:
    """A JSON value and where it stands.

    Attributes:
        value: as `json` gives it.
        place: the file and the path in it, for messages.
    """

    value: object
    place: str

    def refused(self, why: str) -> ImportRefused:
        """Return the error that names this place."""
        return ImportRefused(f"{self.place}: {why}")

    def has(self, *keys: str) -> bool:
        """Return whether this is an object with all these members."""
        return isinstance(self.value, dict) and all(key in self.value for key in keys)

    def member(self, key: str) -> Node:
        """Return an object's member; a missing one is null."""
        return Node(self._object().get(key), f"{self.place}.{key}")

    def members(self) -> dict[str, Node]:
        """Return an object's members by name."""
        return {key: Node(value, f"{self.place}[{json.dumps(key)}]") for key, value in self._object().items()}

    def _object(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self.refused(f"an object is wanted, not {_named(self.value)}")
        return self.value

    def items(self) -> list[Node]:
        """Return an array's elements; null has none."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.refused(f"an array is wanted, not {_named(self.value)}")
        return [Node(value, f"{self.place}[{index}]") for index, value in enumerate(self.value)]

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.refused(f"a string is wanted, not {_named(self.value)}")
        return self.value

    def text_or(self, default: str) -> str:
        """Return a string, or the default for null."""
        return default if self.value is None else self.text()

    def when(self) -> datetime:
        """Return a moment given as ISO 8601 or as seconds since 1970; without an offset it is UTC."""
        try:
            if isinstance(self.value, int | float) and not isinstance(self.value, bool):
                return datetime.fromtimestamp(self.value, timezone.utc)
            # Python 3.10 takes fractions of three or six digits only.
            text = _FRACTION.sub(lambda found: f".{found[1]:0<6.6}", self.text().replace("Z", "+00:00"))
            when = datetime.fromisoformat(text)
        except (ValueError, OverflowError, OSError):
            raise self.refused(f"a date and time is wanted, not {self.value!r}") from None
        return when if when.tzinfo else when.replace(tzinfo=timezone.utc)


def _named(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


class Source:
    """A file to import.

    Attributes:
        path: where it is.
        size: bytes it had when it was opened.
        modified: when it was last written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._readable():
            status = os.stat(path)
        self.size = status.st_size
        self.modified = datetime.fromtimestamp(status.st_mtime_ns // 1000 / 1_000_000, timezone.utc)

    def refused(self, why: str, place: str = "") -> ImportRefused:
        """Return the error that names this file, and a place in it."""
        return ImportRefused(f"{self.path}{place and f': {place}'}: {why}")

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file for the length of a block."""
        with self._readable(), open(self.path, "rb") as file:
            yield file

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ImportRefused(f"cannot read {self.path}: {error.strerror}") from error

    def nodes(self) -> Iterator[Node]:
        """Yield the elements of the file's JSON array, or its JSON values (JSON lines) one after another.

        Raises:
            ImportRefused: the file cannot be read or is not JSON; the message says where.
        """
        with self.opened() as file:
            text = _Text(self, file)
            if text.peek() == "[":
                yield from self._array(text)
            else:
                while text.peek():
                    line = text.line
                    yield Node(text.value(), f"{self.path}: line {line}")

    def _array(self, text: _Text) -> Iterator[Node]:
        text.skip()
        index = 0
        while text.peek() != "]":
            if index:
                if text.peek() != ",":
                    raise text.refused("a comma or ] is wanted")
                text.skip()
            yield Node(text.value(), f"{self.path}: [{index}]")
            index += 1
        text.skip()
        if text.peek():
            raise text.refused("something follows the end of the JSON array")


class _Text:
    """JSON text read in pieces: what has been decoded is let go."""

    def __init__(self, source: Source, file: BinaryIO) -> None:
        self._source = source
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._json = json.JSONDecoder()
        self._read = 0
        self._buffer = ""
        self._position = 0
        self._ended = False
        self.line = 1
        self._column = 1

    def peek(self) -> str:
        """Move to the next character that is no white space and return it, or "" at the end."""
        while True:
            end = self._end_of_space()
            self._take(end - self._position)
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._more():
                return ""

    def skip(self) -> None:
        """Move over one character."""
        self._take(1)

    def value(self) -> object:
        """Decode the next value."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated")
                if (cut or error.pos > len(self._buffer) - _MARGIN) and self._more():
                    continue
                self._take(error.pos - self._position)
                raise self.refused(error.msg[0].lower() + error.msg[1:], cut=cut) from None
            except (RecursionError, ValueError) as error:
                raise self.refused(f"cannot be decoded: {error}") from None
            # A number that ends where the buffer does may go on.
            if end == len(self._buffer) and self._more():
                continue
            self._take(end - self._position)
            return value

    def refused(self, why: str, *, cut: bool = False) -> ImportRefused:
        """Return the error that names the current place.

        Args:
            why: what is wrong there.
            cut: the value is wrong because it stops.
        """
        if cut or (self._ended and self._position >= len(self._buffer)):
            why = f"the file ends in the middle ({why})"
        return self._source.refused(why, f"line {self.line}, column {self._column}")

    def _end_of_space(self) -> int:
        found = _SPACE.match(self._buffer, self._position)
        return found.end() if found else self._position

    def _take(self, count: int) -> None:
        end = min(self._position + count, len(self._buffer))
        lines = self._buffer.count("\n", self._position, end)
        self.line += lines
        if lines:
            self._column = end - self._buffer.rfind("\n", self._position, end)
        else:
            self._column += end - self._position
        self._position = end

    def _more(self) -> bool:
        """Read on, at least as much again as is waiting: a long value then costs in proportion."""
        if self._ended:
            return False
        waiting = self._buffer[self._position :]
        piece = self._file.read(max(_CHUNK, len(waiting)))
        try:
            decoded = self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            offset = self._read + len(piece) - len(error.object) + error.start
            raise self._source.refused("not UTF-8", f"byte {offset}") from None
        self._read += len(piece)
        self._ended = not piece
        self._buffer, self._position = waiting + decoded, 0
        return True
