"""Any statistic at any level, and any test of two columns, from the item scores of results, without running metrics.

`harness report --statistic X --level Y --test Z` prints the statistic or the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import BadConfig
from harness.results.entries import fitted
from harness.results.item_scores import labels
from harness.results.rows import ColumnKey, Comparisons, Correlation, Reliability, Results
from harness.run import compare, correlate
from harness.run.compare import adjust_tests, contributions, generator
from harness.run.correlate import TargetData
from harness.statistics import wmt25
from harness.statistics.bootstrap import QUICK, bootstrap, paired_bootstrap
from harness.statistics.estimates import at_level, full_name
from harness.statistics.panel import Array, Statistic
from harness.statistics.permutation import all_pairs_by_permutation
from harness.statistics.williams import FORMULAS, all_pairs_by_context, all_pairs_by_formula

ANALYTIC = ("spearman", "pearson", "kendall")
"""Statistics whose differences have an analytic test."""
RANDOM_COLUMNS = 5
CHANCE: Sequence[ColumnKey] = (("chance", "constant"), *[("chance", "random numbers")] * RANDOM_COLUMNS)
"""Columns at chance level, shown with every accuracy."""
ACCURACIES = ("pairwise-accuracy", "soft-pairwise-accuracy")


@dataclass(frozen=True, slots=True)
class Request:
    """A statistic at a level, with the number of draws for an interval or test; `one_sided` applies to PERM-BOTH."""

    statistic: str = "spearman"
    level: str = "items"
    draws: int = 0
    seed: int = 0
    one_sided: bool = False

    @property
    def name(self) -> str:
        return full_name(self.statistic, self.level)

    @property
    def resampled(self) -> str | Statistic:
        """The statistic as the bootstrap expects it: its name if it is computed for all columns at once."""
        vectorised = self.statistic in QUICK and self.level == "items"
        return self.statistic if vectorised else at_level(self.statistic, self.level)


def correlations(
        target: TargetData, request: Request, reliability: Iterable[Reliability] = ()) -> Iterator[Correlation]:
    """Yield the requested statistic of every column of a target, with a bootstrap interval if the request has draws."""
    agreement = [row for row in reliability if (row.dataset, row.quality) == target.key]
    for index, row in enumerate(correlate.correlations(target, [(request.statistic, request.level)], agreement)):
        if request.draws and not row.note:
            rng = generator(request.seed, *target.key)
            low, high = bootstrap(target.panel(index), request.resampled, rng, request.draws)
            row = replace(row, low=low, high=high)
        yield row


def comparisons(target: TargetData, request: Request, test: str, fitted_here: Collection[str] = ()) -> Comparisons:
    """Compare every pair of columns of a target, without metrics that were fitted on its ratings."""
    fitted_mask = np.array([metric in fitted_here for metric, _ in target.names])
    human, scores = target.judged.means, np.where(fitted_mask[:, None], np.nan, target.scores)
    rng, permutations = generator(request.seed, *target.key), 0
    if test == "perm-both" and isinstance(request.resampled, str):
        parts = contributions(target, request.seed, request.draws, fitted_here, request.statistic)
        return compare.comparisons(target, parts, request.statistic, one_sided=request.one_sided)
    if test == "bootstrap":
        tests = paired_bootstrap(target.people, scores, request.resampled, rng, request.draws)
    elif test.startswith("perm-both"):
        permutations = request.draws
        tests = all_pairs_by_permutation(target.people, scores, request.resampled, permutations, rng=rng,
                                         one_sided=request.one_sided)
    elif test == "williams-contexts":
        tests = all_pairs_by_context(human, scores, target.units, request.statistic)
    else:
        tests = all_pairs_by_formula(human, scores, request.statistic, FORMULAS[test])
    return adjust_tests(target.dataset, target.quality, labels(target.names), request.name, test, tests, permutations)


def with_statistic(results: Results, request: Request, test: str, is_selected: Callable[[str, str], bool]) -> Results:
    """Return the results with the requested statistic only, and its comparisons if a test is named."""
    analytic = ANALYTIC[:2] if test == "williams-contexts" else ANALYTIC
    if test in ("williams-contexts", *FORMULAS) and (request.level != "items" or request.statistic not in analytic):
        raise BadConfig(f"--test {test} supports only {', '.join(analytic)} over items; use --test bootstrap for "
                        f"{request.name}")
    selected = list(_targets(results, is_selected))
    if not selected:
        raise BadConfig("the results contain no item scores of these datasets; `harness run` writes them to points/")
    interval_request = request if not test else replace(request, draws=0)
    fitted_pairs = fitted(results.metrics, results.datasets)
    rows = [row for target in selected for row in correlations(target, interval_request, results.reliability)]
    if request.statistic in ACCURACIES and not test:
        rows += [row for target in selected for row in chance(target, request)]
    tests = [comparisons(target, request, test, {metric for metric, dataset in fitted_pairs
                                                 if dataset == target.dataset}) for target in selected if test]
    return replace(results, correlations=tuple(rows), comparisons=tuple(tests))


def by_wmt25(results: Results, is_selected: Callable[[str, str], bool], draws: int,
             ) -> Iterator[tuple[str, str, list[ColumnKey], list[wmt25.Task], tuple[int, ...]]]:
    """Rank the columns of each split and kind of data by WMT25's rule.

    Yield split, kind, columns, tasks and clusters; each task has the CHANCE columns after the others. Scores count as
    missing on the datasets on which a metric was fitted.
    """
    entries, fitted_pairs = {entry.name: entry for entry in results.datasets}, fitted(results.metrics, results.datasets)
    boards: dict[tuple[str, str], list[TargetData]] = {}
    for target in _targets(results, is_selected):
        if target.judged.usable:
            boards.setdefault((entries[target.dataset].split, entries[target.dataset].kind), []).append(target)
    for (split, kind), targets in boards.items():
        names = list(dict.fromkeys(name for target in targets for name in target.names))
        tasks: list[wmt25.Task] = []
        for target in targets:
            row_of = {name: row for row, name in enumerate(target.names)
                      if (name[0], target.dataset) not in fitted_pairs}
            scores = [target.scores[row_of[name]] if name in row_of else np.full(len(target.system), np.nan)
                      for name in names]
            rng = generator(results.run.seed, target.dataset, "")
            tasks += wmt25.tasks(target.people, np.vstack([*scores, *_by_chance(target, results.run.seed)]), draws, rng)
        if tasks:
            yield split, kind, names, tasks, wmt25.clusters(tasks, len(names))


def chance(target: TargetData, request: Request) -> Iterator[Correlation]:
    """Yield the accuracy of a constant, and the mean accuracy of RANDOM_COLUMNS columns of random numbers."""
    chance_target = replace(target, names=tuple(CHANCE), scores=_by_chance(target, request.seed))
    constant, *random_numbers = correlate.correlations(chance_target, [(request.statistic, request.level)])
    yield constant
    yield replace(random_numbers[0], value=float(np.mean([row.value for row in random_numbers])), epsilon=np.nan)


def _by_chance(target: TargetData, seed: int) -> Array:
    """Return the scores of CHANCE, a constant and random numbers: (columns, items)."""
    size = len(target.system)
    return np.vstack([np.zeros(size), generator(seed, target.dataset, "chance").normal(size=(RANDOM_COLUMNS, size))])


def _targets(results: Results, is_selected: Callable[[str, str], bool]) -> Iterator[TargetData]:
    entries = {entry.name: entry for entry in results.datasets}
    for points in results.points:
        targets = correlate.targets(points, correlate.mean_ratings(points, entries[points.dataset]))
        yield from (target for target in targets if is_selected(*target.key))
