"""The wheel, in an environment of its own, works from any folder without torch."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from harness.results import files
from metrics import registry
from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.network
def test_the_wheel_runs_from_any_folder(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path / "dist"), str(ROOT)],
                   check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    env = {**os.environ, "HARNESS_HOME": str(tmp_path / "home")}
    harness = str(python.with_name("harness"))

    def run(*argv: str) -> str:
        done = subprocess.run([harness, *argv], cwd=elsewhere, env=env, check=True, capture_output=True, text=True)
        return done.stdout

    assert "not installed" in run("doctor"), "the core has no torch"
    run("new", "metric", "green-tea")
    assert "the contract is kept" in run("check", "./green-tea")
    run("run", "--all", "--limit", "60", "--draws", "50")
    assert (elsewhere / "results" / "site" / "index.html").is_file()
    assert (elsewhere / "results" / "site" / "style.css").is_file()
    report = files.read(elsewhere / "results" / "report")
    ran, skipped = ({row.metric for row in table} for table in (report.correlations, report.skips))
    assert ran | skipped == set(registry.names())
    assert not ran & {name for name in registry.names() if registry.card(name).models}
