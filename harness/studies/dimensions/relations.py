"""How qualities are related: correlations between them, the groups they fall into, and which would be selected.

A pair is strong from 0.75 on, as FineD-Eval (Zhang et al. 2022) has it: a quality without a strong partner stands
alone. That threshold does not give the groups of its Table 1, where qualities with partners of 0.75 to 0.79 are apart;
the four observations the paper lists do, all of which are pairs of 0.80 or more as printed. So pairs are joined from
0.80 on. A group is a representative and all that it is joined to but other representatives. These are the smallest set
that reaches everything that is joined; of several such sets the one that correlates best with the overall quality. A
quality can so be in two groups, as in the paper, and is then not selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.dataset import Dataset
from harness.run.correlate import Judged, judged
from harness.statistics.coefficients import spearmans

FEWEST = 3
"""Qualities that a dataset must have."""

STRONG, JOINED = 0.75, 0.80
OVERALL, AGREEMENT, ABSENT = 0.75, 0.6, 0.1
"""A quality is selected above this correlation with overall, from this agreement on, up to this share of no answer; the
paper gives no number for the last, and drops a quality at 0.25."""

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class QualityPair:
    """The correlation of two qualities over the items that have both, with its 95 % bootstrap interval."""

    first: str
    second: str
    value: float
    low: float
    high: float
    items: int

    @property
    def printed(self) -> float:
        """The value as print would have it, by which thresholds are applied."""
        return round(self.value, 2)


@dataclass(frozen=True, slots=True)
class QualityChoice:
    """Whether the rule selects a quality; `reasons` is empty where it does."""

    quality: str
    overall: float
    agreement: float
    absent: float
    groups: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """The qualities of a dataset: their correlations, groups, and which of them the rule selects."""

    dataset: Dataset
    rated: tuple[Judged, ...]
    pairs: tuple[QualityPair, ...]
    groups: dict[str, tuple[str, ...]]
    choices: tuple[QualityChoice, ...]


def relate(dataset: Dataset, qualities: Sequence[str], seed: int, draws: int) -> Relations | None:
    """Relate the qualities of a dataset, or those named; None where fewer than three have ratings that differ."""
    wanted = {name.casefold() for name in qualities}
    rated = tuple(ratings for ratings in judged(dataset, dataset.card.qualities) if ratings.usable and (
        not wanted or {ratings.quality.name.casefold(), ratings.quality.dimension} & wanted))
    if len(rated) < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    pairs = tuple(pair(first, second, rng, draws) for first, second in itertools.combinations(rated, 2))
    overall = {({each.first, each.second} - {"overall"}).pop(): each.value for each in pairs
               if "overall" in (each.first, each.second)}
    names = [ratings.quality.dimension for ratings in rated if ratings.quality.dimension != "overall"]
    grouped = groups(names, pairs, overall)
    return Relations(dataset, rated, pairs, grouped, tuple(choices(rated, overall, grouped)))


def pair(first: Judged, second: Judged, rng: np.random.Generator, draws: int) -> QualityPair:
    """Spearman's ρ of the mean ratings; NaN for fewer than three items or a constant quality."""
    names = first.quality.dimension, second.quality.dimension
    both = np.isfinite(first.means) & np.isfinite(second.means)
    x, y = first.means[both], second.means[both]
    if len(x) < 3 or not (np.ptp(x) and np.ptp(y)):
        return QualityPair(*names, NAN, NAN, NAN, len(x))
    rows = rng.integers(len(x), size=(draws, len(x)))
    drawn = spearmans(x[rows], y[rows])
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (NAN, NAN)
    return QualityPair(*names, float(spearmans(x, y[None])[0]), float(low), float(high), len(x))


def agreement(votes: Sequence[Sequence[float]]) -> float:
    """Spearman's ρ of every vote with the mean of the votes on its item; NaN without several votes that differ."""
    beside = [(vote, float(np.mean(item))) for item in votes if len(item) > 1 for vote in item]
    own, mean = np.array(beside, dtype=np.float64).reshape(-1, 2).T
    return float(spearmans(own, mean[None])[0])


def absent(votes: Sequence[Sequence[float]], raters: int) -> float:
    """The share of votes that are missing, of so many an item."""
    return 1 - sum(map(len, votes)) / (raters * len(votes)) if votes and raters else NAN


def groups(qualities: Sequence[str], pairs: Sequence[QualityPair], overall: Mapping[str, float],
           ) -> dict[str, tuple[str, ...]]:
    """Each representative with its group, itself the first; qualities that are joined to nothing stand alone."""
    joined: dict[str, set[str]] = {quality: set() for quality in qualities}
    for each in pairs:
        if {each.first, each.second} <= joined.keys() and each.printed >= JOINED:
            joined[each.first].add(each.second)
            joined[each.second].add(each.first)
    chosen = _representatives(joined, overall)
    return {name: (name, *(other for other in qualities if other in joined[name] and other not in chosen))
            for name in qualities if name in chosen}


def _representatives(joined: Mapping[str, set[str]], overall: Mapping[str, float]) -> tuple[str, ...]:
    """The fewest that reach all; of equally few those nearest to overall, then those with most partners."""
    alone = tuple(name for name, others in joined.items() if not others)
    others = [name for name in joined if name not in alone]
    every = ([some for some in itertools.combinations(others, size)
              if all(name in some or joined[name] & set(some) for name in others)] for size in range(len(others) + 1))
    return (*alone, *max(next(filter(None, every)), key=lambda some: (
        sum(np.nan_to_num(overall.get(name, 0.0)) for name in some), sum(len(joined[name]) for name in some))))


def choices(rated: Sequence[Judged], overall: Mapping[str, float], grouped: Mapping[str, tuple[str, ...]],
            ) -> list[QualityChoice]:
    """Whether the rule selects each quality but the overall one."""
    raters = max((len(votes) for ratings in rated for votes in ratings.votes), default=0)
    return [_choice(ratings.quality.dimension, overall.get(ratings.quality.dimension, NAN), agreement(ratings.votes),
                    absent(ratings.votes, raters), grouped)
            for ratings in rated if ratings.quality.dimension != "overall"]


def _choice(quality: str, overall: float, agreed: float, missing: float, grouped: Mapping[str, tuple[str, ...]],
            ) -> QualityChoice:
    own = tuple(name for name, members in grouped.items() if quality in members)
    below = "overall" if np.isfinite(overall) else "no overall quality"
    checks = ((not overall > OVERALL, below), (not agreed >= AGREEMENT, "agreement"),
              (not missing <= ABSENT, "no answer"), (len(own) > 1, "two groups"),
              (quality not in grouped, "represented"))
    return QualityChoice(quality, overall, agreed, missing, own, tuple(reason for failed, reason in checks if failed))
