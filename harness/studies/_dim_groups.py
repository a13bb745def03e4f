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
import numpy.typing as npt
from scipy import stats

from harness.run.correlate import Judged
from harness.statistics.panel import Vector

STRONG, JOINED = 0.75, 0.80
OVERALL, AGREEMENT, ABSENT = 0.75, 0.6, 0.1
"""A quality is selected above this correlation with overall, from this agreement on, up to this share of no answer; the
paper gives no number for the last, and drops a quality at 0.25."""

NAN = float("nan")
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
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
class Verdict:
    """What the rule says of a quality; `reasons` is empty where it is selected."""

    quality: str
    overall: float
    agreement: float
    absent: float
    groups: tuple[str, ...]
    reasons: tuple[str, ...]


def pair(one: Judged, other: Judged, rng: np.random.Generator, draws: int) -> Pair:
    """Spearman's ρ of the mean ratings; NaN for fewer than three items or a constant quality."""
    there = np.isfinite(one.means) & np.isfinite(other.means)
    first, second = one.means[there], other.means[there]
    if len(first) < 3 or not (np.ptp(first) and np.ptp(second)):
        return Pair(one.quality.dimension, other.quality.dimension, NAN, NAN, NAN, len(first))
    rows = rng.integers(len(first), size=(draws, len(first)))
    drawn = _rows(first[rows], second[rows])
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (np.nan, np.nan)
    value = float(_rows(first[None], second[None])[0])
    return Pair(one.quality.dimension, other.quality.dimension, value, float(low), float(high), len(first))


def _rows(first: Matrix, second: Matrix) -> Vector:
    """Spearman's ρ of each row with the row of the other; NaN where one is constant."""
    x, y = (stats.rankdata(one, axis=1) for one in (first, second))
    x, y = (one - one.mean(axis=1, keepdims=True) for one in (x, y))
    scale = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    found: Vector = np.divide((x * y).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0)
    return found


def agreement(votes: Sequence[Sequence[float]]) -> float:
    """Spearman's ρ of every vote with the mean of the votes on its item; NaN without several votes that differ."""
    given = [(vote, float(np.mean(item))) for item in votes if len(item) > 1 for vote in item]
    own, mean = np.array(given, dtype=np.float64).reshape(-1, 2).T
    return float(_rows(own[None], mean[None])[0]) if len(given) > 2 else NAN


def absent(votes: Sequence[Sequence[float]], asked: int) -> float:
    """The share of votes that were not given, of so many an item."""
    return 1 - sum(map(len, votes)) / (asked * len(votes)) if votes and asked else NAN


def groups(qualities: Sequence[str], pairs: Sequence[Pair], overall: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """Each representative with its group, itself the first; qualities that are joined to nothing stand alone."""
    joined: dict[str, set[str]] = {quality: set() for quality in qualities}
    for one in pairs:
        if {one.first, one.second} <= joined.keys() and one.printed >= JOINED:
            joined[one.first].add(one.second)
            joined[one.second].add(one.first)
    chosen = [name for part in _parts(joined) for name in _representatives(part, joined, overall)]
    return {name: (name, *(other for other in qualities if other in joined[name] and other not in chosen))
            for name in qualities if name in chosen}


def _parts(joined: Mapping[str, set[str]]) -> list[list[str]]:
    """Qualities that hang together, directly or through others, in the order given."""
    parts: list[list[str]] = []
    seen: set[str] = set()
    for quality in joined:
        reached, border = {quality}, {quality}
        while border := {other for one in border for other in joined[one]} - reached:
            reached |= border
        if quality not in seen:
            parts.append([one for one in joined if one in reached])
        seen |= reached
    return parts


def _representatives(part: Sequence[str], joined: Mapping[str, set[str]], overall: Mapping[str, float],
                     ) -> tuple[str, ...]:
    """The fewest that reach all of a part; of equally few those nearest to overall, then those with most partners."""
    for size in range(1, len(part) + 1):
        reaching = [some for some in itertools.combinations(part, size)
                    if all(one in some or joined[one] & set(some) for one in part)]
        if reaching:
            return max(reaching, key=lambda some: (sum(np.nan_to_num(overall.get(one, 0.0)) for one in some),
                                                   sum(len(joined[one]) for one in some)))
    return tuple(part)


def verdicts(rated: Sequence[Judged], overall: Mapping[str, float], found: Mapping[str, tuple[str, ...]],
             ) -> list[Verdict]:
    """What the selection rule says of every quality but the overall one."""
    asked = max((len(votes) for one in rated for votes in one.votes), default=0)
    return [_verdict(one.quality.dimension, overall.get(one.quality.dimension, NAN), agreement(one.votes),
                     absent(one.votes, asked), found)
            for one in rated if one.quality.dimension != "overall"]


def _verdict(quality: str, overall: float, agreed: float, missing: float, found: Mapping[str, tuple[str, ...]],
             ) -> Verdict:
    own = tuple(name for name, members in found.items() if quality in members)
    below = "overall" if np.isfinite(overall) else "no overall quality"
    checks = ((not overall > OVERALL, below), (not agreed >= AGREEMENT, "agreement"),
              (not missing <= ABSENT, "no answer"), (len(own) > 1, "two groups"), (quality not in found, "represented"))
    return Verdict(quality, overall, agreed, missing, own, tuple(reason for failed, reason in checks if failed))
