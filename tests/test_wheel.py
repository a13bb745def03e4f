"""The wheel, in an environment of its own, works from any folder without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

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
    short = ("--limit", "60", "--draws", "50")
    run("run", "--all", *short)
    assert (elsewhere / "results" / "site" / "index.html").is_file()
    assert (elsewhere / "results" / "site" / "style.css").is_file()
    report = elsewhere / "results" / "report"
    skipped = {skip["metric"] for skip in json.loads((report / "report.json").read_text())["skips"]}
    without_torch = {row["metric"] for row in rows(report, "correlations")}
    assert without_torch | skipped == set(registry.names())
    assert not without_torch & {name for name in registry.names() if registry.card(name).models}
    asked = [word for name in sorted(without_torch) for word in ("--metric", name)]
    checkout = {**os.environ, "HARNESS_HOME": str(tmp_path / "home2")}
    subprocess.run([sys.executable, "-m", "dialogue_harness", "run", *asked, *short, "--out",
                    str(tmp_path / "checkout")],
                   env=checkout, cwd=ROOT, check=True, capture_output=True)
    assert rows(report, "correlations") == rows(tmp_path / "checkout" / "report", "correlations")


def rows(report: Path, table: str) -> list[dict[str, Any]]:
    """The lines of a report's table."""
    return [json.loads(line) for line in (report / f"{table}.jsonl").read_text().splitlines()]
