"""The wheel, in a separate environment, works from any folder without torch."""

import io
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from harness.results import files
from metrics import registry
from metrics.models import checkpoint
from tests.conftest import ROOT


def built(folder: Path) -> dict[str, bytes]:
    """Build both wheels and the sdist from this checkout; return them by name."""
    for what in ([str(ROOT)], ["--wheel", str(ROOT / "weights")]):
        subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), *what], check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def members(wheel: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(wheel)).namelist()


@pytest.mark.slow
@pytest.mark.network
def test_the_wheel_runs_from_any_folder(tmp_path: Path) -> None:
    first, second = (built(tmp_path / name) for name in ("dist", "again"))
    assert first == second, "the same bytes twice"
    wheel, weights = sorted((name for name in first if name.endswith(".whl")), key=len)
    assert len(first[wheel]) < 3 << 20
    assert not [name for name in members(first[wheel]) if name.endswith(".safetensors")], "which others' terms bind"
    assert {name.split("/")[2] for name in members(first[weights]) if name.startswith("metrics/")} == {
        path.name for path in checkpoint.SHIPPED.iterdir()}
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", str(tmp_path / "dist" / wheel)]
    subprocess.run(install, check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    env = {**os.environ, "HARNESS_HOME": str(tmp_path / "home")}
    harness = str(python.with_name("harness"))

    def run(*argv: str) -> str:
        done = subprocess.run([harness, *argv], cwd=elsewhere, env=env, check=True, capture_output=True, text=True)
        return done.stdout

    assert re.fullmatch(r"harness \S+ [0-9a-f]{40}(-dirty)?\n", run("--version"))
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
