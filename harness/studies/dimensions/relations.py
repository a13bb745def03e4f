"""Relations of qualities: correlations between them, the groups they form, and the qualities that a rule selects.

A pair is strong from 0.75 on, as in FineD-Eval (Zhang et al. 2022). That threshold does not give the groups of its
Table 1, where qualities with partners of 0.75 to 0.79 are separate; the four observations listed in the paper do, all
of them pairs with 0.80 or more. So pairs are joined from 0.80 on. A group is a representative and all qualities joined
to it except other representatives. The representatives are the smallest set that reaches all joined qualities; among
several such sets, the one that correlates best with the overall quality. A quality can be in two groups, as in the
paper, and is then not selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.dataset import Dataset
from harness.run.correlate import Judged, judged
from harness.statistics.coefficients import spearmans
from harness.statistics.reliability import shared

FEWEST = 3
NAN = float("nan")

STRONG, JOINED = 0.75, 0.80
OVERALL, AGREEMENT, ABSENT = 0.75, 0.6, 0.1
"""Thresholds for selecting a quality: correlation with overall, agreement of raters, and largest share of missing
answers. The paper gives no number for the last; it drops a quality at 0.25."""


class QualityPair(NamedTuple):
    """The correlation of two qualities over the items with both, and its 95 % bootstrap interval."""

    first: str
    second: str
    items: int
    spearman: float
    low: float = NAN
    high: float = NAN

    @property
    def printed(self) -> float:
        """The value rounded to two decimals, to which thresholds apply."""
        return round(self.spearman, 2)


class QualityChoice(NamedTuple):
    """A quality and the reasons not to select it; it is selected if there are none."""

    quality: str
    groups: tuple[str, ...]
    selected: bool
    reasons: tuple[str, ...]
    overall: float
    agreement: float
    absent: float


@dataclass(frozen=True, slots=True)
class Relations:
    """The qualities of a dataset with their correlations, groups and selection."""

    dataset: Dataset
    rated: tuple[Judged, ...]
    pairs: tuple[QualityPair, ...]
    groups: dict[str, tuple[str, ...]]
    choices: tuple[QualityChoice, ...]


def relate(dataset: Dataset, qualities: Sequence[str], seed: int, draws: int) -> Relations | None:
    """Relate the named or all qualities of a dataset; None if fewer than three have ratings that are not constant."""
    wanted = {name.casefold() for name in qualities}
    rated = tuple(ratings for ratings in judged(dataset, dataset.card.qualities) if ratings.usable and (
        not wanted or {ratings.quality.name.casefold(), ratings.quality.dimension} & wanted))
    if len(rated) < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    pairs = tuple(pair(first, second, rng, draws) for first, second in itertools.combinations(rated, 2))
    overall = {({row.first, row.second} - {"overall"}).pop(): row.spearman for row in pairs
               if "overall" in (row.first, row.second)}
    names = [ratings.quality.dimension for ratings in rated if ratings.quality.dimension != "overall"]
    grouped = groups(names, pairs, overall)
    return Relations(dataset, rated, pairs, grouped, tuple(choices(rated, overall, grouped)))


def pair(first: Judged, second: Judged, rng: np.random.Generator, draws: int) -> QualityPair:
    """Return Spearman's ρ of the mean ratings; NaN for fewer than three items or a constant quality."""
    names = first.quality.dimension, second.quality.dimension
    both = np.isfinite(first.means) & np.isfinite(second.means)
    x, y = first.means[both], second.means[both]
    (value,) = spearmans(x, y[None])
    if np.isnan(value):
        return QualityPair(*names, len(x), NAN)
    rows = rng.integers(len(x), size=(draws, len(x)))
    drawn = spearmans(x[rows], y[rows])
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (NAN, NAN)
    return QualityPair(*names, len(x), float(value), float(low), float(high))


def agreement(rated: Judged) -> float:
    """Return Spearman's ρ of votes with the mean of the votes on their item; NaN for too few or constant votes."""
    counts = np.isfinite(rated.votes).sum(axis=1)
    votes = shared(rated.votes)
    return float(spearmans(votes[np.isfinite(votes)], np.repeat(rated.means, np.where(counts > 1, counts, 0))[None])[0])


def absent(rated: Judged, raters: int) -> float:
    """Return the share of missing votes out of `raters` per item."""
    return 1 - np.isfinite(rated.votes).sum() / (raters * len(rated.votes)) if len(rated.votes) and raters else NAN


def groups(qualities: Sequence[str], pairs: Sequence[QualityPair], overall: Mapping[str, float],
           ) -> dict[str, tuple[str, ...]]:
    """Return each representative with its group, itself first."""
    joined: dict[str, set[str]] = {quality: set() for quality in qualities}
    for row in pairs:
        if {row.first, row.second} <= joined.keys() and row.printed >= JOINED:
            joined[row.first].add(row.second)
            joined[row.second].add(row.first)
    chosen = _representatives(joined, overall)
    return {name: (name, *(other for other in qualities if other in joined[name] and other not in chosen))
            for name in qualities if name in chosen}


def _representatives(joined: Mapping[str, set[str]], overall: Mapping[str, float]) -> tuple[str, ...]:
    """Return the smallest set that reaches all; ties are broken by correlation with overall, then by partners."""
    single = tuple(name for name, others in joined.items() if not others)
    linked = [name for name in joined if name not in single]
    sets = ([names for names in itertools.combinations(linked, size)
             if all(name in names or joined[name] & set(names) for name in linked)] for size in range(len(linked) + 1))
    return (*single, *max(next(filter(None, sets)), key=lambda names: (
        sum(np.nan_to_num(overall.get(name, 0.0)) for name in names), sum(len(joined[name]) for name in names))))


def choices(rated: Sequence[Judged], overall: Mapping[str, float], grouped: Mapping[str, tuple[str, ...]],
            ) -> list[QualityChoice]:
    """Apply the rule to each quality except the overall one."""
    raters = max((ratings.votes.shape[1] for ratings in rated), default=0)
    rows = []
    for ratings in rated:
        if (name := ratings.quality.dimension) == "overall":
            continue
        value, agreed, missing = overall.get(name, NAN), agreement(ratings), absent(ratings, raters)
        members = tuple(group for group, names in grouped.items() if name in names)
        checks = {"overall" if np.isfinite(value) else "no overall quality": value > OVERALL,
                  "agreement": agreed >= AGREEMENT, "no answer": missing <= ABSENT, "two groups": len(members) < 2,
                  "represented": name in grouped}
        reasons = tuple(reason for reason, passed in checks.items() if not passed)
        rows.append(QualityChoice(name, members, not reasons, reasons, value, agreed, missing))
    return rows
