"""Any statistic at any level, and any test of two columns, from the item scores of results: no metric runs again.

`harness report --statistic X --level Y --test Z` shows them; `harness run --statistic X --level Y` keeps the
correlations with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from harness.errors import BadConfig
from harness.results.item_scores import labels
from harness.results.rows import Comparisons, Correlation, Reliability, Results
from harness.run import correlate
from harness.run.compare import compared, generator
from harness.run.correlate import TargetData
from harness.statistics.bootstrap import bootstrap, paired_bootstrap
from harness.statistics.estimates import at_level, full_name
from harness.statistics.panel import Statistic
from harness.statistics.permutation import all_pairs_by_permutation
from harness.statistics.resampled import QUICK
from harness.statistics.williams import FORMULAS, all_pairs_by_context, all_pairs_by_formula

BY_FORMULA = ("spearman", "pearson", "kendall")
"""Statistics whose differences have a test by formula."""


@dataclass(frozen=True, slots=True)
class Request:
    """A statistic at a level, and how many resamples of contexts an interval or a test draws; 0 for none.

    `one_sided` is for PERM-BOTH.
    """

    statistic: str = "spearman"
    level: str = "items"
    draws: int = 0
    seed: int = 0
    one_sided: bool = False

    @property
    def name(self) -> str:
        """What the statistic is called in the results."""
        return full_name(self.statistic, self.level)

    @property
    def resampled(self) -> str | Statistic:
        """The statistic as the bootstrap takes it."""
        quick = self.statistic in QUICK and self.level == "items"
        return self.statistic if quick else at_level(self.statistic, self.level)


def correlations(
        target: TargetData, request: Request, reliability: Iterable[Reliability] = ()) -> Iterator[Correlation]:
    """Every column of a target by the requested statistic, with the interval of the bootstrap where draws are."""
    own = [row for row in reliability if (row.dataset, row.quality) == (target.dataset, target.quality)]
    for number, row in enumerate(correlate.correlations(target, [(request.statistic, request.level)], own)):
        if request.draws and not row.note:
            rng = generator(request.seed, target.dataset, target.quality)
            interval = bootstrap(target.panel(number), request.resampled, rng, request.draws)
            yield replace(row, low=interval.low, high=interval.high)
        else:
            yield row


def comparisons(target: TargetData, request: Request, test: str) -> Comparisons:
    """Every two columns of a target by the requested statistic and test."""
    human, scores, context = target.judged.means, target.scores, target.context
    rng, permutations = generator(request.seed, target.dataset, target.quality), 0
    if test == "bootstrap":
        tests = paired_bootstrap(human, scores, target.system, context, request.resampled, rng, request.draws,
                                 target.words, target.conversation)
    elif test == "perm-both":
        permutations = request.draws
        tests = all_pairs_by_permutation(human, scores, request.resampled, permutations, rng=rng, context=context,
                                         one_sided=request.one_sided, system=target.system, control=target.words,
                                         conversation=target.conversation)
    elif test == "williams-contexts":
        tests = all_pairs_by_context(human, scores, target.units, request.statistic)
    else:
        tests = all_pairs_by_formula(human, scores, request.statistic, FORMULAS[test])
    return compared(target.dataset, target.quality, labels(target.names), request.name, test, tests, permutations)


def restated(results: Results, request: Request, test: str, wanted: Callable[[str, str], bool]) -> Results:
    """The results with the requested statistic alone, and with its comparisons by a test where one is named."""
    by_formula = BY_FORMULA[:2] if test == "williams-contexts" else BY_FORMULA
    if test in ("williams-contexts", *FORMULAS) and (request.level != "items" or request.statistic not in by_formula):
        raise BadConfig(f"--test {test} is for {', '.join(by_formula)} over items; --test bootstrap compares by "
                        f"{request.name}")
    chosen = list(_targets(results, wanted))
    if not chosen:
        raise BadConfig("the results hold no item scores of these datasets; `harness run` writes them into points/")
    intervals = request if not test else replace(request, draws=0)
    return replace(
        results,
        correlations=tuple(row for target in chosen for row in correlations(target, intervals, results.reliability)),
        comparisons=tuple(comparisons(target, request, test) for target in chosen) if test else ())


def beside(results: Results, statistic: str, wanted: Callable[[str, str], bool]) -> Iterator[Comparisons]:
    """Williams' test by row and by context of every two columns, to stand beside another test of the same statistic."""
    for target in _targets(results, wanted):
        for test in ("williams", "williams-contexts"):
            yield comparisons(target, Request(statistic), test)


def _targets(results: Results, wanted: Callable[[str, str], bool]) -> Iterator[TargetData]:
    entries = {entry.name: entry for entry in results.datasets}
    for points in results.points:
        for target in correlate.targets(points, correlate.rated(points, entries[points.dataset])):
            if wanted(target.dataset, target.quality):
                yield target
