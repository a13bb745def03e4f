"""Examples are the items on which people and metrics are furthest apart: worked out by hand on six items."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset, Quality, Rating
from harness.cli import main
from harness.results import files
from harness.results.rows import Correlation, Example
from harness.run import correlate, examples
from harness.scoring.score import Scores
from tests.conftest import make_card, make_item
from tests.suite_run import DATASETS, SuiteRun

OVERALL = Quality("Overall", 1, 6, "overall")
NAN = math.nan
ONE, TWO = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (6.0, 2.0, 3.0, 4.0, 5.0, 1.0)


def dataset(ratings: dict[Quality, tuple[float, ...]], texts: tuple[str, ...] = tuple("uvwxyz"),
            context: tuple[str, ...] = ("hello",)) -> Dataset:
    items = tuple(make_item(f"i{place}", text, context=context) for place, text in enumerate(texts))
    given = tuple(Rating(item.id, quality.name, () if math.isnan(value) else (value,))
                  for quality, values in ratings.items() for item, value in zip(items, values, strict=True))
    return Dataset(make_card(qualities=tuple(ratings), size=len(items)), items, given, "imported")


def found(given: Dataset, scores: dict[str, tuple[float, ...]], number: int = 2, metrics: str = "abc",
          agree: dict[str, float] | None = None, alone: bool = False) -> tuple[Example, ...]:
    """The examples by metrics of one column each, of which those in `metrics` are judges: of all, or of each alone."""
    judged = correlate.judged(given, given.card.qualities)
    scored = {(name.partition("@")[0], ""): Scores(tuple(item.id for item in given.items), {
        other: np.array(values) for other, values in scores.items() if other[0] == name[0]}, 0.0) for name in scores}
    made = correlate.item_scores(given, judged, scored)
    rows = [Correlation("toy", quality.name, name, name, "spearman", 6, value, 0, 0, 0)
            for quality in given.card.qualities for name, value in (agree or dict.fromkeys("abc", 0.5)).items()]
    return tuple(one for one in examples.find(given, judged, made, rows, set(metrics), number)
                 if bool(one.metric) == alone)


def test_examples_of_people_then_of_metrics_then_of_each_metric() -> None:
    """People rank 0 to 5; both metrics put the last item first and the first one last."""
    first, second = found(dataset({OVERALL: ONE}), {"a": TWO, "b": TWO, "c": ONE}, agree={"a": 0.1, "b": 0.3, "c": NAN})
    assert (first.item, first.people, first.metrics, first.rating, first.quality) == ("i5", 1.0, 0.0, 6.0, "Overall")
    assert (second.item, second.people, second.metrics) == ("i0", 0.0, 1.0)
    assert first.columns == (("b", 0.0), ("a", 0.0), ("c", 1.0)), "the best agreement first, one without a value last"
    assert (first.context, first.response, first.system, first.dataset) == (("hello",), "z", "bot", "toy")
    own = found(dataset({OVERALL: ONE}), {"a": TWO, "b": (1.0, 6.0, 3.0, 4.0, 5.0, 2.0)}, alone=True)
    assert [(one.metric, one.item, one.metrics, one.columns) for one in own] == [
        ("a", "i5", 0.0, ()), ("a", "i0", 1.0, ()), ("b", "i5", 0.2, ()), ("b", "i1", 1.0, ())]


def test_equals_share_a_place_and_the_missing_have_none() -> None:
    found = examples.scaled_ranks(np.array([2.0, NAN, 1.0, 2.0, 5.0]))
    assert found.tolist() == pytest.approx([0.5, NAN, 0.0, 0.5, 1.0], nan_ok=True)
    assert np.isnan(examples.scaled_ranks(np.array([3.0, 3.0, NAN]))).all(), "where no two differ there are no places"
    assert np.isnan(examples.scaled_ranks(np.array([3.0]))).all()


def test_who_has_places_and_judges() -> None:
    """Item 5 has no rating: the highest of the others has the place 1, and it is no example."""
    rows = found(dataset({OVERALL: (*ONE[:5], NAN)}), {"a": (*TWO[:5], 9.0)}, number=6)
    assert {row.item for row in rows} <= {"i0", "i1", "i2", "i3", "i4"}
    assert max(row.metrics for row in rows) == 1.0
    made = dataset({OVERALL: ONE})
    assert found(made, {"a": TWO}, metrics="") == (), "a control is no judge"
    assert found(made, {"a": (1.0,) * 6}) == (), "a constant has no places"
    (row, _) = found(made, {"a": TWO, "b": (1.0,) * 6, "c": ONE}, metrics="ab")
    assert (row.metrics, [name for name, _ in row.columns]) == (0.0, ["a"])
    (row, _) = found(made, {"a": ONE, "a@overall": TWO})
    assert (row.item, row.metrics) == ("i5", 0.0), "a column made for the quality is the one that counts"


def test_without_overall_it_is_the_mean_over_the_qualities() -> None:
    """Places 0, .2, ..., 1 on one quality and 1, .2, ..., 0 on the other: the first and the last have .5."""
    one, other = Quality("Fluent", 1, 6), Quality("Relevant", 1, 6)
    (row, *_) = found(dataset({one: ONE, other: TWO}), {"a": (9.0, 2.0, 3.0, 4.0, 5.0, -9.0)})
    assert (row.quality, row.item, row.people, row.metrics, row.rating) == ("all qualities", "i5", 0.5, 0.0, 3.5)
    (row, *_) = found(dataset({one: ONE, Quality("Relevant", 0, 9): TWO}), {"a": (9.0, 2.0, 3.0, 4.0, 5.0, -9.0)})
    assert math.isnan(row.rating), "ratings on two scales have no mean"
    (row, *_) = found(dataset({one: ONE, other: (2.0,) * 6}), {"a": TWO})
    assert row.quality == "Fluent", "the only quality that can be correlated"


def test_half_are_of_each_kind_without_repeated_responses() -> None:
    rows = found(dataset({OVERALL: ONE}, texts=("v", "v", "w", "x", "y", "y")), {"a": ONE[::-1]}, number=5)
    assert [row.item for row in rows] == ["i5", "i3", "i0", "i2"], "three and two were asked for, two and two differ"
    assert found(dataset({OVERALL: ONE}), {"a": TWO}, number=0) == ()
    long = dataset({OVERALL: ONE}, texts=(*"uvwxy", "z" * 400), context=("a", "b", "c", "d", "e" * 401))
    (row, _) = found(long, {"a": TWO})
    assert row.context == ("b", "c", "d", "e" * 399 + "…")
    assert row.response == "z" * 400


def test_a_run_keeps_the_requested_number_of_examples(tmp_path: Path, suite_run: SuiteRun) -> None:
    every = suite_run.results.examples
    assert [sum(example.dataset == name and not example.metric for example in every)
            for name in DATASETS] == [6, 6, 6, 6]
    argv = ["run", "--dataset", "esl", "--metric", "distinct", "--limit", "40", "--draws", "0", "--examples", "0"]
    assert main([*argv, "--out", str(tmp_path)]) == 0
    report = files.read(tmp_path / "report")
    assert (report.examples, report.run.options["examples"]) == ((), 0)
    content = b"".join(path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file())
    responses = [item.response.text for item in registry.sample(registry.card("esl")).items if item.response]
    assert not [text for text in responses if len(text) > 12 and text.encode() in content]
