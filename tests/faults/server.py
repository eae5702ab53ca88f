"""A process with everything imported that runs commands in children it forks: a start costs 5 ms, not 2 s.

Reads requests as JSON lines, `{"words": [...], "fault": [kind, at, part], "uid": 0, "env": {...}}`, and answers each
with `{"status": ..., "calls": [...], "acknowledged": [...], "output": ...}`; a killed child has status -9.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from agentmem import cli
from agentmem.memory import Memory
from tests.faults.shim import Fault, Shim

WARM = [
    ["show", "Ada"],
    ["search", "Ada", "one"],
    ["chat", "Ada", "--retry"],
    ["compact", "Ada", "--summary", "short", "--keep-tokens", "0"],
    ["compact", "Ada", "--undo"],
    ["export", "Ada"],
    ["forget", "Ada", "--match", "one", "--yes"],
    ["doctor"],
]


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command in a child and return how it ended."""
    with tempfile.TemporaryFile("w+b") as output, tempfile.TemporaryFile("w+b") as record:
        child = os.fork()
        if not child:
            _child(request, output.fileno(), record.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        record.seek(0)
        told = [json.loads(line) for line in record]
        return {
            "status": status,
            "calls": next((line["calls"] for line in told if "calls" in line), []),
            "acknowledged": [line["stored"] for line in told if "stored" in line],
            "output": output.read().decode("utf-8", "replace"),
        }


def _child(request: dict[str, Any], output: int, record: int) -> None:
    status = 99
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, output), (2, output)):
            os.dup2(source, target)
        os.environ.update(request["env"])
        if request["uid"]:
            os.setgroups([])
            os.setgid(request["uid"])
            os.setuid(request["uid"])
        write = os.write  # the shim's own notes do not count

        def note(what: dict[str, Any]) -> None:
            write(record, json.dumps(what).encode() + b"\n")

        _acknowledge(note)
        shim = Shim(Fault(*request["fault"]))
        shim.install()
        status = cli.main(request["words"])
        note({"calls": shim.calls})
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _acknowledge(note: Any) -> None:
    append = Memory.append

    def acknowledged(*arguments: Any, **options: Any) -> Any:
        entry = append(*arguments, **options)
        note({"stored": entry.stamp})
        return entry

    Memory.append = acknowledged  # type: ignore[method-assign]


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


def warm_up() -> None:
    """Run the commands once in this process: what they import and build on their way is there for every child."""
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryDirectory() as root, open(os.devnull, "wb") as nowhere:
        os.environ["WORKSPACE_DIR"] = root
        os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"  # nobody listens there
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        Memory(Path(root, "agents", "Ada")).append("User", "one")
        for words in WARM:
            cli.main(words)
        sys.stdout.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
    for fd in kept:
        os.close(fd)
    gc.freeze()


if __name__ == "__main__":
    warm_up()
    main()
