"""A report reads back as it was written, in the same bytes each time."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.errors import BadReport
from harness.results import files
from harness.results import rows as results
from tests.comparisons import gathered


def whole(report: results.Results) -> str:
    """Everything of it, read."""
    return repr(report)


def small() -> results.Results:
    nan = math.nan
    return results.Results(
        run=results.Run("1", None, 0, "auto", {"data": "auto"}, "3", "linux", {"numpy": "2"}),
        datasets=(results.DatasetEntry("a", "A", "dev", "turn", "imported", "f", 2, 2,
                                       (results.QualityEntry("q", "q", None, 5.0, 2),), "l", "c"),),
        metrics=(results.MetricEntry("m", "M", "toy", ("m",), (), ("turn",), "", "item", "", "m|r1"),),
        correlations=(results.Correlation("a", "q", "m", "m", "spearman", 2, nan, nan, nan, nan, "2 rows"),
                    results.Correlation("a", "q", "m", "m", "pearson", 9, 0.1, 0.2, -0.3, 0.4)),
        ranking=(results.RankingRow("dev", "real", "dev", "spearman", "m", "m", nan, None, 0, 1, letters="ab"),
                   results.RankingRow("dev", "real", "dev", "pearson", "m", "m", 0.1, 1, 1, 1)),
        comparisons=gathered(
            results.Comparison("a", "q", statistic, "williams", better, worse, 9, 0.1, 2.5, 0.01, 0.03, 0.02)
            for statistic in ("spearman", "pearson") for better, worse in (("m", "o"), ("p", "m"), ("o", "p"))),
        skips=(results.Skip("a", "n", "why"),), failures=(results.Failure("a", "o", "how"),),
        timings=(results.Timing("a", "m", 2, 0.5),),
        examples=(results.Example("a", "q", "i", "", ("hi",), "ho", nan, 1.0, 0.0, (("m", 0.0),)),),
        points=(results.ItemScores("a", ("i", "j"), ("", "bot"), np.array([1, 2]), np.array([0, 0]),
                 {"q": np.array([nan, 5])},
                               {("m", "m"): np.array([0.1, nan])}),))


def test_a_report_reads_back_from_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in "ab":
        files.write(small(), tmp_path / name)
    assert repr(files.read(tmp_path / "a")) == repr(small())  # repr, because NaN is not itself
    for path in (path for path in (tmp_path / "a").rglob("*") if path.is_file()):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
    table = pq.read_table(tmp_path / "a" / "comparisons.parquet")
    assert table.to_pylist() == [dataclasses.asdict(row) for own in small().comparisons for row in own]
    assert table.schema.field("better").type == "string"


def test_tables_of_another_run_are_noticed(tmp_path: Path) -> None:
    files.write(small(), tmp_path / "a")
    other = dataclasses.replace(small(), correlations=small().correlations[1:])
    files.write(other, tmp_path / "b")
    (tmp_path / "a" / "correlations.parquet").write_bytes((tmp_path / "b" / "correlations.parquet").read_bytes())
    with pytest.raises(BadReport, match=r"correlations\.parquet is not the file"):
        whole(files.read(tmp_path / "a"))


def test_a_table_is_read_when_its_rows_are_asked_for(tmp_path: Path) -> None:
    files.write(small(), tmp_path)
    (tmp_path / "comparisons.parquet").unlink()
    report = files.read(tmp_path)
    assert repr(report.ranking) == repr(small().ranking)
    with pytest.raises(BadReport, match=r"comparisons\.parquet is missing"):
        len(report.comparisons)


def test_a_damaged_report_is_refused_in_one_line(tmp_path: Path) -> None:
    files.write(small(), tmp_path)
    for name, content in (("ranking.parquet", b"PAR1"), ("points/a.parquet", b""), ("report.json", b'{"run": {}}'),
                          ("report.json", b"{"), ("report.json", None),
                          ("report.json", b'{"schema": 99}')):
        path = tmp_path / name
        before = path.read_bytes()
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(BadReport, match=path.name) as caught:
            whole(files.read(tmp_path))
        assert "harness run" in str(caught.value)
        path.write_bytes(before)
    files.read(tmp_path)
    for lost in ("columns", "signature"):
        head = json.loads((tmp_path / "report.json").read_text())
        del head["metrics"][0][lost]
        (tmp_path / "report.json").write_text(json.dumps(head))
        with pytest.raises(BadReport, match=lost):
            files.read(tmp_path)
        files.write(small(), tmp_path)
