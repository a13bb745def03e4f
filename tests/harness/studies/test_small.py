"""The small studies: numbers by hand, print beside them, and end to end on the sample."""

import csv
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.dataset import Quality
from harness.results.rows import DatasetEntry
from harness.run.correlate import Judged, TargetData
from harness.run.plan import Selection
from harness.studies import StudyRequest, judges, mme_crs
from harness.studies.judges import WAYS, Judgement
from harness.studies.mme_crs import COLUMNS, measured
from metrics.models import gguf
from tests import tiny
from tests.conftest import Invoke


def test_means_are_over_qualities_then_over_datasets() -> None:
    rows = [Judgement(dataset, quality, "small", way, 9, agreement, agreement / 2, 0.1, 1.0)
            for dataset, quality, agreement in (("a", "x", 0.1), ("a", "y", 0.3), ("b", "x", 0.6)) for way in WAYS]
    findings = judges.findings(rows, ["small"], {"small": 12.0})
    assert findings.tables[0].rows[0] == ("small", "as shipped", "12", "0.40", "0.20", "0.10", "1.00")
    assert len(findings.objects["judgement"]) == 9
    assert findings.maps[0].values[0][3:] == pytest.approx((0.4, 0.2, 0.1))
    absent = judges.findings([], ["smollm2-135m"], {"smollm2-135m": math.nan})
    assert absent.tables[0].rows[0][2:4] == ("–", "–")
    assert "smollm2-135m 135 M" in absent.remarks[0]


def test_a_model_is_asked_in_three_ways(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    folder = home / "models" / "tiny"
    folder.mkdir(parents=True)
    gguf.convert("tiny", tiny.gguf(tmp_path / "tiny.gguf", length=8192), folder)
    argv = ["study", "judges", "--dataset", "convai2-grade", "--limit", "12", "--out", tmp_path / "out"]
    assert "no model to judge" in invoke(*argv, status=2).err
    invoke(*argv, "--lm", "tiny")
    with (tmp_path / "out" / "studies" / "judges" / "judgement.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["way"] for row in rows} == set(WAYS)
    assert all(float(row["shipped"]) == pytest.approx(1) for row in rows if row["way"] == "as-shipped")


UP, DOWN = [0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]


def target(values: dict[str, list[float]], dataset: str = "toy") -> TargetData:
    """Return four rated items; the first column of a metric has another name, as in a run."""
    human, groups = np.array(UP), np.zeros(4, dtype=np.intp)
    names = (("mme-crs", "mme-crs"), *((column, column) for column in values))
    return TargetData(dataset, Judged(Quality("overall", 0, 3), tuple((vote,) for vote in human), human), names,
                      np.array([human, *values.values()]), groups, groups)


def test_means_are_over_targets_that_all_systems_can_score() -> None:
    best, worst = target(dict.fromkeys(COLUMNS, UP) | {"mme-avg": DOWN}), target(dict.fromkeys(COLUMNS, DOWN))
    incomplete = target({column: DOWN for column in COLUMNS if column != "mme-avg"})
    rows = list(measured("real data", [best, worst, incomplete]))
    assert {(row.column, row.here, row.targets) for row in rows if row.table == "Table 6"} == {
        ("mme-crs-single", 0.0, 2), ("mme-avg", -1.0, 2)}
    printed = {row.system: row.printed for row in rows if row.table == "Table 5"}
    assert (printed["MME-CRS"], printed["MME-CRS w/o RM+TCM"]) == (0.3104, 0.1107)
    assert not list(measured("real data", [incomplete]))


def test_real_and_sample_data_are_never_averaged(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [DatasetEntry(name, name, "dev", "turn", origin, "", 1, 1, (), "", "")
               for name, origin in (("a", "sample"), ("b", "imported"), ("c", "fetched"))]
    targets = [target(dict.fromkeys(COLUMNS, values), name) for name, values in (("a", DOWN), ("b", UP), ("c", UP))]
    monkeypatch.setattr(StudyRequest, "scored", lambda *_: (SimpleNamespace(datasets=entries), targets, ()))
    findings = mme_crs.study(StudyRequest(Selection(datasets=("fed-turn",)), home, tmp_path))
    assert {(row["data"], row["targets"], row["here"]) for row in findings.objects["table"]} == {
        (mme_crs.DATA["real"], 2, 1.0), (mme_crs.DATA["sample"], 1, -1.0)}


def test_whole_dialogues_have_no_mme_crs(tmp_path: Path, invoke: Invoke) -> None:
    assert "no turn-level dataset" in (
        invoke("study", "mme-crs", "--dataset", "fed-dial", "--limit", "4", "--out", tmp_path, status=2).err)
