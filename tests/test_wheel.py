from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.program import ROOT


def test_the_built_wheel_works_in_a_clean_environment(tmp_path: Path, workspace: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)], check=True
    )
    (wheel,) = tmp_path.glob("agentmem-*.whl")
    clean = tmp_path / "clean"
    venv.create(clean, symlinks=True)
    python = clean / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", str(wheel)], check=True)
    # What agentmem depends on comes from the environment that runs the tests; agentmem itself does not.
    (site,) = clean.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def output(*command: str) -> str:
        return subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=tmp_path, env=alone
        ).stdout

    home = output(str(python), "-c", "import agentmem; print(agentmem.__file__)")
    assert Path(home.strip()).is_relative_to(clean)
    version = output(str(clean / "bin" / "agentmem"), "--version")
    assert version == output(str(python), "-m", "agentmem", "--version")
    assert version.startswith("agentmem ")
    assert (Path(home.strip()).parent / "py.typed").exists()
    share = clean / "share"
    assert (share / "bash-completion" / "completions" / "agentmem").exists()
    assert (share / "zsh" / "site-functions" / "_agentmem").exists()
    assert (share / "fish" / "vendor_completions.d" / "agentmem.fish").exists()
    assert (share / "man" / "man1" / "agentmem-chat.1").exists()
