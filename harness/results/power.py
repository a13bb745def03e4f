"""The smallest difference detectable on each target, and the contexts and raters needed to detect a difference."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.results.item_scores import labels
from harness.results.pooled import Pool
from harness.results.rows import Results, Target
from harness.statistics.panel import Array, Codes, codes
from harness.statistics.power import Contrasts, detectable_text, of_columns, of_systems

Between = Literal["columns", "systems"]
Group: TypeAlias = tuple[str, bool]
"""The metric of a column and whether it is a control, or the name of a system and False."""
Sides: TypeAlias = tuple[list[str], list[Group], Codes, Callable[[], Contrasts]]
"""The names and groups of columns or systems, the context of each rated item, and a function that contrasts them."""
SCALES = (0.25, 0.5, 1, 2, 4)
"""Default numbers of contexts and raters, as multiples of the data's."""


@dataclass(frozen=True, slots=True)
class Power:
    """The power of a target with a number of contexts and raters per item.

    `detectable` is the difference detected with 80 % power: between `first` and `second` if they were named, else
    between the pair with the median spread; infinite if there are too few contexts. `difference` is the difference
    between `first` and `second`, by default the leader and the next metric or system; `power` is the probability of
    detecting it; `needed` is the number of contexts for 80 % power, infinite if no number suffices. For other numbers
    of raters than the data's, `detectable`, `power` and `needed` are NaN if the reliability of the ratings is unknown,
    or if the noise of raters, as estimated, accounts for all of a pair's spread. `unit` is conversation if contexts of
    a conversation count as one.
    """

    dataset: str
    quality: str
    between: Between
    first: str
    second: str
    items: int
    contexts: int
    raters: float
    detectable: float
    difference: float
    power: float
    needed: float
    unit: str = "context"

    def __str__(self) -> str:
        if self.between == "systems":
            return detectable_text(self.items, self.contexts, self.detectable, "mean ratings", self.unit)
        text = detectable_text(self.items, self.contexts, self.detectable, unit=self.unit)
        return f"{text} for these metrics"


def power(results: Results, target: Target, between: Between = "columns", pair: Sequence[str] = (),
          contexts: Sequence[int] = (), raters: Sequence[float] = (), pool: Pool | None = None) -> Iterator[Power]:
    """Yield the power of a target for each number of raters and contexts, starting with the data's own."""
    pool = pool or Pool.of(results)
    quality_entry = next(quality for quality in pool.entries[target[0]].qualities if quality.name == target[1])
    votes = quality_entry.votes / max(quality_entry.rated, 1) or 1.0
    reliability = pool.reliability.get(target, math.nan)
    names, groups, context_codes, make_contrasts = (_columns(results, pool, target) if between == "columns" else
                                                    _systems(pool, target, reliability))
    items, context_count = len(context_codes), len(np.unique(context_codes))
    if len(names) < 2 or context_count < 2:
        remedy = ("" if len(names) > 1 else "; the rated items name fewer than two systems" if between == "systems" else
                  "; run a second metric, or use --between systems")
        points = pool.points[target[0]]
        rated_contexts = len(np.unique(points.units[np.isfinite(points.human[target[1]])]))
        raise BadConfig(f"{target[0]}, {target[1]}: power needs at least two {between} and two contexts, found "
                        f"{len(names)} and {rated_contexts}{remedy}")
    contrasts = make_contrasts()
    if unknown := next((name for name in pair if name not in names), None):
        hint = nearest(unknown, names)
        if between == "columns" and unknown in pool.points[target[0]].systems:
            hint = f"{unknown!r} is a system: add --between systems"
        elif between == "systems" and unknown in labels(list(pool.columns)):
            hint = f"{unknown!r} is a column: use --between columns"
        raise BadConfig(f"{target[0]}, {target[1]} has no {between[:-1]} {unknown!r}; {hint}")
    order = np.argsort(-contrasts.values, kind="stable").tolist()
    leaders = (order[0], next((other for other in order if groups[other] != groups[order[0]]), order[1]))
    first, second = map(names.index, pair) if pair else leaders
    typical_sides = (first, second) if pair else _typical_pair(contrasts.spread, groups)
    raters = raters or [max(1, round(votes * times)) for times in SCALES if times != 1]
    contexts = contexts or [max(2, round(context_count * times)) for times in SCALES]
    for rater_count in dict.fromkeys((votes, *raters)):
        typical_contrast, pair_contrast = (contrasts.pair(*sides).at(reliability, rater_count / votes)
                                           for sides in (typical_sides, (first, second)))
        needed = pair_contrast.needed()
        for count in dict.fromkeys((context_count, *contexts)):
            yield Power(*target, between, names[first], names[second], items, count, rater_count,
                        typical_contrast.detectable(count), pair_contrast.difference, pair_contrast.power(count),
                        needed, "context" if pool.points[target[0]].conversations is None else "conversation")


def checked_targets(pool: Pool, requested: Collection[Target], pair: Sequence[str], contexts: Sequence[int],
                    raters: Sequence[float]) -> list[Target]:
    """Return the wanted targets with usable ratings; raise BadConfig if there are none, or for invalid arguments."""
    if pair and (len(pair), len(set(pair))) != (2, 2):
        raise BadConfig(f"--pair takes two different names, not {', '.join(pair)}")
    if any(count < 2 for count in contexts):
        raise BadConfig("--contexts should be 2 or more")
    if not all(count >= 1 for count in raters):
        raise BadConfig("--raters should be 1 or more")
    targets = [target for target in pool.targets() if target in requested]
    if not targets:
        raise BadConfig("no quality of this selection has three ratings that are not all equal")
    return targets


def power_or_empty(results: Results, target: Target, pool: Pool) -> list[Power]:
    """Return the power to detect differences between columns on a target; empty with too few columns or contexts."""
    with contextlib.suppress(BadConfig):
        return list(power(results, target, pool=pool))
    return []


def _columns(results: Results, pool: Pool, target: Target) -> Sides:
    """Return the columns that score every rated item."""
    controls = {entry.name for entry in results.metrics if entry.family == "control"}
    keys = [key for key, values in pool.columns.items() if target in values]
    if not keys:
        raise BadConfig(f"no column has a correlation on {target[1]} of {target[0]}")
    data = pool.target_scores(target, keys)
    has_rating = np.isfinite(data.human)
    complete = [bool(np.isfinite(scores[has_rating]).all()) for scores in data.scores]
    keys = [key for key, is_complete in zip(keys, complete, strict=True) if is_complete]
    scores = data.scores[complete][:, has_rating]
    groups = [(metric, metric in controls) for metric, _ in keys]
    human, contexts = data.human[has_rating], data.context[has_rating]
    return labels(keys), groups, contexts, lambda: of_columns(human, scores, contexts)


def _systems(pool: Pool, target: Target, reliability: float) -> Sides:
    """Return the systems with a rated item."""
    points = pool.points[target[0]]
    human = points.human[target[1]]
    rows = np.isfinite(human) & (np.array(points.systems) != "")
    unit, names = points.units[rows], [points.systems[row] for row in np.flatnonzero(rows)]
    systems = list(dict.fromkeys(names))
    return (systems, [(name, False) for name in systems], unit,
            lambda: of_systems(human[rows], codes(names), unit, reliability))


def _typical_pair(spread: Array, groups: Sequence[Group]) -> tuple[int, int]:
    """Return the pair of different metrics, or systems, with the median spread; with controls only if necessary."""
    pairs = [(first, second) for second in range(len(groups)) for first in range(second)
             if groups[first] != groups[second]] or [(0, 1)]
    controls = [groups[first][1] + groups[second][1] for first, second in pairs]
    fewest = min(controls)
    ordered = sorted((pair for pair, count in zip(pairs, controls, strict=True) if count == fewest),
                     key=lambda pair: spread[pair])
    return ordered[len(ordered) // 2]
