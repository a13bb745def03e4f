"""Leads over all targets of a board, in sentences."""

import re
from dataclasses import replace

from harness.commands._comparisons import Selection, pooled
from harness.results.rows import Results
from tests.suite_run import SuiteRun

LENGTH, RANDOM = ("length", "length"), ("random", "random")


def leads(results: Results, sign: int = 1, reach: float = 0.0) -> list[str]:
    """Return the leads of two columns, whose correlations are all of one sign, with half of their intervals."""
    rows = tuple(replace(row, value=value, low=value - reach) for row in results.correlations
                 if (row.metric, row.column) in (LENGTH, RANDOM) and (value := sign * abs(row.value)))
    ranking = tuple(replace(row, value=sign * abs(row.value), error=reach / 1.96) for row in results.ranking)
    targets = frozenset((row.dataset, row.quality) for row in rows)
    return [sentence for sentence, _ in pooled(Selection(
        replace(results, correlations=rows, ranking=ranking), targets))]


def test_columns_with_the_same_scores_have_no_lead(suite_run: SuiteRun) -> None:
    same = tuple(replace(points, scores={**points.scores, RANDOM: points.scores[LENGTH]})
                 for points in suite_run.results.points)
    difference = r"by 0\.\d{3} \[-?0\.\d{3}, 0\.\d{3}\], p [<=] 0\.\d{3}: .*; it reaches \d+ % of the limit"
    assert re.search(difference, "\n".join(leads(suite_run.results)))
    assert leads(replace(suite_run.results, points=same)) == []


def test_means_that_are_not_clearly_positive_are_no_agreement(suite_run: SuiteRun) -> None:
    for sentences in (leads(suite_run.results, -1), leads(suite_run.results, 1, 1.0)):
        assert any("qualities of" in sentence for sentence in sentences)
        assert any("qualities of" not in sentence for sentence in sentences)
        assert all("none agrees with people" in sentence and " leads " not in sentence for sentence in sentences)
    assert not any("none agrees" in sentence for sentence in leads(suite_run.results))
