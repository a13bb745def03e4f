"""A report and its item scores read back as they were written, in the same bytes each time."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.dataset import Dataset, Quality, Rating
from harness.errors import BadReport
from harness.results import files, rows
from harness.results import item_scores as points
from harness.results import rows as results
from harness.results.rows import ItemScores
from harness.run import correlate
from harness.scoring.score import Scores
from tests.comparisons import gathered
from tests.conftest import make_card, make_dataset, make_item


def whole(report: results.Results) -> str:
    """All rows as text, because NaN is not equal to itself."""
    return repr(dataclasses.replace(report, comparisons=[row for part in report.comparisons for row in part]))


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
    assert whole(files.read(tmp_path / "a")) == whole(small())
    for path in (path for path in (tmp_path / "a").rglob("*") if path.is_file()):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
    table = pq.read_table(tmp_path / "a" / "comparisons.parquet")
    assert table.to_pylist() == [dataclasses.asdict(row) for own in small().comparisons for row in own]
    assert table.schema.field("better").type == "string"


def test_tables_are_read_on_first_use_and_checked_by_digest(tmp_path: Path) -> None:
    files.write(small(), tmp_path / "a")
    other = dataclasses.replace(small(), correlations=small().correlations[1:])
    files.write(other, tmp_path / "b")
    (tmp_path / "a" / "correlations.parquet").write_bytes((tmp_path / "b" / "correlations.parquet").read_bytes())
    with pytest.raises(BadReport, match=r"correlations\.parquet is not the file"):
        whole(files.read(tmp_path / "a"))
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


HOSTILE = ("<script>alert('x')</script>", "../../etc/passwd", "a\x00b", "‮gnp.exe", "score:0", "", "n" * 10_000, "naïve")


def scored(name: str = "toy", names: tuple[str, ...] = ("q",), **more: object) -> ItemScores:
    values = np.array([1.5, np.nan, -3])
    given: dict[str, object] = {
        "dataset": name, "items": ("a", "b", "c"), "systems": ("x", "", "x"), "words": np.array([3, 0, 12]),
        "contexts": np.array([0, 0, 1]), "human": {one: values + place for place, one in enumerate(names)},
        "scores": {("m", one): values * place for place, one in enumerate(names)}, **more}
    return ItemScores(**given)  # type: ignore[arg-type]


def same(one: ItemScores, other: ItemScores) -> None:
    """Equal in every field, and in the types of what numbers are in."""
    assert (one.dataset, one.items, one.systems) == (other.dataset, other.items, other.systems)
    assert one.words.dtype == other.words.dtype == np.int64
    np.testing.assert_array_equal(one.words, other.words)
    np.testing.assert_array_equal(one.contexts, other.contexts)
    np.testing.assert_array_equal(one.conversations, other.conversations)
    for given, found in ((one.human, other.human), (one.scores, other.scores)):
        assert list(given) == list(found)
        for name, values in given.items():
            assert values.dtype == found[name].dtype == np.float64
            np.testing.assert_array_equal(values, found[name])


def report(*given: ItemScores) -> rows.Results:
    run = rows.Run("1", None, 0, "auto", {}, "3", "linux", {})
    return rows.Results(run, (), (), (), (), points=given)


def test_hostile_names_read_back_and_file_names_are_safe() -> None:
    given = scored("<b>", HOSTILE, items=HOSTILE[:3], conversations=np.array([0, 0, 0]))
    same(points.unpacked(points.packed(given)), given)
    none = np.zeros(0, dtype=np.int64)
    bare = scored(items=(), systems=(), words=none, contexts=none, human={}, scores={})
    same(points.unpacked(points.packed(bare)), bare)
    names = ("fed-turn", "Fed-Turn", "fed turn", "fed.turn", *HOSTILE)
    found = [points.slug(name) for name in names]
    assert found[0] == "fed-turn"
    assert len({name.casefold() for name in found}) == len(names)
    assert all(name.isascii() and name.replace("-", "").replace(".", "").replace("_", "").isalnum() and len(name) < 90
               for name in found)


def test_item_scores_are_joined_by_id_with_columns_per_quality() -> None:
    qualities = (Quality("Overall", 1, 5, "overall"), Quality("Fluent", 1, 5))
    items = (make_item("b", "two words"), dataclasses.replace(make_item("a", "Well, that's three."), system=None))
    ratings = (Rating("a", "Overall", (1.0, 2.0)), Rating("b", "Fluent", (4.0,)))
    dataset = Dataset(make_card(qualities=qualities, size=2), items, ratings, "imported")
    scores = Scores(("a", "b"), {"m": np.array([1.0, 1e300]), "m@overall": np.array([3.0, np.nan]),
                                 "m:sum": np.array([5.0, 6.0])}, 0.1)
    judged = correlate.judged(dataset, qualities)
    found = correlate.item_scores(dataset, judged, {("m[x=1]", "[x=1]"): scores})
    assert (found.items, found.systems, found.words.tolist()) == (("b", "a"), ("bot", ""), [2, 3])
    assert list(found.scores) == [("m[x=1]", "m[x=1]"), ("m[x=1]", "m[x=1]@overall")]
    assert found.scores["m[x=1]", "m[x=1]"].tolist() == [1e300, 1.0]
    np.testing.assert_array_equal(found.scores["m[x=1]", "m[x=1]@overall"], [np.nan, 3.0])
    np.testing.assert_array_equal(found.human["Overall"], [np.nan, 1.5])
    np.testing.assert_array_equal(found.human["Fluent"], [4.0, np.nan])
    for cell in correlate.targets(found, judged):
        own = found.scores.get(("m[x=1]", f"m[x=1]@{cell.judged.quality.dimension}"), found.scores["m[x=1]", "m[x=1]"])
        np.testing.assert_array_equal(own, cell.scores[0])


def test_words_of_a_dialogue_are_those_of_all_its_turns() -> None:
    item = make_item("d", None, context=("one two", "three", "four five six"))
    dataset = Dataset(make_card(level="dialogue", size=1), (item,), (), "imported")
    assert correlate.item_scores(dataset, (), {}).words.tolist() == [6]
    assert correlate.item_scores(make_dataset(["", "?"], [(1.0,), (2.0,)]), (), {}).words.tolist() == [0, 0]


def test_a_report_keeps_the_item_scores_of_its_run_only(tmp_path: Path) -> None:
    files.write(report(scored("a"), scored("b c")), tmp_path)
    for given, found in zip((scored("a"), scored("b c")), files.read(tmp_path).points, strict=True):
        same(given, found)
    files.write(report(scored("b c")), tmp_path)
    assert [path.stem for path in (tmp_path / "points").iterdir()] == [points.slug("b c")]
    assert [one.dataset for one in files.read(tmp_path).points] == ["b c"]
