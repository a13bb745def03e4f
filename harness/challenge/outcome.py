"""A challenge as it comes out: everything the tables, the audit log, the report and the pages are made of.

The historic treatments, each with what it does to the ranks: what is off by default, and why one may want to know.

    absolute value    the correlation without its sign: a metric that is upside down is as good as one that is right
    missing is 0      a missing score is taken for 0, wherever on its scale that is
    empty dropped     items whose response is empty are left out

A submission that is refused for missing scores alone is shown where it would stand if they counted 0, without moving
those that are ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.challenge import baselines, entries, ground, ranking, receipts, rulebook, submissions
from harness.challenge.baselines import Baseline
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.ranking import Ranking, agreement, rank_of, signed, totals_under
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused
from harness.errors import BadConfig
from harness.run.rank import Target
from harness.statistics import fixed_ranks
from harness.statistics.panel import Array
from harness.statistics.williams import PairTests


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


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What `harness challenge rank` found; `values` is (entries, targets), all of them numbers."""

    rules: Rulebook
    ground: Ground
    entries: Entries
    values: Array
    refused: tuple[Refused, ...]
    ranking: Ranking
    effects: tuple[Effect, ...]
    baselines: tuple[Baseline, ...]
    correlation: Array
    pairs: Mapping[Target, PairTests]
    """Of every two entries, counting or not."""
    alike: tuple[str, ...] = ()
    """Which submissions of two teams are the same, or nearly."""
    at_receipt: tuple[Refused, ...] = ()


def validated(folder: Path, home: Path, phase: str = "") -> tuple[Rulebook, Ground, entries.Taken, Array]:
    """Read the challenge, or a phase of it, and every submission; an error is one of the challenge itself.

    The last are the values of the entries that may be ranked, (entries, targets).
    """
    log, rules = receipts.read(folder), rulebook.read(folder, phase)
    rules = replace(rules, final=bool(log.of("frozen", rules.phase)))
    field = ground.prepared(rules, home)
    rules = replace(rules, changed=log.changed(rules, field))
    taken = entries.taken(submissions.listed(rules, log.receipts(rules.phase)), field, rules)
    whole = zeroed(taken.whole) if rules.missing == "zero" else taken.whole
    values = ranking.agreement(rules, field, whole.scores) if whole.entries else np.empty((0, len(field.targets)))
    whole, values, refused = _with_values(field, whole, values)
    return rules, field, replace(taken, whole=whole, refused=(*taken.refused, *refused),
                                 at_receipt=log.refused(rules.phase)), values


def outcome(folder: Path, home: Path, phase: str = "") -> Outcome:
    """Rank a challenge, or a phase of it."""
    rules, field, taken, values = validated(folder, home, phase)
    whole = taken.whole
    if not whole.entries:
        raise BadConfig(f"{rules.inbox}: no submission can be ranked; `harness challenge validate` says why")
    ranked = ranking.ranked(rules, field, whole, values)
    groups = fixed_ranks.grouped(field.ratings_by_target, whole.scores)
    pairs = {target: fixed_ranks.williams_of_every_pair(own, whole.scores[target]) for target, own in groups.items()}
    return Outcome(
        rules, field, whole, values, taken.refused, ranked,
        effects(rules, field, ranked, taken.incomplete),
        baselines.measured(rules, field, home, folder / "ranking" / "scores"),
        _mean_correlation(pairs), pairs, entries.alike(whole), taken.at_receipt)


def _with_values(field: Ground, submitted: Entries, values: Array) -> tuple[Entries, Array, tuple[Refused, ...]]:
    """Those with a correlation in every target; one without has no value under any rule."""
    complete = np.array([bool(np.isfinite(row).all()) for row in values], dtype=np.bool_)
    refused = tuple(Refused(entry.name, tuple(
        f"has no correlation on {quality} of {dataset}: too few scores of rated items, or all the same"
        for (dataset, quality), value in zip(field.targets, row, strict=True) if not np.isfinite(value)), entry.sha256)
        for entry, row, there in zip(submitted.entries, values, complete, strict=True) if not there)
    return submitted.take(np.flatnonzero(complete).tolist()), values[complete], refused


def _mean_correlation(pairs: Mapping[Target, PairTests]) -> Array:
    """The entries' own correlations: mean over the targets of each dataset, then over the datasets."""
    datasets: dict[str, list[Array]] = {}
    for (dataset, _), tests in pairs.items():
        datasets.setdefault(dataset, []).append(tests.r)
    return np.asarray(np.mean([np.mean(group, axis=0) for group in datasets.values()], axis=0))


def effects(rules: Rulebook, ground: Ground, ranking: Ranking, incomplete: Entries) -> tuple[Effect, ...]:
    """Every treatment by itself, all else as the challenge has it."""
    dropped = replace(ground, fields=tuple(field.without(field.empty) for field in ground.fields))
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
    values = signed(rules, agreement(rules, ground, entries.scores))
    rows = [dict(zip(ground.targets, map(float, row), strict=True)) for row in values]
    return totals_under(rules, rules.rule, rows, ground)
