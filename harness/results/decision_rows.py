"""Rows of what a correlation decides: replacement and worth, firmness of first places, and disagreement of raters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Decision:
    """The use of a column on a target: replacing a rater, saving ratings, sharing the first place.

    `rho`, `rater_rho` and `constant_rho` are the shares of items on which the column, the raters and the best constant
    are at least as near to the other raters; `passes` and `replaces` are the verdicts of statistics/replacement.py at
    `epsilon`, over `items` items and `raters` compared raters, 0 if votes are exchangeable. `worth` is the number of
    ratings that one rating with the column replaces, with its 95 % interval. `tied_first`: not significantly below the
    best column that was not fitted on these ratings. A number is NaN, and a verdict false, where `note` gives a reason.
    """

    KEY: ClassVar = ("dataset", "quality", "metric", "column")
    dataset: str
    quality: str
    metric: str
    column: str
    rho: float
    rater_rho: float
    constant_rho: float
    winning_rate: float
    passes: bool
    replaces: bool
    worth: float
    worth_low: float
    worth_high: float
    tied_first: bool
    epsilon: float
    items: int
    raters: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Firmness:
    """The first column of a board, and the fewest datasets, contexts or votes without which another metric is first.

    `among` is all, or unfitted for the columns of metrics that were not fitted on ratings. `removed` of `of` units are
    enough for `successor` to have a higher value, for datasets exactly, else at most; None if no removal was found.
    `names` are the datasets removed; `tied` are the columns over which its lead is not established.
    """

    KEY: ClassVar = ("board", "origin", "rule", "statistic", "among", "unit")
    board: str
    origin: str
    rule: str
    statistic: str
    among: str
    metric: str
    column: str
    unit: str
    removed: int | None
    of: int
    successor: str
    names: tuple[str, ...]
    tied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Spearman's correlations of a column by the raters' spread: on the items on which they agree most, less, least.

    Each is on about a third of the items with two or more votes. `divergence` is the mean Jensen-Shannon divergence of
    scores from 0 to 1 and the votes on a quality of two values, in bits.
    """

    KEY: ClassVar = ("dataset", "quality", "metric", "column")
    dataset: str
    quality: str
    metric: str
    column: str
    agreed: float
    mixed: float
    disputed: float
    agreed_items: int
    mixed_items: int
    disputed_items: int
    divergence: float = math.nan


@dataclass(frozen=True, slots=True)
class VoteCount:
    """Votes of a value on the items in a fifth of the scores, from `low` to `high`, of the best column of a quality.

    `rating` is the value, or the middle of a range of values where there are many.
    """

    KEY: ClassVar = ("dataset", "quality", "fifth", "rating")
    dataset: str
    quality: str
    metric: str
    column: str
    fifth: int
    low: float
    high: float
    rating: float
    votes: int
