"""Examples are the items on which people and metrics disagree most: worked out by hand on six items."""

import math
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset, Quality, Rating
from harness.results import files
from harness.results.rows import Correlation, Example
from harness.run import correlate, examples
from harness.scoring.score import Scores
from tests.conftest import Invoke, make_card, make_item
from tests.suite_run import DATASETS, SuiteRun

OVERALL = Quality("Overall", 1, 6, "overall")
NAN = math.nan
UP, TURNED = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (6.0, 2.0, 3.0, 4.0, 5.0, 1.0)


def dataset(ratings: dict[Quality, tuple[float, ...]], texts: tuple[str, ...] = tuple("uvwxyz"),
            context: tuple[str, ...] = ("hello",)) -> Dataset:
    items = tuple(make_item(f"i{index}", text, context=context) for index, text in enumerate(texts))
    votes = tuple(Rating(item.id, quality.name, () if math.isnan(value) else (value,))
                  for quality, values in ratings.items() for item, value in zip(items, values, strict=True))
    return Dataset(make_card(qualities=tuple(ratings), size=len(items)), items, votes, "imported")


def chosen(data: Dataset, scores: dict[str, tuple[float, ...]], number: int = 2, metrics: str = "abc",
           correlations: dict[str, float] | None = None, single: bool = False) -> tuple[Example, ...]:
    """Return the examples by metrics of one column each; those in `metrics` are judges, together or one by one."""
    judged = correlate.judged(data, data.card.qualities)
    scored = {(name[0], ""): Scores(tuple(item.id for item in data.items), {
        column: np.array(values) for column, values in scores.items() if column[0] == name[0]}, 0.0) for name in scores}
    rows = [Correlation("toy", quality.name, name, name, "spearman", 6, value, 0, 0, 0)
            for quality in data.card.qualities for name, value in (correlations or dict.fromkeys("abc", 0.5)).items()]
    points = correlate.item_scores(data, judged, scored)
    return tuple(example for example in examples.find(data, judged, points, rows, set(metrics), number)
                 if bool(example.metric) == single)


def test_examples_are_preferred_by_people_then_by_metrics() -> None:
    """People rank 0 to 5; both metrics put the last item first and the first one last."""
    first, second = chosen(dataset({OVERALL: UP}), {"a": TURNED, "b": TURNED, "c": UP},
                           correlations={"a": 0.1, "b": 0.3, "c": NAN})
    assert (first.item, first.people, first.metrics, first.rating, first.quality) == ("i5", 1.0, 0.0, 6.0, "Overall")
    assert (second.item, second.people, second.metrics) == ("i0", 0.0, 1.0)
    assert first.columns == (("b", 0.0), ("a", 0.0), ("c", 1.0)), "by correlation, a missing one last"
    assert (first.context, first.response, first.system, first.dataset) == (("hello",), "z", "bot", "toy")
    rows = chosen(dataset({OVERALL: UP}), {"a": TURNED, "b": (1.0, 6.0, 3.0, 4.0, 5.0, 2.0)}, single=True)
    assert [(row.metric, row.item, row.metrics, row.columns) for row in rows] == [
        ("a", "i5", 0.0, ()), ("a", "i0", 1.0, ()), ("b", "i5", 0.2, ()), ("b", "i1", 1.0, ())]


def test_rated_items_and_metrics_that_vary_are_ranked() -> None:
    """Item 5 has no rating: the highest of the others has rank 1, and item 5 is not an example."""
    rows = chosen(dataset({OVERALL: (*UP[:5], NAN)}), {"a": (*TURNED[:5], 9.0)}, number=6)
    assert {row.item for row in rows} <= {"i0", "i1", "i2", "i3", "i4"}
    assert max(row.metrics for row in rows) == 1.0
    data = dataset({OVERALL: UP})
    assert chosen(data, {"a": TURNED}, metrics="") == (), "a control is no judge"
    assert chosen(data, {"a": (1.0,) * 6}) == (), "a constant has no ranks"
    (row, _) = chosen(data, {"a": TURNED, "b": (1.0,) * 6, "c": UP}, metrics="ab")
    assert (row.metrics, [name for name, _ in row.columns]) == (0.0, ["a"])
    (row, _) = chosen(data, {"a": UP, "a@overall": TURNED})
    assert (row.item, row.metrics) == ("i5", 0.0), "a column made for the quality counts"


def test_without_overall_the_mean_over_qualities_is_ranked() -> None:
    """Ranks 0, .2, ..., 1 on one quality and 1, .2, ..., 0 on the other: the first and the last have .5."""
    fluent, relevant = Quality("Fluent", 1, 6), Quality("Relevant", 1, 6)
    scores = {"a": (9.0, 2.0, 3.0, 4.0, 5.0, -9.0)}
    (row, *_) = chosen(dataset({fluent: UP, relevant: TURNED}), scores)
    assert (row.quality, row.item, row.people, row.metrics, row.rating) == ("all qualities", "i5", 0.5, 0.0, 3.5)
    (row, *_) = chosen(dataset({fluent: UP, Quality("Relevant", 0, 9): TURNED}), scores)
    assert math.isnan(row.rating), "ratings on two scales have no mean"
    (row, *_) = chosen(dataset({fluent: UP, relevant: (2.0,) * 6}), {"a": TURNED})
    assert row.quality == "Fluent", "the only quality that can be correlated"


def test_both_kinds_are_shown_without_repeated_responses() -> None:
    rows = chosen(dataset({OVERALL: UP}, texts=("v", "v", "w", "x", "y", "y")), {"a": UP[::-1]}, number=5)
    assert [row.item for row in rows] == ["i5", "i3", "i0", "i2"], "three and two were requested, two and two differ"
    assert chosen(dataset({OVERALL: UP}), {"a": TURNED}, number=0) == ()
    (row, _) = chosen(dataset({OVERALL: UP}, texts=(*"uvwxy", "z" * 400), context=("a", "b", "c", "d", "e" * 401)),
                      {"a": TURNED})
    assert (row.context, row.response) == (("b", "c", "d", "e" * 399 + "…"), "z" * 400)


def test_a_run_keeps_the_requested_number_of_examples(tmp_path: Path, suite_run: SuiteRun, invoke: Invoke) -> None:
    kept = Counter(example.dataset for example in suite_run.results.examples if not example.metric)
    assert kept == dict.fromkeys(DATASETS, 6)
    invoke("run", "--dataset", "esl", "--metric", "distinct", "--limit", "40", "--draws", "0", "--examples", "0",
           "--out", tmp_path)
    report = files.read(tmp_path / "report")
    assert (report.examples, report.run.options["examples"]) == ((), 0)
    content = b"".join(path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file())
    responses = [item.response.text for item in registry.sample(registry.card("esl")).items if item.response]
    assert not [text for text in responses if len(text) > 12 and text.encode() in content]
