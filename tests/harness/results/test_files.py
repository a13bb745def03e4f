"""A report and its item scores read back as written, and are written with the same bytes each time."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.dataset import Dataset, Quality, Rating
from harness.errors import BadReport
from harness.results import entries, files, item_scores, rows
from harness.results.rows import ItemScores, Results
from harness.run import correlate
from harness.scoring.score import Scores
from tests.conftest import make_card, make_dataset, make_item, refused

HOSTILE = ("<script>alert('x')</script>", "../../etc/passwd", "a\x00b", "‮gnp.exe", "score:0", "", "n" * 10_000, "naïve")
NONE = np.zeros(0, dtype=np.int64)


def scored(name: str = "toy", names: tuple[str, ...] = ("q",), **more: object) -> ItemScores:
    values = np.array([1.5, np.nan, -3])
    fields: dict[str, object] = {
        "dataset": name, "items": ("a", "b", "c"), "systems": ("x", "", "x"), "words": np.array([3, 0, 12]),
        "contexts": np.array([0, 0, 1]), "human": {name: values + number for number, name in enumerate(names)},
        "scores": {("m", name): values * number for number, name in enumerate(names)}, **more}
    return ItemScores(**fields)  # type: ignore[arg-type]


def small() -> Results:
    nan, pairs, p = math.nan, (np.array([0, 2, 1]), np.array([1, 0, 2])), np.array([0.01, 0.03, 0.02])
    return Results(
        run=rows.Run("1", None, 0, "auto", {"data": "auto"}, "3", "linux", {"numpy": "2"}),
        datasets=(entries.DatasetEntry("a", "A", "dev", "turn", "imported", "f", 2, 2,
                                    (entries.QualityEntry("q", "q", None, 5.0, 2),), "l", "c"),),
        metrics=(entries.MetricEntry("m", "M", "toy", ("m",), ("turn",), {"metric": "m"}),),
        correlations=(rows.Correlation("a", "q", "m", "m", "spearman", 2, nan, nan, nan, nan, "2 rows"),
                      rows.Correlation("a", "q", "m", "m", "pearson", 9, 0.1, 0.2, -0.3, 0.4)),
        ranking=(rows.RankingRow("dev", "real", "dev", "spearman", "m", "m", nan, None, 0, 1, letters="ab"),
                 rows.RankingRow("dev", "real", "dev", "pearson", "m", "m", 0.1, 1, 1, 1)),
        comparisons=tuple(rows.Comparisons("a", "q", statistic, "williams", ("m", "o", "p"), *pairs,
                                           np.array([9, 9, 8]), p * 2, p * 3, p, p, p)
                          for statistic in ("spearman", "pearson")),
        skips=(rows.Skip("a", "n", "why"),), failures=(rows.Failure("a", "o", "how"),),
        timings=(rows.Timing("a", "m", 2, 0.5),),
        examples=(rows.Example("a", "q", "i", "", ("hi",), "ho", nan, 1.0, 0.0, (("m", 0.0),)),),
        points=(scored("a"), scored("b c", HOSTILE, conversations=np.array([0, 0, 1]))))


def whole(report: Results) -> str:
    """Return all rows as text, because NaN is not equal to itself."""
    return repr(dataclasses.replace(report, comparisons=[row for part in report.comparisons for row in part]))


def test_a_report_reads_back_from_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in "ab":
        files.write(small(), tmp_path / name)
    assert whole(files.read(tmp_path / "a")) == whole(small())
    for path in (path for path in (tmp_path / "a").rglob("*") if path.is_file()):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
    table = pq.read_table(tmp_path / "a" / "comparisons.parquet")
    assert table.to_pylist() == [dataclasses.asdict(row) for part in small().comparisons for row in part]
    assert table.schema.field("better").type == "string"
    files.write(dataclasses.replace(small(), points=small().points[1:]), tmp_path / "a")
    assert [path.stem for path in (tmp_path / "a" / "points").iterdir()] == [item_scores.slug("b c")]


def test_tables_are_read_on_first_use_and_checked_by_digest(tmp_path: Path) -> None:
    other = tmp_path / "other"
    files.write(small(), tmp_path)
    files.write(dataclasses.replace(small(), correlations=small().correlations[1:]), other)
    (other / "correlations.parquet").replace(tmp_path / "correlations.parquet")
    (tmp_path / "comparisons.parquet").unlink()
    report = files.read(tmp_path)
    assert repr(report.ranking) == repr(small().ranking)
    for name in ("correlations", "comparisons"):  # of another report, and missing
        with pytest.raises(BadReport, match=rf"{name}\.parquet"):
            len(getattr(report, name))


def test_a_damaged_report_is_refused_in_one_line(tmp_path: Path) -> None:
    def without(field: str) -> bytes:
        head = json.loads((tmp_path / "report.json").read_text())
        del head["metrics"][0][field]
        return json.dumps(head).encode()

    files.write(small(), tmp_path)
    for name, content, part in (
            ("ranking.parquet", b"PAR1", "ranking.parquet"), ("points/a.parquet", b"", "a.parquet"),
            *(("report.json", content, "report.json") for content in (b'{"run": {}}', b"{", None, b'{"schema": 99}')),
            ("report.json", without("columns"), "columns"), ("report.json", without("signature"), "signature")):
        before = (path := tmp_path / name).read_bytes()
        path.unlink() if content is None else path.write_bytes(content)
        with refused(BadReport, part, "harness run"):
            whole(files.read(tmp_path))
        path.write_bytes(before)


def test_hostile_names_read_back_and_file_names_are_safe() -> None:
    for points in (scored("<b>", HOSTILE, items=HOSTILE[:3], conversations=np.array([0, 0, 0])),
                   scored(items=(), systems=(), words=NONE, contexts=NONE, human={}, scores={})):
        assert repr(item_scores.from_parquet(item_scores.to_parquet(points))) == repr(points)
    names = ("fed-turn", "Fed-Turn", "fed turn", "fed.turn", *HOSTILE)
    slugs = [item_scores.slug(name) for name in names]
    assert slugs[0] == "fed-turn"
    assert len({name.casefold() for name in slugs}) == len(names)
    assert all(name.isascii() and name.replace("-", "").replace(".", "").replace("_", "").isalnum() and len(name) < 90
               for name in slugs)


def test_item_scores_are_joined_by_id_with_columns_per_quality() -> None:
    qualities = (Quality("Overall", 1, 5, "overall"), Quality("Fluent", 1, 5))
    items = (make_item("b", "two words"), dataclasses.replace(make_item("a", "Well, that's three."), system=None))
    ratings = (Rating("a", "Overall", (1.0, 2.0)), Rating("b", "Fluent", (4.0,)))
    dataset = Dataset(make_card(qualities=qualities, size=2), items, ratings, "imported")
    scores = Scores(("a", "b"), {"m": np.array([1.0, 1e300]), "m@overall": np.array([3.0, np.nan]),
                                 "m:sum": np.array([5.0, 6.0])}, 0.1)
    judged = correlate.judged(dataset, qualities)
    points = correlate.item_scores(dataset, judged, {("m[x=1]", "[x=1]"): scores})
    assert (points.items, points.systems, points.words.tolist()) == (("b", "a"), ("bot", ""), [2, 3])
    whole_column, overall = ("m[x=1]", "m[x=1]"), ("m[x=1]", "m[x=1]@overall")
    np.testing.assert_equal(points.scores, {whole_column: [1e300, 1.0], overall: [np.nan, 3.0]})
    assert list(points.scores) == [whole_column, overall]
    np.testing.assert_equal(points.human, {"Overall": [np.nan, 1.5], "Fluent": [4.0, np.nan]})
    for target, column in zip(correlate.targets(points, judged), (overall, whole_column), strict=True):
        np.testing.assert_array_equal(points.scores[column], target.scores[0])


def test_words_of_a_dialogue_are_those_of_all_its_turns() -> None:
    item = make_item("d", None, context=("one two", "three", "four five six"))
    dataset = Dataset(make_card(level="dialogue", size=1), (item,), (), "imported")
    assert correlate.item_scores(dataset, (), {}).words.tolist() == [6]
    assert correlate.item_scores(make_dataset(["", "?"], [(1.0,), (2.0,)]), (), {}).words.tolist() == [0, 0]
