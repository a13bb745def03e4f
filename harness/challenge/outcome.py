"""A challenge as it comes out: everything the tables, the audit log, the report and the pages are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.challenge import baselines, entries, ground, ranking, receipts, rulebook, submissions
from harness.challenge.baselines import Baseline
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground
from harness.challenge.ranking import Ranking
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused
from harness.errors import BadConfig
from harness.run.rank import Target
from harness.statistics.panel import Array
from harness.statistics.williams import PairTests, all_pairs_by_formula


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What `harness challenge rank` found; `values` is (entries, targets), all of them numbers."""

    rules: Rulebook
    ground: Ground
    entries: Entries
    values: Array
    refused: tuple[Refused, ...]
    ranking: Ranking
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
    whole = taken.whole
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
    pairs = {target.key: all_pairs_by_formula(target.judged.means, target.scores, "spearman")
             for target in field.tables([entry.name for entry in whole.entries], whole.scores)}
    return Outcome(
        rules, field, whole, values, taken.refused, ranked,
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
    mean = np.asarray(np.mean([np.mean(group, axis=0) for group in datasets.values()], axis=0))
    np.fill_diagonal(mean, 1)
    return mean
