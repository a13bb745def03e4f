"""A run with a metric in a process of its own: its failure costs its cell, and the run goes on."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from harness import cli
from metrics.external import isolation
from tests.conftest import ROOT


def test_a_crash_costs_its_cell_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "metric", tmp_path / "out"
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "metrics" / "misbehaving.py", folder)
    (folder / "pyproject.toml").write_text(
        f"[tool.harness]\ncommand = ['{sys.executable}', '-S', '-E', 'misbehaving.py', 'segmentation']\n")
    status = cli.main(["run", "--metric", str(folder), "--metric", "length", "--dataset", "fed-turn", "--dataset",
                       "convai2-grade", "--limit", "12", "--draws", "0", "--out", str(out)])
    isolation.adapter_of(isolation.metric_class(folder)).close()
    report = json.loads((out / "report" / "report.json").read_text())
    (failure,) = report["failures"]
    assert status == 1
    assert failure["metric"] == "words"
    assert failure["error"] == ("WorkerFailed: words: its process was ended by SIGSEGV; it last said: about to "
                                 "misbehave")
    assert "Traceback" not in capsys.readouterr().err
    assert {(row["dataset"], row["metric"]) for row in json.loads((out / "report" / "timings.json").read_text())} == {
        ("fed-turn", "length"), ("convai2-grade", "length"),
        ({"fed-turn": "convai2-grade", "convai2-grade": "fed-turn"}[failure["dataset"]], "words")}
