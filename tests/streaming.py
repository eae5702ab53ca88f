"""Stream a file to the terminal as if a model said it: `python -m tests.streaming FILE RATE`.

Pieces are of four characters, about a token. After `PAUSE` in the text it waits for a key. At the end one
line says bytes sent for each byte of the text, and milliseconds of processor time for each piece.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from agentmem.repl.bar import Gauge, bar
from agentmem.repl.markdown import Canvas
from agentmem.repl.stream import LiveReply

SGR = {"name": "1", "dim": "2", "calm": "32", "near": "33", "full": "31", "": ""}


def main(path: str, rate: float) -> None:
    text = Path(path).read_text(encoding="utf-8")
    said = 0

    def status(width: int, _frame: int) -> tuple[tuple[str, str], ...]:
        gauge = Gauge("Ada", "gpt-4o", 1000 + said, 8000)
        return tuple((SGR[style], part) for style, part in bar(gauge, width))

    canvas = Canvas()
    reply = LiveReply(sys.stdout, lambda: canvas, status)
    start = time.monotonic()
    for stretch in text.split("PAUSE"):
        for at in range(0, len(stretch), 4):
            said += 1
            time.sleep(max(0.0, start + said / rate - time.monotonic()))
            reply.text(stretch[at : at + 4])
        if not text.endswith(stretch):
            reply.note("paused")
            sys.stdin.readline()
    reply.close()
    size = len(text.encode())
    sys.stdout.write(f"bytes {reply.written / size:.2f} cpu {1000 * reply.cpu / said:.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
