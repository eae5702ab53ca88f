"""The HTML export as a real browser shows it."""

from __future__ import annotations

import html
import re
import struct
import subprocess
import zlib
from typing import TYPE_CHECKING

import pytest

from agentmem.formats.exported import Exported
from agentmem.formats.registry import EXPORTS
from tests.requires import needs

if TYPE_CHECKING:
    from pathlib import Path

STAMP = "2026-04-20T18:33:15.120001+01:00"
HOSTILE = (
    "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
    "</p></article><style>body{display:none}</style><!-- &amp; \x1b[31m"
)
TALK = [
    Exported("User", STAMP, HOSTILE),
    Exported("Ada", STAMP, "before\n```html\n<b>bold</b>\n```\nafter", "interrupted"),
    Exported("Tool (prices)", STAMP, '{"eu-west": 0.91}', "", "history_2026-04-20_14-30-45.md"),
    Exported("User", STAMP, "/srv/" + "a" * 400),
]


class Browser:
    """Headless Chromium on one page."""

    def __init__(self, folder: Path) -> None:
        self._program = needs("chromium")
        self._folder = folder
        self._page = folder / "page.html"
        self._page.write_text("".join(EXPORTS["html"](TALK, "Ada <b>")), encoding="utf-8")

    def run(self, *options: str) -> str:
        command = [
            self._program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={self._folder / 'profile'}", "--window-size=800,900", *options, self._page.as_uri(),
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    def corner(self, *options: str) -> tuple[int, ...]:
        """Return the colour of the top left pixel of a screenshot."""
        picture = self._folder / "picture.png"
        self.run(f"--screenshot={picture}", *options)
        content = picture.read_bytes()
        assert struct.unpack(">II", content[16:24]) == (800, 900)
        packed = b"".join(
            content[
                found.end() : found.end() + struct.unpack(">I", content[found.start() - 4 : found.start()])[0]
            ]
            for found in re.finditer(b"IDAT", content)
        )
        # Of the first pixel, whatever the row's filter, the bytes are the colour itself.
        return tuple(zlib.decompressobj().decompress(packed, 4)[1:4])


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(tmp_path)


def test_a_browser_shows_every_entry_and_runs_nothing(browser: Browser) -> None:
    page = browser.run("--dump-dom")
    assert page.count("<article") == len(TALK)
    assert "<title>Ada &lt;b&gt;</title>" in page
    assert "pwned&#39;&lt;/script&gt;" in page or "pwned'&lt;/script&gt;" in page
    assert "<img" not in page
    assert "<script" not in page
    assert page.count("<style") == 1
    shown = html.unescape(re.sub(r"<[^>]+>", "", page.partition("<body>")[2]))
    for text in (
        "<b>bold</b>",
        "interrupted",
        "from history_2026-04-20_14-30-45.md",
        '{"eu-west": 0.91}',
        "a" * 400,
    ):
        assert text in shown


def test_the_page_is_light_or_dark_as_the_reader_likes(browser: Browser) -> None:
    assert min(browser.corner("--blink-settings=preferredColorScheme=1")) > 200
    assert max(browser.corner("--blink-settings=preferredColorScheme=0")) < 60


def test_the_page_can_be_printed(browser: Browser, tmp_path: Path) -> None:
    browser.run(f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
