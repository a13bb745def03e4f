"""A challenge as it comes out: everything the tables, the audit log, the report and the pages are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.challenge import baselines, cells, entries, ground, ranking, rulebook, submissions, treatments
from harness.challenge.baselines import Baseline
from harness.challenge.entries import Entries
from harness.challenge.ground import Cell, Ground
from harness.challenge.ranking import Ranking
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused
from harness.challenge.treatments import Effect
from harness.errors import BadConfig
from harness.statistics.williams import Array


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What `harness challenge rank` found; `values` is (entries, cells), all of them numbers."""

    rules: Rulebook
    ground: Ground
    entries: Entries
    values: Array
    refused: tuple[Refused, ...]
    ranking: Ranking
    effects: tuple[Effect, ...]
    baselines: tuple[Baseline, ...]
    correlation: Array
    pairs: Mapping[Cell, cells.Pairwise]
    """Of every two entries, counting or not."""


def validated(folder: Path, home: Path) -> tuple[Rulebook, Ground, entries.Taken]:
    """Read the challenge and every submission; an error is one of the challenge itself."""
    rules = rulebook.read(folder)
    field = ground.prepared(rules, home)
    return rules, field, entries.taken(submissions.found(rules), field, rules)


def outcome(folder: Path, home: Path) -> Outcome:
    """Rank a challenge."""
    rules, field, taken = validated(folder, home)
    whole = treatments.zeroed(taken.whole) if rules.missing == "zero" else taken.whole
    values = cells.values(cells.grouped(field, whole.scores), len(whole.entries))
    whole, values, constant = _with_values(field, whole, values)
    if not whole.entries:
        raise BadConfig(f"{folder}: no submission can be ranked; `harness challenge validate` says why")
    found = ranking.ranked(rules, field, whole, values)
    pairs = dict(cells.every_pair(cells.grouped(field, whole.scores), whole))
    return Outcome(
        rules, field, whole, values, (*taken.refused, *constant), found,
        treatments.effects(rules, field, found, taken.incomplete),
        baselines.measured(rules, field, home, folder / "ranking" / "scores"),
        cells.mean_correlation({cell: one.r for cell, one in pairs.items()}), pairs)


def _with_values(field: Ground, given: Entries, values: Array) -> tuple[Entries, Array, tuple[Refused, ...]]:
    """Those with a correlation in every cell; one without has no value under any rule."""
    complete = np.array([bool(np.isfinite(row).all()) for row in values], dtype=np.bool_)
    refused = tuple(Refused(entry.name, tuple(
        f"has no correlation on {quality} of {dataset}: too few scores of rated items, or all the same"
        for (dataset, quality), value in zip(field.cells, row, strict=True) if not np.isfinite(value)), entry.sha256)
        for entry, row, there in zip(given.entries, values, complete, strict=True) if not there)
    return given.take(np.flatnonzero(complete).tolist()), values[complete], refused

