"""Leads over all targets of a board, in sentences."""

from dataclasses import replace

from harness.commands._comparisons import Selection, pooled
from harness.results.rows import Results
from tests.suite_run import SuiteRun

LENGTH, RANDOM = ("length", "length"), ("random", "random")


def leads(results: Results, sign: int = 1) -> list[str]:
    """Return the leads of two columns, whose correlations are all of one sign."""
    rows = tuple(replace(row, value=sign * abs(row.value)) for row in results.correlations
                 if (row.metric, row.column) in (LENGTH, RANDOM))
    targets = frozenset((row.dataset, row.quality) for row in rows)
    return [sentence for sentence, _ in pooled(Selection(replace(results, correlations=rows), targets))]


def test_columns_with_the_same_scores_have_no_lead(suite_run: SuiteRun) -> None:
    same = tuple(replace(points, scores={**points.scores, RANDOM: points.scores[LENGTH]})
                 for points in suite_run.results.points)
    assert leads(suite_run.results)
    assert leads(replace(suite_run.results, points=same)) == []


def test_negative_means_are_no_agreement(suite_run: SuiteRun) -> None:
    sentences = leads(suite_run.results, -1)
    assert sentences
    assert all("none agrees with people" in sentence and " leads " not in sentence for sentence in sentences)
    assert not any("none agrees" in sentence for sentence in leads(suite_run.results))
