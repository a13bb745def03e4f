"""Rank a challenge: everything from which tables, audit log, report and pages are made."""

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
    """A ranked challenge; `values` (entries, targets) are finite, `pairs` tests all entries, counting or not."""

    rules: Rulebook
    ground: Ground
    entries: Entries
    values: Array
    refused: tuple[Refused, ...]
    ranking: Ranking
    baselines: tuple[Baseline, ...]
    correlation: Array
    pairs: Mapping[Target, PairTests]
    alike: tuple[str, ...] = ()
    at_receipt: tuple[Refused, ...] = ()


def validated(folder: Path, home: Path, phase: str = "") -> tuple[Rulebook, Ground, entries.Taken, Array]:
    """Read the challenge, or a phase of it, and every submission; the last are the values (entries, targets).

    An error is one of the challenge itself.
    """
    log, rules = receipts.read(folder), rulebook.read(folder, phase)
    rules = replace(rules, final=bool(log.of("frozen", rules.phase)))
    field = ground.prepared(rules, home)
    rules = replace(rules, changed=log.changed(rules, field))
    taken = entries.taken(submissions.listed(rules, log.receipts(rules.phase)), field, rules)
    values = np.empty((0, len(field.targets)))
    if taken.whole.entries:
        values = ranking.agreement(rules, field, taken.whole.scores)
    complete = np.isfinite(values).all(axis=1)
    refused = tuple(Refused(entry.name, tuple(
        f"has no correlation on {quality} of {dataset}: too few scores of rated items, or all the same"
        for (dataset, quality), value in zip(field.targets, row, strict=True) if not np.isfinite(value)), entry.sha256)
        for entry, row in zip(taken.whole.entries, values, strict=True) if not np.isfinite(row).all())
    return rules, field, entries.Taken(taken.whole.take(np.flatnonzero(complete).tolist()),
                                       (*taken.refused, *refused), log.refused(rules.phase)), values[complete]


def outcome(folder: Path, home: Path, phase: str = "") -> Outcome:
    rules, field, taken, values = validated(folder, home, phase)
    whole = taken.whole
    if not whole.entries:
        raise BadConfig(f"{rules.inbox}: no submission can be ranked; `harness challenge validate` says why")
    pairs = {target.key: all_pairs_by_formula(target.judged.means, target.scores, "spearman")
             for target in field.tables([entry.name for entry in whole.entries], whole.scores)}
    correlation = np.mean([np.mean([pairs[field.name, judged.quality.name].r for judged in field.judged], axis=0)
                           for field in field.fields], axis=0)
    np.fill_diagonal(correlation, 1)
    return Outcome(rules, field, whole, values, taken.refused, ranking.ranked(rules, field, whole, values),
                   baselines.measured(rules, field, home, folder / "ranking" / "scores"), correlation, pairs,
                   entries.alike(whole), taken.at_receipt)
