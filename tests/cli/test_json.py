"""The README's table of what `--json` prints, checked by running each command in it."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from tests.documents import README
from tests.program import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.loopback import Provider

ROW = re.compile(r"^\| `agentmem (?P<words>[^`]*--json[^`]*)` \| (?P<keys>.*) \|$", re.MULTILINE)


def test_every_shape_is_as_the_readme_says(
    provider: Provider, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTMEM_MODEL", "gpt-4o")
    monkeypatch.setenv("AGENTMEM_KEEP_TOKENS", "0")
    provider.answers.append("eu-west.")
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "hi"}]')
    rows = list(ROW.finditer(README.read_text(encoding="utf-8")))
    assert len(rows) >= 12
    for row in rows:
        ran = run(*shlex.split(row["words"]), cwd=tmp_path)
        assert ran.code == 0, (row["words"], ran.err)
        assert set(json.loads(ran.out)) == set(re.findall(r"`(\w+)`", row["keys"])), row["words"]
