"""One self-contained HTML page: no script, nothing loaded, everything escaped."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from agentmem.display import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem.formats.exported import Exported

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --faint: #5f6670; --page: #f6f5f2; --card: #fff;
  --line: #dcdad4; --user: #2456a6; --assistant: #1c6b45; --tool: #7a4d0b; --system: #6b4a8c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e3df; --faint: #9aa1ab; --page: #17191c; --card: #202327; --line: #363a40;
    --user: #8ab4f8; --assistant: #7ecfa3; --tool: #e3b26a; --system: #c5a3e6; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; }
h1 { font-size: 1.5rem; margin: 0 0 1.5rem; overflow-wrap: anywhere; }
article { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--role);
  border-radius: 6px; padding: .75rem 1rem; margin: 0 0 1rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; margin-bottom: .4rem; }
h2 { font-size: .95rem; margin: 0; color: var(--role); overflow-wrap: anywhere; }
time, .note { font-size: .8rem; color: var(--faint); }
time a { color: inherit; text-decoration: none; }
p { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: .6rem 0; padding: .6rem .8rem; background: var(--page); border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.5 ui-monospace, monospace; }
.user { --role: var(--user); } .assistant { --role: var(--assistant); }
.tool { --role: var(--tool); } .system { --role: var(--system); }
@media print {
  :root { color-scheme: light; --ink: #000; --faint: #444; --page: #fff; --card: #fff; --line: #bbb;
    --user: #2456a6; --assistant: #1c6b45; --tool: #7a4d0b; --system: #6b4a8c; }
  body { padding: 0; font-size: 10.5pt; }
  main { max-width: none; }
  header { break-after: avoid; }
  pre { border: 1px solid var(--line); }
}
"""

_FENCE = re.compile(r"^```[^\n`]*\n(?P<code>.*?)^```[ \t]*$\n?", re.MULTILINE | re.DOTALL)


def write(entries: Iterable[Exported], agent: str) -> Iterator[str]:
    """Yield the page, an entry at a time."""
    title = _escaped(agent)
    yield (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        # Whatever a browser may think of the text: it loads nothing and runs nothing.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    )
    for entry in entries:
        yield _article(entry)
    yield "</main>\n</body>\n</html>\n"


def _article(entry: Exported) -> str:
    stamp = _escaped(entry.stamp)
    asides = [entry.note, entry.source and f"from {entry.source}"]
    notes = "".join(f'<span class="note">{_escaped(aside)}</span>' for aside in asides if aside)
    return (
        f'<article class="{entry.kind}" id="{stamp}" dir="auto">\n'
        f"<header><h2>{_escaped(entry.role)}</h2>"
        f'<time datetime="{stamp}"><a href="#{stamp}">{_escaped(_readable(entry.stamp))}</a></time>'
        f"{notes}</header>\n{_body(entry.text)}</article>\n"
    )


def _readable(stamp: str) -> str:
    """Leave out what a reader does not need: the fraction of the second."""
    return re.sub(r"\.\d+", "", stamp.replace("T", " ", 1))


def _body(text: str) -> str:
    """Set fenced code apart; everything else stays as it was written."""
    pieces, done = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_paragraph(text[done : fence.start()]), f"<pre>{_escaped(fence['code'])}</pre>\n"]
        done = fence.end()
    return "".join([*pieces, _paragraph(text[done:])])


def _paragraph(text: str) -> str:
    stripped = text.strip("\n")
    return f'<p dir="auto">{_escaped(stripped)}</p>\n' if stripped else ""


def _escaped(text: str) -> str:
    """Escape markup; what would hide or turn the order of a line around is shown, as in a terminal."""
    return html.escape(visible(text))
