"""A challenge as it comes out: everything the tables, the audit log, the report and the pages are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.challenge import baselines, entries, ground, ranking, rulebook, submissions, treatments
from harness.challenge.baselines import Baseline
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.ranking import Ranking
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused
from harness.challenge.treatments import Effect
from harness.errors import BadConfig
from harness.run.rank import Target
from harness.statistics import fixed_ranks
from harness.statistics.panel import Array
from harness.statistics.williams import PairTests


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


def validated(folder: Path, home: Path) -> tuple[Rulebook, Ground, entries.Taken]:
    """Read the challenge and every submission; an error is one of the challenge itself."""
    rules = rulebook.read(folder)
    field = ground.prepared(rules, home)
    return rules, field, entries.taken(submissions.listed(rules), field, rules)


def outcome(folder: Path, home: Path) -> Outcome:
    """Rank a challenge."""
    rules, field, taken = validated(folder, home)
    whole = treatments.zeroed(taken.whole) if rules.missing == "zero" else taken.whole
    groups = fixed_ranks.grouped(field.ratings_by_target, whole.scores)
    values = fixed_ranks.values(groups)
    whole, values, constant = _with_values(field, whole, values)
    if not whole.entries:
        raise BadConfig(f"{folder}: no submission can be ranked; `harness challenge validate` says why")
    ranked = ranking.ranked(rules, field, whole, values)
    groups = fixed_ranks.grouped(field.ratings_by_target, whole.scores)
    pairs = {target: fixed_ranks.williams_of_every_pair(own, whole.scores[target]) for target, own in groups.items()}
    return Outcome(
        rules, field, whole, values, (*taken.refused, *constant), ranked,
        treatments.effects(rules, field, ranked, taken.incomplete),
        baselines.measured(rules, field, home, folder / "ranking" / "scores"),
        _mean_correlation(pairs), pairs)


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
