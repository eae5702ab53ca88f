"""Draw the README's pictures from real sessions: `python -m tests.pictures`, with rsvg-convert installed."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from agentmem.consent import record
from agentmem.memory import Memory
from tests.loopback import Answer, Gate, Provider
from tests.terminal import Screen, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parent.parent / ".readme"
COLUMNS, ROWS = 84, 26
REPLY = """\
For your **three services**, `eu-west` is cheapest:

| Region   | vCPU | Memory | A month |
|----------|-----:|-------:|--------:|
| eu-west  |   12 |  48 GB |   €411 |
| eu-north |   12 |  48 GB |   €456 |

1. Move the *batch jobs* first: they need no sticky sessions.
2. Keep the database where it is until the replica has caught up.

```python
def cheapest(prices: dict[str, float]) -> str:
    \"\"\"Return the region that costs least.\"\"\"
    return min(prices, key=prices.get)  # eu-west
```

You said in April that nothing may leave the EU, so"""

ANSWER = """\
`eu-west`, by **11 %**:

| Region   | A month |
|----------|--------:|
| eu-west  |   €411 |
| eu-north |   €456 |
"""


def chat(workspace: Path) -> Screen:
    """Return a conversation while a reply arrives."""
    memory = Memory(
        workspace / "agents" / "Ada", clock=lambda: datetime.now().astimezone() - timedelta(days=6)
    )
    for number in range(20):
        memory.append(
            "User", f"Note {number}: nothing may leave the EU. " + "We compared the prices again. " * 60
        )
        memory.append("Ada", "Noted. " + "The prices have not changed since the last time. " * 60)
    archive = memory.folder / "archive" / "history_2026-04-20_14-30-45.md"
    archive.parent.mkdir()
    archive.write_bytes(memory.path.read_bytes())
    with Provider() as provider:
        gate = Gate(len(re.findall(r" ", REPLY)) + 1)
        # One more word stays behind, so that the reply is not over.
        provider.answers.append(Answer(f"{REPLY} both", gate=gate))
        environment = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "x", **surroundings(workspace)}
        command = [
            sys.executable,
            "-m",
            "agentmem",
            "chat",
            "Ada",
            "-m",
            "gpt-4o",
            "--context-length",
            "32000",
        ]
        with Terminal(command, columns=COLUMNS, rows=ROWS + 6, environment=environment) as terminal:
            terminal.wait_for("loaded")
            terminal.wait_for("compacts at")
            terminal.send("Which region should we move to, and what goes first?\r")
            gate.wait_until_reached()
            terminal.wait_for("so")
            return redrawn(terminal)


def show(workspace: Path) -> Screen:
    """Return what `agentmem show` prints."""
    ages = {"Ada": 0.02, "ResearchAgent": 26.0, "Grace Hopper": 300.0, "release-notes": 2000.0}
    for number, (name, hours) in enumerate(ages.items(), 1):
        past = datetime.now(timezone.utc).astimezone() - timedelta(hours=hours)
        folder = workspace / "agents" / name
        memory = Memory(folder, clock=lambda past=past: past)  # type: ignore[misc]  # bound now
        for each in range(7 * number):
            memory.append("User", f"Question {each}: which region is the cheapest one for us?")
            memory.append(name, ANSWER)
        (folder / "agent.toml").write_text(f"context_length = {1000 * number**3}\n", encoding="utf-8")
    script = "PS1='$ '; agentmem() { " + sys.executable + ' -m agentmem "$@"; }; clear'
    environment = {"PAGER": "cat", **surroundings(workspace)}
    with Terminal(
        ["bash", "--norc", "--noprofile", "-i"], columns=COLUMNS, rows=ROWS, environment=environment
    ) as terminal:
        terminal.send(f"{script}\r")
        terminal.wait_until(lambda: terminal.lines_unlocked()[0] == "$")
        for line, shown in (
            ("agentmem show", "last used"),
            ("agentmem show Ada --last 2", "by 11 %"),
        ):
            terminal.send(f"{line}\r")
            terminal.wait_for(shown)
            terminal.wait_until(lambda: [row for row in terminal.lines_unlocked() if row][-1] == "$")
        return redrawn(terminal)


def surroundings(workspace: Path) -> dict[str, str | None]:
    record(workspace, datetime.now().astimezone(), agreed=True)
    return {"WORKSPACE_DIR": str(workspace), "XDG_CONFIG_HOME": str(workspace), "PYTHONPATH": os.getcwd()}


def redrawn(terminal: Terminal) -> Screen:
    """Return the screen with dim text in grey, which pyte has no attribute for."""
    screen = Screen(terminal.screen.columns, terminal.screen.lines, lambda _reply: None)
    raw = re.sub(rb"\x1b\[(?:0;)?2(?:;3)?m", b"\x1b[0;90m", bytes(terminal.raw))
    pyte.ByteStream(screen).feed(raw)
    return screen


def picture(screen: Screen, title: str) -> str:
    """Return a screen as SVG."""
    console = Console(width=screen.columns, record=True, file=io.StringIO(), force_terminal=True)
    rows = [number for number in range(screen.lines) if screen.row(number)]
    for number in range(rows[0], rows[-1] + 1):
        line = Text(no_wrap=True, overflow="crop")
        for column in range(screen.columns):
            cell = screen.buffer[number][column]
            line.append(cell.data, Style(color=colour(cell.fg), bold=cell.bold, italic=cell.italics))
        console.print(line)
    return console.export_svg(title=title).replace("Fira Code", "DejaVu Sans Mono")


def colour(name: str) -> str | None:
    if name == "default":
        return None
    return {"brown": "yellow", "brightblack": "bright_black"}.get(name, name.replace("bright", "bright_"))


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    scenes: dict[str, tuple[Callable[[Path], Screen], str]] = {
        "chat": (chat, "agentmem chat Ada"),
        "show": (show, "agentmem"),
    }
    for name, (scene, title) in scenes.items():
        with tempfile.TemporaryDirectory() as folder:
            drawn = picture(scene(Path(folder) / "workspace"), title)
        command = ["rsvg-convert", "--zoom", "0.8", "-o", str(FOLDER / f"{name}.png")]
        subprocess.run(command, input=drawn.encode(), check=True)


if __name__ == "__main__":
    main()
