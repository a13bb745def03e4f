"""`harness study compositions`: a left-out dataset's correlation by hand, and the table of the shipped evidence."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from harness.cli import main
from harness.studies.compositions import agreement
from metrics.evidence import DatasetEvidence, QualityEvidence

ALIKE = np.array([[1.0, 0.5], [0.5, 1.0]])


def test_agreement_is_that_of_the_weighted_sum_itself() -> None:
    """Against Pearson's correlation of a sum of two columns made with those correlations."""
    rng = np.random.default_rng(0)
    human, *inputs = np.linalg.qr(rng.normal(size=(50, 4)) - rng.normal(size=(50, 4)).mean(0))[0].T[:3]
    columns = np.array([one - one.mean() for one in (inputs[0] + 0.4 * human, inputs[1] + 0.1 * human)])
    human = human - human.mean()
    alike, ranked = np.corrcoef(columns), np.array([np.corrcoef(one, human)[0, 1] for one in columns])
    quality = QualityEvidence("q", "q", 50, ranked, ranked)
    part = DatasetEvidence("d", "turn", "f", "r", 50, np.zeros(2), np.ones(2), alike, (quality,))
    weights = np.array([0.3, 0.7])
    summed = weights @ (columns / columns.std(axis=1, keepdims=True))
    assert agreement(part, quality, weights) == pytest.approx(np.corrcoef(summed, human)[0, 1])
    assert agreement(part, quality, np.zeros(2)) == 0


def test_the_study_of_the_shipped_weights(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "compositions", "--metric", "mme-crs", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "a name that no dataset has" in printed
    kept = (tmp_path / "studies" / "compositions" / "dataset.csv").read_text().splitlines()
    rows = list(csv.DictReader(kept))
    assert len(rows) == 6 * 10
    assert all(row["known"] == row["unknown"] for row in rows[-10:]), "the weights of all are the same by any name"
    assert any(row["known"] != row["unknown"] for row in rows[:10])
