"""Print how often redaction strikes in ordinary technical prose and code, which should hold no secrets.

    python tests/quality/redaction_rate.py [--hits] [FOLDER…]

The corpus is the Python standard library and what installed packages bring: sources, and the README
texts in their metadata; or the given folders. What it strikes there are mostly keys made up for examples
and tests, which is for a reader of `--hits` to judge.
"""

from __future__ import annotations

import argparse
import sysconfig
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.redaction import find

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = {".py", ".pyi", ".md", ".rst", ".txt", ".toml", ".cfg", ".json", ".yaml", ".yml"}
NAMES = {"METADATA", "README", "PKG-INFO"}
LARGEST = 2_000_000


def files(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if (path.suffix in SUFFIXES or path.name in NAMES) and path.is_file():
                yield path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--hits", action="store_true", help="list every strike")
    options = parser.parse_args()
    folders = options.folders or [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    size = count = 0
    kinds: Counter[str] = Counter()
    started = time.perf_counter()
    for path in files(folders):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if len(text) > LARGEST:
            continue
        count += 1
        size += len(text)
        for secret in find(text):
            kinds[secret.kind] += 1
            if options.hits:
                around = text[max(0, secret.start - 40) : secret.start].rpartition("\n")[2]
                print(f"{path}: {secret.kind}: {around}»{text[secret.start : secret.end][:100]!r}«")
    seconds = time.perf_counter() - started
    hits = kinds.total()
    print(f"corpus: {count} files, {size / 1e6:.1f} million characters, read in {seconds:.0f} s")
    print(f"hits: {hits} ({', '.join(f'{kind} {number}' for kind, number in kinds.most_common())})")
    print(f"rate: {hits / max(size, 1) * 1e6:.2f} a million characters")


if __name__ == "__main__":
    main()
