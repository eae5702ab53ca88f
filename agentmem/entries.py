"""The MEMORY.md grammar, pure: bytes to entries and back.

Reading is a partition: `Document.header` followed by the `raw` of every entry is the file,
bit for bit. Nothing is interpreted away: what does not look like an entry heading belongs to
the entry above it, or to the header.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from agentmem import roles
from agentmem.stamps import parse_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

TERMINATOR = b"\n\n---\n\n"
CUT_OFF = "<!-- entry was not closed -->"
"""Text that closes an entry whose end was lost, so that nobody takes half of it for the whole."""

_CRLF_TERMINATOR = b"\r\n\r\n---\r\n\r\n"
_RULE = TERMINATOR.rstrip()
_CUT_OFF_END = f"\n\n{CUT_OFF}".encode() + TERMINATOR

# Lines are split on \n alone: \r, \x0b, \x85 and U+2028 are ordinary characters in what people say.
_HEADING = re.compile(
    rb"^### (?P<role>[^\n]+?) \xe2\x80\x94 (?P<stamp>\d{4}-\d\d-\d\dT[^\s<]+)"
    rb"(?: <!-- (?:(?P<size>\d{1,18}) bytes(?:, )?)?(?P<note>[^\n<>]*?) -->)?[ \t]*(?P<end>\r?\n|\r?\Z)",
    re.MULTILINE,
)
_HEADING_START = b"\n### "
_HEADING_MARK = "### "
_NOTE = re.compile(r"(?!\d+ bytes|\s)[^<>]*(?<!\s)|")
# Wider than _HEADING on purpose: whatever could be read as a heading gets its backslash.
_LOOKALIKE = re.compile(r"^(?=\\*### [^\n]* — \d{4}-\d\d-\d\dT)", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(?=\\*### [^\n]* — \d{4}-\d\d-\d\dT)", re.MULTILINE)


class _Parts(NamedTuple):
    """What follows an entry's heading: escaped text, what was typed after its end, what its end lacks."""

    text: bytes
    aside: bytes
    missing: bytes


@dataclass(frozen=True)
class Entry:
    """One entry of MEMORY.md or of an archive.

    Attributes:
        role: `User`, the agent's name, `Tool (name)` or `System`.
        stamp: the timestamp exactly as written; the entry's id.
        note: what the heading's HTML comment says, or "".
        raw: every byte of the entry, heading and terminator included.
        start: offset of `raw` in its file, in bytes.
    """

    role: str
    stamp: str
    note: str
    raw: bytes
    start: int = 0

    @cached_property
    def _parts(self) -> _Parts:
        heading = _HEADING.match(self.raw)
        if not heading:  # unreachable for what parse and make_entry build
            raise ValueError("an entry's bytes must begin with its heading")
        # A CRLF file ends its entries with a CRLF terminator; ours never does, so a text's own \r is safe.
        crlf = heading["end"] == b"\r\n"
        body = self.raw[heading.end() :].removeprefix(b"\r\n" if crlf else b"\n")
        size = int(heading["size"]) if heading["size"] else None
        if size is not None and body.startswith(TERMINATOR, size):
            return _Parts(body[:size], body[size + len(TERMINATOR) :], b"")
        terminator = _CRLF_TERMINATOR if crlf and _CRLF_TERMINATOR in body else TERMINATOR
        text, found, aside = body.rpartition(terminator)
        if size is not None and len(body) < size + len(TERMINATOR) and not text.endswith(CUT_OFF.encode()):
            # Shorter than it was written: a rule in it is one of its own, not its end.
            rest = body[size:]
            whole = len(body) >= size and TERMINATOR.startswith(rest)
            return _Parts(body[:size], b"", TERMINATOR[len(rest) :] if whole else _CUT_OFF_END)
        if found:
            return _Parts(text, aside, b"")
        return _Parts(body, b"", _missing_end(body, crlf=crlf))

    @cached_property
    def text(self) -> str:
        """The text as it was given; bytes that are not UTF-8 come as lone surrogates (`surrogateescape`)."""
        return _ESCAPED.sub("", self._parts.text.decode("utf-8", "surrogateescape"))

    @property
    def aside(self) -> str:
        """What stands between the entry's closing rule and the next heading: somebody typed it there."""
        return self._parts.aside.decode("utf-8", "surrogateescape")

    @property
    def content(self) -> str:
        """The text, and after a blank line what somebody typed after the entry."""
        aside = self.aside.strip()
        return f"{self.text}\n\n{aside}" if aside else self.text

    @property
    def terminated(self) -> bool:
        """Whether the entry has its closing rule; a last entry without it may be half of one."""
        return not self._parts.missing

    @property
    def closing(self) -> bytes:
        """What has to follow the entry before another may."""
        return self._parts.missing or (_blank_line(self._parts.aside) if self._parts.aside else b"")

    @property
    def end(self) -> int:
        """Offset just past the entry in its file, in bytes."""
        return self.start + len(self.raw)

    @property
    def when(self) -> datetime:
        """The timestamp as an aware datetime; a naive one is read as local time."""
        return parse_stamp(self.stamp)

    @property
    def is_summary(self) -> bool:
        """Whether a compaction wrote this entry."""
        return roles.is_summary(self.role, self.text)


@dataclass(frozen=True)
class Document:
    """A memory file as header and entries, in order, covering every byte."""

    header: bytes
    entries: tuple[Entry, ...]

    @property
    def raw(self) -> bytes:
        """The file's bytes, put together again."""
        return self.header + b"".join(entry.raw for entry in self.entries)

    @property
    def closing(self) -> bytes:
        """The bytes that close an unterminated end, so that an append is not fused to it."""
        return self.entries[-1].closing if self.entries else _blank_line(self.header)


def parse(content: bytes, base: int = 0) -> Document:
    """Partition a memory file.

    Args:
        content: the file's bytes, or its tail.
        base: offset of `content` in the file, in bytes, for `Entry.start`.
    """
    headings = list(_headings(content))
    if not headings:
        return Document(content, ())
    starts = [heading.start() for heading in headings]
    entries = tuple(
        Entry(
            role=heading["role"].decode("utf-8", "surrogateescape"),
            stamp=heading["stamp"].decode("utf-8", "surrogateescape"),
            note=(heading["note"] or b"").decode("utf-8", "surrogateescape"),
            raw=content[start:end],
            start=base + start,
        )
        for heading, start, end in zip(headings, starts, [*starts[1:], len(content)], strict=True)
    )
    return Document(content[: starts[0]], entries)


def _headings(content: bytes) -> Iterator[re.Match[bytes]]:
    # Looking for the bytes first is four times as fast as the expression alone.
    at = 0
    while True:
        heading = _HEADING.match(content, at)
        if heading:
            yield heading
        at = content.find(_HEADING_START, at) + 1
        if not at:
            return


def count_headings(content: bytes | bytearray, end: int) -> int:
    """Return how many entries begin before `end` in bytes that start at the start of a line."""
    return bool(_HEADING.match(content, 0, end)) + len(_later_heading().findall(content, 0, end))


@cache
def _later_heading() -> re.Pattern[bytes]:
    # It begins with bytes instead of `^`, and has no groups: much faster where headings are only counted.
    line = _HEADING.pattern.removeprefix(b"^").replace(b"(?P<end>", b"(?=")
    return re.compile(rb"\n" + re.sub(rb"\(\?P<\w+>", b"(?:", line))


def find_last(content: bytes, count: int) -> int | None:
    """Return where the last `count` entries begin, or None where fewer do.

    Args:
        content: bytes that start at the start of a line.
        count: entries wanted, at least 1.
    """
    at = len(content)
    while at > 0:
        at = content.rfind(_HEADING_START, 0, at)
        count -= bool(_HEADING.match(content, at + 1))
        if not count:
            return at + 1
    return None


def parse_pieces(pieces: Iterable[bytes]) -> Iterator[Document]:
    """Partition a file that comes in pieces, holding no more than a few entries at a time.

    Yields:
        Documents whose parts, joined, are the file; only the first has a header.
    """
    rest, base = b"", 0
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        if len(waiting) < len(rest):  # a long entry is not looked at again for every piece
            continue
        # Only whole lines: the end of a piece could pass for the end of a heading.
        content = rest + waiting
        cut = content.rfind(b"\n") + 1
        document = parse(content[:cut], base)
        waiting = bytearray(content[cut:])
        if not document.entries:
            rest = document.header
            continue
        # The last entry may go on in the next piece.
        *whole, last = document.entries
        yield Document(document.header, tuple(whole))
        rest, base = last.raw, last.start
    yield parse(rest + waiting, base)


def make_entry(role: str, stamp: str, text: str, note: str = "", start: int = 0) -> Entry:
    """Build an entry that reads back as exactly this role, stamp, text and note.

    A text with a rule in it has its size in the heading, or the half of it that a crash leaves
    could pass for the whole.

    Args:
        role: who speaks.
        stamp: the timestamp, as `format_stamp` writes it.
        text: any text.
        note: for the heading's comment.
        start: where the entry will stand in its file, in bytes.

    Raises:
        ValueError: the role or the note cannot stand in a heading line.
    """
    if not role or role != role.strip() or not role.isprintable():
        raise ValueError(f"not a role: {role!r}")
    if not _NOTE.fullmatch(note) or not note.isprintable():
        raise ValueError(f"not a note: {note!r}")
    escaped = storable(text)
    if _HEADING_MARK in escaped:
        escaped = _LOOKALIKE.sub(r"\\", escaped)
    body = escaped.encode()
    size = f"{len(body)} bytes" if _RULE in body else ""
    comment = ", ".join(part for part in (size, note) if part)
    heading = f"### {role} — {stamp}{f' <!-- {comment} -->' if comment else ''}\n\n"
    return Entry(role, stamp, note, heading.encode() + body + TERMINATOR, start)


def make_header(conversation: str, created: str, continues: str = "") -> bytes:
    """Build the header of a fresh MEMORY.md.

    Args:
        conversation: the conversation's name, `{agent}_id_{uuid}_conversation`.
        created: ISO 8601 timestamp.
        continues: path of the archive this file continues, relative to the agent's folder.
    """
    lines = ["# Agent Memory", "", f"**Conversation:** {conversation}", f"**Created:** {created}"]
    if continues:
        lines.append(f"**Continues:** {continues}")
    return "\n".join([*lines, "", "---", "", "## Interaction Log", "", ""]).encode()


def header_field(header: bytes, name: str) -> str:
    """Return what a header's `**name:**` line says, or ""."""
    found = re.search(rb"^\*\*" + name.encode() + rb":\*\* (.*?)\r?$", header, re.MULTILINE)
    return found[1].decode("utf-8", "replace") if found else ""


def free_text(header: bytes) -> str:
    """Return what a person typed into a header, without the lines this grammar puts there itself."""
    own = re.compile(
        r"\ufeff?# Agent Memory|\*\*(Conversation|Created|Continues):\*\* .*|---|## Interaction Log|"
    )
    lines = header.decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in lines if not own.fullmatch(line.strip())).strip()


def closing(tail: bytes) -> bytes:
    """Return the bytes that close a file's unterminated tail, so that an append is not fused to it.

    Args:
        tail: the file's last entry, or its whole content.
    """
    return parse(tail).closing


def _blank_line(tail: bytes) -> bytes:
    """Return the line ends that a header or a person's lines lack before a heading may follow."""
    return b"\n\n"[min(len(tail) - len(tail.rstrip(b"\n")), 2) :] if tail else b""


def _missing_end(body: bytes, *, crlf: bool) -> bytes:
    terminator = _CRLF_TERMINATOR if crlf else TERMINATOR
    for size in range(len(terminator) - 1, len(terminator.rstrip()) - 1, -1):
        if body.endswith(terminator[:size]):
            return terminator[size:]  # only line ends are missing, the text is whole
    return _CUT_OFF_END


def storable(text: str) -> str:
    """Return text that UTF-8 can carry: surrogate pairs joined, lone surrogates as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
