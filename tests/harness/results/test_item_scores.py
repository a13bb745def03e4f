"""ItemScores read back as they were written, whatever the names; a report keeps those of its own run alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from benchmarks.dataset import Dataset, Quality, Rating
from harness.results import files, rows
from harness.results import item_scores as points
from harness.results.rows import ItemScores
from harness.run import correlate
from harness.scoring.score import Scores
from tests.conftest import make_card, make_dataset, make_item

HOSTILE = ("<script>alert('x')</script>", "../../etc/passwd", "a\x00b", "‮gnp.exe", "score:0", "", "n" * 10_000, "naïve")


def made(name: str = "toy", names: tuple[str, ...] = ("q",), **more: object) -> ItemScores:
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


def test_hostile_names_read_back_as_they_were() -> None:
    given = made("<b>", HOSTILE, items=HOSTILE[:3], conversations=np.array([0, 0, 0]))
    same(points.unpacked(points.packed(given)), given)
    bare = made(items=(), systems=(), words=np.zeros(0, dtype=np.int64), contexts=np.zeros(0, dtype=np.int64), human={},
                scores={})
    same(points.unpacked(points.packed(bare)), bare)


def test_file_names_are_safe_and_distinct() -> None:
    names = ("fed-turn", "Fed-Turn", "fed turn", "fed.turn", *HOSTILE)
    found = [points.slug(name) for name in names]
    assert found[0] == "fed-turn"
    assert len({name.casefold() for name in found}) == len(names)
    assert all(name.isascii() and name.replace("-", "").replace(".", "").replace("_", "").isalnum() and len(name) < 90
               for name in found)


def test_points_have_every_column_as_a_cell_has_it() -> None:
    """Items are joined by id; a column for a quality stands beside the plain one, as it is used for its cells."""
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


def test_a_report_keeps_the_points_of_its_run_alone(tmp_path: Path) -> None:
    files.write(report(made("a"), made("b c")), tmp_path)
    for given, found in zip((made("a"), made("b c")), files.read(tmp_path).points, strict=True):
        same(given, found)
    files.write(report(made("b c")), tmp_path)
    assert [path.stem for path in (tmp_path / "points").iterdir()] == [points.slug("b c")]
    assert [one.dataset for one in files.read(tmp_path).points] == ["b c"]
