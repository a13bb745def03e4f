"""Which submission of a team counts, and where it stands: values, ranks, intervals, letters and clusters.

The interval of a rank comes from a joint bootstrap over datasets and items, in which ranks of scores stay fixed
(statistics/fixed_ranks.py); docs/tutorial-organiser.md says how far this is from ranking anew in every draw. Two
submissions that share a letter are not told apart by PERM-BOTH over whole contexts; clusters part the table where every
one above is better than every one below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.errors import nearest
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.rulebook import FILE, Rulebook
from harness.errors import BadConfig
from harness.run.compare import generator
from harness.run.intervals import VECTORISED
from harness.run.item_statistics import Request
from harness.run.rank import BY_NAME, RULES, Rule, Target, best_submissions, borda, over
from harness.statistics import fixed_ranks, pooled, rank_intervals, significance
from harness.statistics.bootstrap import resampled_by_context
from harness.statistics.estimates import at_level
from harness.statistics.influence import INFLUENCE
from harness.statistics.panel import Array, Panel, Vector
from harness.statistics.permutation import below_draws
from harness.statistics.rank_intervals import Drawn, jointly
from harness.statistics.significance import Better
from harness.statistics.williams import PairTests

READABLE = 12
"""Letters of one row that somebody can compare."""

DIGITS = 12
"""Values that agree to so many decimals are equal."""


@dataclass(frozen=True, slots=True)
class TeamRank:
    """Where a team's counting submission stands under one rule; NaN and "" where nothing was drawn."""

    rank: int
    value: float
    low: float = math.nan
    high: float = math.nan
    letters: str = ""
    cluster: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The submissions that count, best first, and their places under each rule that a report knows.

    `rows` are their values by target, `chosen` their places among the entries, `totals` the values of all
    entries by the rule.
    """

    counting: Entries
    chosen: tuple[int, ...]
    rows: tuple[Mapping[Target, float], ...]
    places: Mapping[str, tuple[TeamRank, ...]]
    points: tuple[float, ...]
    totals: tuple[float, ...]
    clusters: Mapping[Target, tuple[int, ...]]
    """On each target by itself."""
    tests: Mapping[Target, PairTests]
    """PERM-BOTH of every two that count, on each target."""


def ranked(rules: Rulebook, ground: Ground, entries: Entries, values: Array) -> Ranking:
    """Choose the submission of each team that counts, and rank these; every entry has a value in every target."""
    rows, totals, chosen = chosen_of(rules, ground, entries, values)
    counting = entries.take(chosen)
    own = tuple(rows[place] for place in chosen)
    named = {entry.name: row for entry, row in zip(counting.entries, own, strict=True)}
    points = borda(named, ground.targets)
    drawn = _weighted(rules, ground, _drawn(rules, ground, counting)) if rules.draws and len(chosen) > 1 else None
    tests = _tests(rules, ground, counting) if drawn else {}
    better = {name: _better(rules, own) for name, own in tests.items()}
    every = {rule: _places(rules, totals_under(rules, rule, own, ground), drawn, better.get(rule),
                           _of_draw(rules, rule)) for rule in RULES}
    return Ranking(counting, tuple(chosen), own, every, tuple(points[entry.name] for entry in counting.entries), totals,
                   {target: significance.cluster_numbers(np.array([row[target] for row in own]), better[target],
                                                      rules.clusters)
                    for target in ground.targets if target in better},
                   {target: tests[target] for target in ground.targets if target in tests})


def chosen_of(rules: Rulebook, ground: Ground, entries: Entries, values: Array,
              ) -> tuple[list[dict[Target, float]], tuple[float, ...], list[int]]:
    """The values of every entry by target and by the rule, and the places of those that count, best first."""
    rows = _by_target(ground, values)
    public = rows if ground.public is None else _by_target(ground, np.nan_to_num(
        agreement(rules, ground.public, entries.scores), nan=-1.0))
    totals = tuple(round(total, DIGITS) for total in totals_under(rules, rules.rule, rows, ground))
    return rows, totals, sorted(_counting(rules, ground, entries, public), key=lambda place: (
        -totals[place], entries.entries[place].name))


def _by_target(ground: Ground, values: Array) -> list[dict[Target, float]]:
    """The values of each entry by target."""
    return [dict(zip(ground.targets, map(float, row), strict=True)) for row in values]


def agreement(rules: Rulebook, ground: Ground, scores: Mapping[Target, Array]) -> Array:
    """The statistic that ranks, of every submission on every target (submissions, targets); NaN where none exists."""
    if (rules.statistic, rules.level) == ("spearman", "items"):
        return fixed_ranks.values(fixed_ranks.grouped(ground.ratings_by_target, scores))
    size = len(next(iter(scores.values())))
    statistic = at_level(rules.statistic, rules.level)
    return np.array([[statistic(target.panel(row)) for row in range(size)]
                     for target in ground.tables([""] * size, scores)]).T


def _drawn(rules: Rulebook, ground: Ground, counting: Entries) -> Drawn:
    """The values on draws of datasets and their items; of contexts whole, ranked anew, for all but Spearman's."""
    rng = np.random.default_rng(rules.seed)
    if (rules.statistic, rules.level) == ("spearman", "items"):
        return fixed_ranks.drawn(fixed_ranks.grouped(ground.ratings_by_target, counting.scores), rules.draws, rng)
    request = Request(rules.statistic, rules.level)
    parts: dict[str, list[Array]] = {}
    for target in ground.tables([""] * len(counting.entries), counting.scores):
        own = generator(rules.seed, target.dataset, "")  # the same contexts for every quality
        parts.setdefault(target.dataset, []).append(resampled_by_context(
            Panel(target.judged.means, target.judged.means, target.system, target.context, target.words,
                  target.conversation),
            target.scores, request.resampled, own, rules.draws))
    return Drawn([np.stack(part, axis=1) for part in parts.values()], jointly(len(parts), rules.draws, rng))


def totals_under(rules: Rulebook, rule: str, rows: Sequence[Mapping[Target, float]], ground: Ground,
                 ) -> tuple[float, ...]:
    """What a rule makes of rows of values; that of the challenge weighs the targets as it has them."""
    return tuple(over(_rule(rules, rule, ground), row, ground.targets) for row in rows)


def _rule(rules: Rulebook, rule: str, ground: Ground) -> Rule:
    if not rules.weights or rule != rules.rule:
        return BY_NAME[rule]
    weight = dict(zip(ground.targets, weights(rules, rule, ground).tolist(), strict=True))
    return lambda row: sum(weight[target] * value for target, value in row.items())


def weights(rules: Rulebook, rule: str, ground: Ground) -> Vector:
    """What each target weighs under a rule, 1 in all: by the name dataset|quality, else by dataset, else 1 each."""
    known = {name for dataset, quality in ground.targets for name in (dataset, f"{dataset}|{quality}")}
    if unknown := next((name for name in rules.weights if name not in known), None):
        raise BadConfig(f"{rules.folder / FILE}: weights of {unknown!r}, which is no target; {nearest(unknown, known)}")
    if not rules.weights or rule != rules.rule:
        return pooled.weights([dataset for dataset, _ in ground.targets], rule)
    own = np.array([rules.weights.get(f"{dataset}|{quality}", rules.weights.get(dataset, 1.0))
                    for dataset, quality in ground.targets])
    total: Vector = own / own.sum()
    return total


def _counting(rules: Rulebook, ground: Ground, entries: Entries, rows: Sequence[Mapping[Target, float]]) -> list[int]:
    """The place of each team's best submission by the rule, the lowest number of equals; of its last; or its primary.

    The best is that on the public part, where there is one: choosing among many on the final ratings favours those.
    A team that calls none primary has its first for one, a team that calls several the last of these.
    """
    keys = [f"{entry.submission.number:06d}/{entry.submission.team}" for entry in entries.entries]
    teams = {key: entry.submission.team for key, entry in zip(keys, entries.entries, strict=True)}
    if rules.counts == "best":
        counting = best_submissions(dict(zip(keys, rows, strict=True)), teams, _rule(rules, rules.rule, ground),
                                    ground.targets)
    else:
        counting = {teams[key]: key for key in sorted(keys, reverse=rules.counts == "primary")}
        primary = {key for key, entry in zip(keys, entries.entries, strict=True) if entry.submission.about.primary}
        counting |= {teams[key]: key for key in sorted(primary) if rules.counts == "primary"}
    return [keys.index(key) for key in counting.values()]


def readable(places: Sequence[TeamRank]) -> bool:
    """Whether the letters of a table can be read: none has more than a dozen."""
    return all(len(place.letters) <= READABLE for place in places)


def _places(rules: Rulebook, totals: Sequence[float], drawn: Drawn | None, better: Better | None,
            combined: rank_intervals.Rule) -> tuple[TeamRank, ...]:
    """The places under a rule, with the interval of each rank by the draws, and letters and clusters by who is better.

    Where no test says that, one is better that is ahead in 97.5 % of the draws.
    """
    if drawn is None:
        ranks = rank_intervals.ranks_of(np.array(totals)).astype(int).tolist()
        return tuple(map(TeamRank, ranks, totals))
    ranked = rank_intervals.ranked(np.array(totals), drawn.values(combined), better=better)
    return tuple(TeamRank(*row) for row in zip(
        ranked.rank.astype(int).tolist(), totals, ranked.low.tolist(), ranked.high.tolist(), ranked.letters,
        significance.cluster_numbers(np.array(totals), ranked.better, rules.clusters), strict=True))


def _weighted(rules: Rulebook, ground: Ground, drawn: Drawn) -> Drawn:
    """The draws with the weight of each target as the last column."""
    sizes = np.cumsum([len(field.judged) for field in ground.fields])[:-1]
    split = np.split(weights(rules, rules.rule, ground), sizes)
    return Drawn([np.concatenate([values, np.broadcast_to(own[:, None], (*values.shape[:2], 1))], axis=2)
                  for values, own in zip(drawn.resampled, split, strict=True)], drawn.places)


def _of_draw(rules: Rulebook, rule: str) -> rank_intervals.Rule:
    """What a rule makes of the values on the datasets of a draw, whose last column is the weight of each target."""
    def weighted(datasets: Sequence[Array]) -> Vector:
        table = np.vstack(datasets)
        total = table[:, -1].sum() or np.nan  # no target of the draw may weigh anything
        return np.asarray(table[:, -1] @ table[:, :-1] / total)

    if rules.weights and rule == rules.rule:
        return weighted
    return lambda datasets: VECTORISED[rule]([values[:, :-1] for values in datasets])


def _tests(rules: Rulebook, ground: Ground, counting: Entries) -> dict[str | Target, PairTests]:
    """PERM-BOTH over whole contexts of every two submissions, under each rule and on each target.

    One-sided for the clusters of WMT. Nothing for statistics that have no such test.
    """
    if rules.level != "items" or rules.statistic not in INFLUENCE:
        return {}
    names: list[str | Target] = [*RULES, *ground.targets]
    weight = np.vstack([*(weights(rules, rule, ground) for rule in RULES), np.eye(len(ground.targets))])
    targets = [rank_intervals.TargetScores(target.dataset, target.judged.means, target.scores, target.units)
               for target in ground.tables([""] * len(counting.entries), counting.scores)]
    tests = pooled.all_pairs(targets, weight, np.random.default_rng(rules.seed), rules.draws, rules.statistic,
                             one_sided=rules.clusters == "wmt")
    return dict(zip(names, tests, strict=True))


def _better(rules: Rulebook, tests: PairTests) -> Better:
    """Which submission is better than which: adjusted over all pairs, and for the clusters of WMT not."""
    p = tests.p if rules.clusters == "wmt" else significance.over_pairs(below_draws(tests, rules.draws))
    return np.asarray((tests.delta > 0) & (p < pooled.ALPHA))

