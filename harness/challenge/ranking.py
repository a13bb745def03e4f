"""Which submission of a team counts, and its rank: values, ranks, intervals, letters and clusters.

The interval of a rank comes from a joint bootstrap over datasets and items (statistics/rank_intervals.py). Submissions
that share a letter are not significantly different by PERM-BOTH over whole contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.errors import nearest
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.rulebook import FILE, Rulebook
from harness.challenge.submissions import Submission
from harness.errors import BadConfig
from harness.run.compare import generator
from harness.run.correlate import TargetData
from harness.run.item_statistics import Request
from harness.run.rank import BY_NAME, RULES, Target, borda, over
from harness.statistics import pooled, rank_intervals, significance
from harness.statistics.bootstrap import resampled_by_context
from harness.statistics.estimates import at_level
from harness.statistics.influence import INFLUENCE
from harness.statistics.panel import Array, Panel, Vector
from harness.statistics.permutation import below_draws
from harness.statistics.rank_intervals import Drawn, Rank, TargetScores, rank
from harness.statistics.significance import Better
from harness.statistics.williams import PairTests

READABLE = 12
"""Maximum of letters of a row that somebody can compare."""
DIGITS = 12
"""Decimals up to which equal values are ties."""

Row = Mapping[Target, float]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The submissions that count, best first, with their ranks under each rule and by Borda's count.

    `chosen` are their indices among all entries, `rows` their values by target, `totals` the values of all entries
    under the rule of the challenge. `clusters` and `tests` (PERM-BOTH of all pairs) are by target.
    """

    counting: Entries
    chosen: tuple[int, ...]
    rows: tuple[Row, ...]
    ranks: Mapping[str, tuple[Rank, ...]]
    totals: tuple[float, ...]
    clusters: Mapping[Target, tuple[int, ...]]
    tests: Mapping[Target, PairTests]

    @property
    def teams(self) -> list[str]:
        return [entry.team for entry in self.counting.entries]

    def ranked(self, rule: str) -> Iterator[tuple[Submission, Rank]]:
        yield from zip(self.counting.entries, self.ranks[rule], strict=True)


def ranked(rules: Rulebook, ground: Ground, entries: Entries, values: Array) -> Ranking:
    """Choose the submission of each team that counts, and rank these; every entry has a value on every target."""
    all_rows, totals, chosen = chosen_of(rules, ground, entries, values)
    counting, rows = entries.take(chosen), tuple(all_rows[index] for index in chosen)
    names = [entry.name for entry in counting.entries]
    weight = {rule: weights(rules, rule, ground) for rule in RULES}
    drawn, tests = None, dict[str | Target, PairTests]()
    if rules.draws and len(chosen) > 1:
        targets = list(ground.tables(names, counting.scores))
        drawn, tests = _drawn(rules, targets), _tests(rules, targets, weight)
    better = {name: _better(rules, test) for name, test in tests.items()}
    ranks = {rule: tuple(rank(dict(zip(names, totals_under(rules, rule, rows, ground), strict=True)),
                              drawn.means(weight[rule]) if drawn else None, better.get(rule), rules.clusters).values())
             for rule in RULES}
    ranks["borda"] = tuple(rank(borda(dict(zip(names, rows, strict=True)), ground.targets)).values())
    clusters = {target: significance.cluster_numbers(np.array([row[target] for row in rows]), better[target],
                                                     rules.clusters)
                for target in ground.targets if target in better}
    return Ranking(counting, tuple(chosen), rows, ranks, totals, clusters, {
        target: tests[target] for target in clusters})


def chosen_of(rules: Rulebook, ground: Ground, entries: Entries, values: Array,
              ) -> tuple[list[Row], tuple[float, ...], list[int]]:
    """Return the values of every entry by target and by the rule, and the indices of those that count, best first.

    The best submission is the best on the public part, if there is one: choosing the best of several on the final
    ratings would favour teams with several. Without a primary submission the first of a team counts, of several
    primary ones the last.
    """
    rows = _by_target(ground, values)
    totals = tuple(round(total, DIGITS) for total in totals_under(rules, rules.rule, rows, ground))
    public = rows if ground.public is None else _by_target(
        ground, np.nan_to_num(agreement(rules, ground.public, entries.scores), nan=-1.0))
    public_totals = totals_under(rules, rules.rule, public, ground)
    teams: dict[str, list[int]] = {}
    for index, entry in enumerate(entries.entries):
        teams.setdefault(entry.team, []).append(index)

    def preference(index: int) -> tuple[float, ...]:
        submission = entries.entries[index]
        if rules.counts == "best":
            return public_totals[index], -submission.number
        first = rules.counts == "primary" and not submission.about.primary
        return (-1, -submission.number) if first else (1, submission.number)

    chosen = [max(indices, key=preference) for indices in teams.values()]
    return rows, totals, sorted(chosen, key=lambda index: (-totals[index], entries.entries[index].name))


def agreement(rules: Rulebook, ground: Ground, scores: Mapping[Target, Array]) -> Array:
    """Return the statistic of every submission on every target (submissions, targets); NaN where it does not exist."""
    statistic, columns = at_level(rules.statistic, rules.level), list[Vector]()
    for target in ground.tables([""] * len(next(iter(scores.values()))), scores):
        values = target.values(rules.statistic, rules.level)
        if values is None:
            values = np.array([statistic(target.panel(row)) for row in range(len(target.scores))])
        columns.append(values)
    return np.array(columns).T


def totals_under(rules: Rulebook, rule: str, rows: Iterable[Row], ground: Ground) -> tuple[float, ...]:
    """Return the value of each row under a rule; that of the challenge uses its weights."""
    mean = BY_NAME[rule]
    if rules.weights and rule == rules.rule:
        weight = dict(zip(ground.targets, weights(rules, rule, ground).tolist(), strict=True))
        mean = lambda row: sum(weight[target] * value for target, value in row.items())  # noqa: E731
    return tuple(over(mean, row, ground.targets) for row in rows)


def weights(rules: Rulebook, rule: str, ground: Ground) -> Vector:
    """Return the weight of each target, 1 in total: by the name dataset|quality, else by dataset, else 1 each."""
    known = {name for dataset, quality in ground.targets for name in (dataset, f"{dataset}|{quality}")}
    if unknown := next((name for name in rules.weights if name not in known), None):
        raise BadConfig(f"{rules.folder / FILE}: weights: no target {unknown!r}; {nearest(unknown, known)}")
    if not rules.weights or rule != rules.rule:
        return pooled.weights([dataset for dataset, _ in ground.targets], rule)
    weight = np.array([rules.weights.get(f"{dataset}|{quality}", rules.weights.get(dataset, 1.0))
                       for dataset, quality in ground.targets])
    return np.asarray(weight / weight.sum())


def readable(ranks: Sequence[Rank]) -> bool:
    return all(len(standing.letters) <= READABLE for standing in ranks)


def _by_target(ground: Ground, values: Array) -> list[Row]:
    return [dict(zip(ground.targets, row, strict=True)) for row in values.tolist()]


def _drawn(rules: Rulebook, targets: Sequence[TargetData]) -> Drawn:
    """Draw datasets and their items, or whole contexts for all statistics but Spearman's."""
    rng, request = np.random.default_rng(rules.seed), Request(rules.statistic, rules.level)
    if (rules.statistic, rules.level) == ("spearman", "items"):
        return rank_intervals.drawn([TargetScores(target.dataset, target.judged.means, target.scores)
                                     for target in targets], rng, rules.draws)
    groups: dict[str, list[Array]] = {}
    for target in targets:
        means = target.judged.means
        groups.setdefault(target.dataset, []).append(resampled_by_context(
            Panel(means, means, target.system, target.context, target.words, target.conversation), target.scores,
            request.resampled, generator(rules.seed, target.dataset, ""), rules.draws))  # the same for all qualities
    return Drawn.jointly([np.stack(group, axis=1) for group in groups.values()], rng)


def _tests(rules: Rulebook, targets: Sequence[TargetData], weight: Mapping[str, Vector],
           ) -> dict[str | Target, PairTests]:
    """Test all pairs by PERM-BOTH over whole contexts, under each rule and on each target, where the statistic has it.

    The test is one-sided for the clusters of WMT.
    """
    if rules.level != "items" or rules.statistic not in INFLUENCE:
        return {}
    scores = [TargetScores(target.dataset, target.judged.means, target.scores, target.units) for target in targets]
    tests = pooled.all_pairs(scores, np.vstack([*weight.values(), np.eye(len(targets))]),
                             np.random.default_rng(rules.seed), rules.draws, rules.statistic,
                             one_sided=rules.clusters == "wmt")
    return dict(zip([*weight, *(target.key for target in targets)], tests, strict=True))


def _better(rules: Rulebook, tests: PairTests) -> Better:
    """Return which submission is better than which: adjusted over all pairs, except for WMT's clusters."""
    p = tests.p if rules.clusters == "wmt" else significance.over_pairs(below_draws(tests, rules.draws))
    return np.asarray((tests.delta > 0) & (p < pooled.ALPHA))
