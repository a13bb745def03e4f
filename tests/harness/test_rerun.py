"""`harness rerun`: the same numbers come again, and where they do not it says which, by how much and why."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from harness.cli import main
from harness.results import differences, files
from harness.results.rows import Results


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The results of a run."""
    assert main(["run", "--dataset", "esl", "--dataset", "humod", "--metric", "length", "--metric", "bleu",
                 "--limit", "25", "--seed", "3", "--draws", "20", "--permutations", "10", "--examples", "2",
                 "--out", str(tmp_path / "made")]) == 0
    capsys.readouterr()
    return tmp_path / "made"


def altered(made: Path, **values: Any) -> Results:
    """The report with other values in its run, written in its place."""
    report = files.read(made / "report")
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, **values))
    files.write(report, made / "report")
    return report


def test_the_same_numbers_come_again(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rerun", str(made), "--out", str(tmp_path / "again")]) == 0
    said = capsys.readouterr()
    for table in ("correlations", "comparisons", "reliability", "ranking"):
        assert f"{table}: {len(getattr(files.read(made / 'report'), table))} rows, all equal" in said.out
    assert "3 scored, 0 kept" in said.out
    assert "not as it was" not in said.err
    for path in (made / "report").rglob("*"):
        if path.is_file() and path.name != "timings.json":
            assert (tmp_path / "again" / "report" / path.relative_to(made / "report")).read_bytes() == path.read_bytes()


def test_what_differs_is_told_with_its_cause(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = altered(made, packages={**files.read(made / "report").run.packages, "numpy": "0.1"})
    rows = [dataclasses.replace(row, value=row.value + 0.25) if (row.column, row.statistic) == ("length", "spearman")
            and row.dataset == "esl" else row for row in report.correlations]
    files.write(dataclasses.replace(report, correlations=tuple(rows)), made / "report")
    assert main(["rerun", str(made / "report"), "--out", str(tmp_path / "again")]) == 1
    said = capsys.readouterr()
    assert "not as it was: numpy: 0.1 then, " in said.err
    assert "rows differ, most by 0.25: esl, " in said.out
    assert "comparisons: " in said.out
    assert "likely cause: environment: numpy" in said.out.splitlines()[-1]
    assert main(["rerun", str(made), "--out", str(tmp_path / "again"), "--tolerance", "0.3"]) == 0
    assert "0 scored, 3 kept" in capsys.readouterr().out


def test_other_items_are_told_before_and_after(made: Path, tmp_path: Path, home: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items[5:], sample.ratings, "imported"), home)
    assert main(["rerun", str(made), "--out", str(tmp_path / "again")]) == 1
    said = capsys.readouterr()
    assert "not as it was: items of esl: sample then, imported now" in said.err
    assert "likely cause: data: items" in said.out


def test_private_ratings_are_asked_for(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items, (), "imported"), home)
    rows = [{"dialogue_id": rating.item, "annotations": {rating.quality: list(rating.votes)}}
            for rating in sample.ratings]
    mine, other, made = tmp_path / "mine.json", tmp_path / "other.json", tmp_path / "made"
    mine.write_text(json.dumps(rows))
    other.write_text(json.dumps(rows[:-1]))
    main(["run", "--dataset", "esl", "--metric", "length", "--ratings", str(mine), "--out", str(made), "--draws", "0"])
    asked = ["rerun", str(made), "--out", str(tmp_path / "again")]
    assert main(asked) == 2
    assert "name their file with --ratings" in capsys.readouterr().err
    assert main([*asked, "--ratings", str(other)]) == 2
    assert "not the file of that run" in capsys.readouterr().err
    assert main([*asked, "--ratings", str(mine)]) == 0
    digest = files.read(tmp_path / "again" / "report").run.options["ratings sha256"]
    assert digest == hashlib.sha256(mine.read_bytes()).hexdigest()


@pytest.mark.parametrize(("command", "part"), [
    ("harness study measures", "was not made by `harness run`"), ("harness run --all --frob", "--frob"),
    ("harness run --all --out /elsewhere", "never writes there"), ("harness run --all --store x", "never writes there"),
    ("harness run --metric no-such-metric", "no metric"),
])
def test_a_command_that_cannot_be_repeated_is_refused(command: str, part: str, made: Path, tmp_path: Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    altered(made, command=command)
    assert main(["rerun", str(made), "--out", str(tmp_path / "again")]) == 2
    assert part in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def test_the_report_itself_is_not_written_over(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named in (made, made / "report"):
        assert main(["rerun", str(named), "--out", str(made)]) == 2
        assert "name another folder" in capsys.readouterr().err


def test_drift_row_by_row(made: Path) -> None:
    report = files.read(made / "report")
    first, second, *rest = report.correlations
    later = dataclasses.replace(report, correlations=(
        dataclasses.replace(first, value=first.value - 1e-9), dataclasses.replace(second, quality="new"), *rest))
    assert all(one.equal for one in differences.drifts(report, report)), "NaN is NaN"
    found = {one.table: one for one in differences.drifts(report, later)}
    told = found.pop("correlations")
    assert all(one.equal for one in found.values())
    assert (told.common, len(told.differ), len(told.gone), len(told.new)) == (len(report.correlations) - 1, 1, 1, 1)
    assert told.where == (first.dataset, first.quality, first.metric, first.column, first.statistic)
    assert told.largest == pytest.approx(1e-9, rel=1e-3)
    assert differences.drifts(report, later, 1e-6)[0].differ == ()
    gone = dataclasses.replace(report, correlations=(dataclasses.replace(first, value=math.nan), second, *rest))
    assert math.isnan(differences.drifts(report, gone, 10)[0].largest), "a number that is gone is no small difference"


def test_a_score_of_one_item_is_drift(made: Path) -> None:
    report = files.read(made / "report")
    points, *rest = report.points
    column = ("length", "length")
    values = points.scores[column].copy()
    values[3] += 0.5
    for later, largest in ((values, 0.5), (np.where(np.arange(25) == 3, np.nan, values), math.nan)):
        moved = dataclasses.replace(points, scores={**points.scores, column: later})
        found = differences.drifts(report, dataclasses.replace(report, points=(moved, *rest)))[-1]
        assert (found.table, found.differ, found.gone, found.new) == ("points", ((points.dataset, *column),), (), ())
        assert found.largest == pytest.approx(largest, nan_ok=True)
