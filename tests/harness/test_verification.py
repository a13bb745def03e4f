"""Recomputing bundles: forged bundles differ, and honest ones from another machine do not."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import bundle, verification
from harness.bundle import Bundle
from harness.results import files
from harness.results.differences import TableDifference, compare, key_of
from harness.results.entries import BoardId, fitted
from harness.results.rows import Results
from harness.run.rank import ranking
from harness.statistics.panel import Vector
from harness.verification import How
from tests.conftest import Invoke
from tests.suite_run import SuiteRun


def differences(results: Results, home: Path, how: How = "always") -> dict[str, TableDifference]:
    """Return the differences of each table of a bundle with these results."""
    recomputed = verification.recompute(Bundle("made", results), home, None, how, ())
    tables = compare(recomputed.before, recomputed.after, recomputed.tables, recomputed.tolerance)
    return {table.table: table for table in tables}


def packed(run: SuiteRun, home: Path, metric: str, change: Callable[[str, Vector], Vector]) -> Results:
    """Pack a metric with changed scores of each dataset, and with the correlations and boards of these scores."""
    results = bundle.bundle_of(run.results, [metric], "made").results
    points = [replace(table, scores={key: change(table.dataset, values) for key, values in table.scores.items()})
              for table in results.points]
    for _ in range(2):  # ranks follow from the values on the boards
        changed = Bundle("made", replace(results, points=points))
        recomputed = verification.recompute(changed, home, None, "never", ()).after
        rows = {key_of(row): row for row in (*results.ranking, *recomputed.ranking)}
        results = replace(results, correlations=recomputed.correlations, ranking=tuple(rows.values()))
    return replace(results, points=points)


def test_ties_broken_in_favour_of_raters_are_differences(suite_run: SuiteRun, home: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores differ by less than the tolerance, the correlations by far more, with or without a model."""
    ratings = {table.dataset: np.nanmean([means / np.nanmax(means) for means in table.human.values()], axis=0)
               for table in suite_run.results.points}
    forged = packed(suite_run, home, "distinct", lambda dataset, values: values + 0.0009 * ratings[dataset])
    assert all(table.equal for table in differences(forged, home, "never").values())
    for parts in ((), ("weights",)):
        monkeypatch.setattr(verification, "checkpoints", lambda _, parts=parts: parts)
        found = differences(forged, home)
        assert found["points"].equal
        assert max(difference.size for difference in found["correlations"].fields) > 0.2
        assert not found["ranking"].equal


def test_rounding_of_models_is_no_difference(suite_run: SuiteRun, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another machine, close scores of a model can swap; without a model, scores do not change."""
    def swapped(dataset: str, values: Vector) -> Vector:
        order, changed = np.argsort(values), values.copy()
        closest = int(np.diff(values[order]).argmin())
        changed[order[[closest, closest + 1]]] = values[order[[closest + 1, closest]]]
        return changed if dataset == "persona-usr" else values

    honest = packed(suite_run, home, "random", swapped)
    assert not differences(honest, home)["correlations"].equal
    monkeypatch.setattr(verification, "checkpoints", lambda _: ("weights",))
    assert all(table.equal for table in differences(honest, home).values())


def test_additional_statistics_are_recomputed(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    added = ("--statistic", "roc-auc", "--statistic", "spearman", "--level", "items", "--level", "within-contexts")
    invoke("run", "--data", "sample", "--dataset", "persona-usr", "--metric", "length", "--draws", "0",
           *added, "--out", tmp_path)
    results = bundle.bundle_of(files.read(tmp_path), (), "made").results
    assert {row.statistic for row in results.correlations} > {
        "roc-auc", "roc-auc within-contexts", "spearman within-contexts"}
    assert all(table.equal for table in differences(results, home).values())
    for named in (None, "roc-auc within-contexts", [["roc-auc"], 1, "unknown"]):
        run = replace(results.run, options={**results.run.options, "statistics": named})
        assert len(differences(replace(results, run=run), home)["correlations"].gone) == 18


def test_only_fitted_metrics_are_ranked_without_all_targets(suite_run: SuiteRun, home: Path) -> None:
    """The datasets are not available here, so that the ranks follow from the packed correlations."""
    report = suite_run.results
    datasets = [replace(entry, origin="imported") for entry in report.datasets]
    metrics = [replace(entry, learned_on=("fed-turn",)) for entry in report.metrics if entry.name == "distinct"]
    targets = frozenset((entry.name, quality.name) for entry in datasets if entry.split == "dev"
                        for quality in entry.qualities)
    rows = ranking(BoardId("dev"), "real", targets, report.correlations, fitted(metrics, datasets))
    honest = replace(bundle.bundle_of(report, ["distinct"], "made").results, datasets=datasets, metrics=metrics,
                     ranking=tuple(rows), points=())
    assert any(row.metric == "distinct" and row.rank and row.covered < row.targets for row in honest.ranking)
    assert all(table.equal for table in differences(honest, home).values())
    kept = [row for row in honest.correlations if row.dataset != "fed-turn"]
    forged = replace(honest, metrics=[replace(metrics[0], learned_on=())], correlations=kept)
    found = differences(forged, home)["ranking"].fields
    assert {(change.field, str(change.after)) for change in found} == {("value", "nan"), ("rank", "None")}
    forged = replace(honest, correlations=[row for row in kept if row.dataset != "persona-usr"])
    assert {change.field for change in differences(forged, home)["ranking"].fields} == {"value", "rank", "covered"}


def test_corrected_correlations_and_cards_are_recomputed(suite_run: SuiteRun, home: Path) -> None:
    results = bundle.bundle_of(suite_run.results, ["bleu"], "made").results
    correlations = [replace(row, corrected=row.corrected + 0.1) for row in results.correlations]
    known = sum(math.isfinite(row.corrected) for row in correlations)
    metrics = [replace(entry, title="Best", system="inspired", family="control") for entry in results.metrics]
    for how in ("auto", "never"):
        found = differences(replace(results, correlations=correlations, metrics=metrics), home, how)
        assert [change.field for change in found["correlations"].fields] == ["corrected"] * known
        assert {change.field for change in found["metrics"].fields} == {"title", "system", "family"}
    plain = [replace(row, corrected=math.nan) for row in results.correlations]
    assert differences(replace(results, correlations=plain), home)["correlations"].equal
