"""Which submission of a team counts, and where it stands: values, ranks, intervals, letters and clusters.

The interval of a rank comes from a joint bootstrap over datasets and items, in which ranks of scores stay fixed
(statistics/fixed_ranks.py); docs/tutorial-organiser.md says how far this is from ranking anew in every draw. Two
submissions that share a letter are not separated by the draws; clusters part the table where every one above is
separated from every one below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.rulebook import Rulebook
from harness.run.compare import VECTORISED, generator
from harness.run.item_statistics import Request
from harness.run.rank import BY_NAME, RULES, Target, best_submissions, borda, over
from harness.statistics import fixed_ranks, significance
from harness.statistics.bootstrap import resampled_by_context
from harness.statistics.estimates import at_level
from harness.statistics.panel import Array, Panel, Vector
from harness.statistics.rank_intervals import Drawn, jointly
from harness.statistics.rank_intervals import ranked as ranked_with_intervals

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


def ranked(rules: Rulebook, ground: Ground, entries: Entries, values: Array) -> Ranking:
    """Choose the submission of each team that counts, and rank these; every entry has a value in every target."""
    rows, totals, chosen = chosen_of(rules, ground, entries, values)
    counting = entries.take(chosen)
    own = tuple(rows[place] for place in chosen)
    named = {entry.name: row for entry, row in zip(counting.entries, own, strict=True)}
    points = borda(named, ground.targets)
    drawn = _drawn(rules, ground, counting) if rules.draws and len(chosen) > 1 else None
    return Ranking(counting, tuple(chosen), own,
                   {rule: _places(rules, rule, totals_under(rule, own, ground), drawn) for rule in RULES},
                   tuple(points[entry.name] for entry in counting.entries), totals)


def chosen_of(rules: Rulebook, ground: Ground, entries: Entries, values: Array,
              ) -> tuple[list[dict[Target, float]], tuple[float, ...], list[int]]:
    """The values of every entry by target and by the rule, and the places of those that count, best first."""
    rows = [dict(zip(ground.targets, map(float, row), strict=True)) for row in signed(rules, values)]
    totals = tuple(round(over(RULES[rules.rule], row, ground.targets), DIGITS) for row in rows)
    return rows, totals, sorted(_counting(rules, entries, rows, ground.targets), key=lambda place: (
        -totals[place], entries.entries[place].name))


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
            Panel(target.judged.means, target.judged.means, target.system, target.context, target.words),
            target.scores, request.resampled, own, rules.draws))
    return Drawn([np.stack(part, axis=1) for part in parts.values()], jointly(len(parts), rules.draws, rng))


def signed(rules: Rulebook, values: Array) -> Array:
    """The values as the rules of the challenge take them: as they are, or without their sign."""
    return np.asarray(np.abs(values)) if rules.sign == "absolute" else values


def rank_of(value: float, others: Sequence[float]) -> int:
    """1 and the number of those that are higher; equals share a rank."""
    return 1 + sum(round(other, DIGITS) > round(value, DIGITS) for other in others)


def totals_under(rule: str, rows: Sequence[Mapping[Target, float]], ground: Ground) -> tuple[float, ...]:
    """What a rule makes of rows of values."""
    return tuple(over(BY_NAME[rule], row, ground.targets) for row in rows)


def _counting(rules: Rulebook, entries: Entries, rows: Sequence[Mapping[Target, float]], on: Sequence[Target],
              ) -> list[int]:
    """The place of each team's best submission by the rule, the lowest number of equals; or of its last."""
    keys = [f"{entry.submission.number:06d}/{entry.submission.team}" for entry in entries.entries]
    teams = {key: entry.submission.team for key, entry in zip(keys, entries.entries, strict=True)}
    if rules.counts == "best":
        counting = best_submissions(dict(zip(keys, rows, strict=True)), teams, RULES[rules.rule], on)
    else:
        counting = {teams[key]: key for key in sorted(keys)}
    return [keys.index(key) for key in counting.values()]


def readable(places: Sequence[TeamRank]) -> bool:
    """Whether the letters of a table can be read: none has more than a dozen."""
    return all(len(place.letters) <= READABLE for place in places)


def _places(rules: Rulebook, rule: str, totals: Sequence[float], drawn: Drawn | None) -> tuple[TeamRank, ...]:
    """The places under a rule, with what the draws say of them."""
    ranks = [rank_of(value, totals) for value in totals]
    if drawn is None:
        return tuple(map(TeamRank, ranks, totals))
    values = drawn.values(lambda datasets: VECTORISED[rule]([signed(rules, values) for values in datasets]))
    intervals = ranked_with_intervals(np.array(totals), values)
    return tuple(TeamRank(*row) for row in zip(
        ranks, totals, intervals.low.tolist(), intervals.high.tolist(), intervals.letters,
        clusters(np.array(totals), intervals.letters), strict=True))


def clusters(totals: Vector, letters: Sequence[str]) -> tuple[int, ...]:
    """The cluster of each submission, 1 the best: parted wherever all above share no letter with any below."""
    sets = [frozenset(re.findall("[a-zA-Z]'*", text)) for text in letters]
    apart = np.array([[totals[i] > totals[j] and not sets[i] & sets[j] for j in range(len(sets))]
                      for i in range(len(sets))])
    cluster = np.zeros(len(sets), dtype=np.int64)
    for number, members in enumerate(significance.clusters(totals, apart), start=1):
        cluster[list(members)] = number
    return tuple(cluster.tolist())
