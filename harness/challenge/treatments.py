"""The historic treatments, each with what it does to the ranks: what is off by default, and why one may want to know.

    absolute value    the correlation without its sign: a metric that is upside down is as good as one that is right
    missing is 0      a missing score is taken for 0, wherever on its scale that is
    empty dropped     items whose response is empty are left out

A submission that is refused for missing scores alone is shown where it would stand if they counted 0, without moving
those that are ranked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.ranking import Ranking, rank_of, signed, totals_under
from harness.challenge.rulebook import Rulebook
from harness.statistics import fixed_ranks


@dataclass(frozen=True, slots=True)
class Effect:
    """A treatment and what it makes of the counting submissions: their values and ranks, in the order of the table.

    `would_be` are value and rank of submissions that are refused without it; the value is NaN where there is none.
    """

    name: str
    title: str
    official: bool
    values: tuple[float, ...]
    ranks: tuple[int, ...]
    would_be: tuple[tuple[str, float, int], ...] = ()


def effects(rules: Rulebook, ground: Ground, ranking: Ranking, incomplete: Entries) -> tuple[Effect, ...]:
    """Every treatment by itself, all else as the challenge has it."""
    dropped = replace(ground, fields=tuple(field.without_empty() for field in ground.fields))
    return (
        _effect("absolute", "absolute value of each correlation", rules.sign == "absolute",
                replace(rules, sign="absolute"), ground, ranking.counting),
        _effect("zero", "missing scores counted 0", rules.missing == "zero", rules, ground,
                zeroed(ranking.counting), zeroed(incomplete)),
        _effect("drop", "items with empty responses dropped", rules.empty == "drop", rules, dropped, ranking.counting),
    )


def zeroed(entries: Entries) -> Entries:
    """The entries with 0 for every score that is missing."""
    made = {id(table): np.nan_to_num(table) for table in entries.scores.values()}
    return replace(entries, scores={target: made[id(table)] for target, table in entries.scores.items()})


def _effect(name: str, title: str, official: bool, rules: Rulebook, ground: Ground, counting: Entries,
            others: Entries | None = None) -> Effect:
    totals = _totals(rules, ground, counting)
    would_be = () if others is None else tuple(
        (entry.name, value, rank_of(value, totals))
        for entry, value in zip(others.entries, _totals(rules, ground, others), strict=True))
    return Effect(name, title, official, totals, tuple(rank_of(value, totals) for value in totals), would_be)


def _totals(rules: Rulebook, ground: Ground, entries: Entries) -> tuple[float, ...]:
    values = signed(rules, fixed_ranks.values(fixed_ranks.grouped(ground.ratings_by_target, entries.scores)))
    rows = [dict(zip(ground.targets, map(float, row), strict=True)) for row in values]
    return totals_under(rules.rule, rows, ground)
