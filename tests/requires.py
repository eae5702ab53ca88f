"""Programs a test needs: without one it is skipped, except in CI, where a skipped test would prove nothing."""

from __future__ import annotations

import os
import shutil

import pytest


def needs(program: str) -> str:
    """Return where a program is, or end the test: skipped with its reason, failed when `CI` is true."""
    found = shutil.which(program)
    if not found:
        missing(f"{program} is not installed")
    return found or ""


def missing(reason: str) -> None:
    """End a test for want of something the machine lacks: skipped, failed when `CI` is true."""
    if os.environ.get("CI", "").casefold() in {"1", "true"}:
        pytest.fail(f"{reason}, which CI must have", pytrace=False)
    pytest.skip(reason)
