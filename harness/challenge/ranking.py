"""The submission of each team that counts; values, draws and tests of submissions.

The interval of a rank comes from a joint bootstrap over datasets and items (statistics/rank_intervals.py). Submissions
that share a letter are not significantly different by PERM-BOTH over whole contexts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.errors import nearest
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.rulebook import FILE, Rulebook
from harness.errors import BadConfig
from harness.run.compare import contributions, generator
from harness.run.correlate import TargetData
from harness.run.item_statistics import Request
from harness.run.rank import BY_NAME, Target, over
from harness.statistics import pooled, rank_intervals
from harness.statistics.bootstrap import resampled_by_context
from harness.statistics.estimates import at_level
from harness.statistics.influence import INFLUENCE
from harness.statistics.panel import Array, Panel, Vector
from harness.statistics.rank_intervals import Drawn, Rank, TargetScores
from harness.statistics.significance import Better
from harness.statistics.williams import PairTests

READABLE = 12
"""Maximum of letters of a row that somebody can compare."""
DIGITS = 12
"""Decimals up to which equal values are ties."""

Row = Mapping[Target, float]


def chosen_of(rules: Rulebook, ground: Ground, entries: Entries, values: Array,
              ) -> tuple[list[Row], tuple[float, ...], list[int]]:
    """Return the values of every entry by target and by the rule, and the indices of those that count, best first.

    The best submission is the best on the public part, if there is one: choosing the best of several on the final
    ratings would favour teams with several. Without a primary submission the first of a team counts, of several
    primary ones the last.
    """
    rows = _by_target(ground, values)
    totals = tuple(round(total, DIGITS) for total in totals_under(rules, rules.rule, rows, ground))
    public = rows
    if ground.public:
        tables = [replace(table, judged=judged) for table, judged in zip(entries.tables, ground.public, strict=True)]
        public = _by_target(ground, np.nan_to_num(agreement(rules, tables), nan=-1.0))
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


def agreement(rules: Rulebook, tables: Iterable[TargetData]) -> Array:
    """Return the statistic of every submission on every target (submissions, targets); NaN where it does not exist."""
    statistic, columns = at_level(rules.statistic, rules.level), list[Vector]()
    for target in tables:
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


def drawn(rules: Rulebook, targets: Sequence[TargetData]) -> Drawn:
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


def tests_of(rules: Rulebook, targets: Sequence[TargetData], weight: Mapping[str, Vector],
           ) -> dict[str | Target, PairTests]:
    """Test all pairs by PERM-BOTH over whole contexts, under each rule and on each target, where the statistic has it.

    The test is one-sided for the clusters of WMT.
    """
    if rules.level != "items" or rules.statistic not in INFLUENCE:
        return {}
    parts = [contributions(target, rules.seed, rules.draws, (), rules.statistic) for target in targets]
    tests = functools.partial(pooled.all_pairs, one_sided=rules.clusters == "wmt")
    return {**{rule: tests(parts, of_rule) for rule, of_rule in weight.items()},
            **{target.key: tests([part], np.ones(1)) for target, part in zip(targets, parts, strict=True)}}


def better_by(rules: Rulebook, tests: PairTests) -> Better:
    """Return which submission is better than which: adjusted over all pairs, except for WMT's clusters."""
    p = tests.p if rules.clusters == "wmt" else pooled.adjusted(tests, rules.draws)
    return np.asarray((tests.delta > 0) & (p < pooled.ALPHA))
