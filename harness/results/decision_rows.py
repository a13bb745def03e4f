"""Rows for decisions based on metrics: replacement and worth, firmness of first places, and disagreement of raters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Decision:
    """The use of a column on a target: replacing a rater, saving ratings, sharing the first place.

    `rho` is the share of items on which the column is at least as near to the other raters as a rater is. `rater_rho`
    is the rater's share against the column, `constant_rho` the best constant's share against the rater. `passes` and
    `replaces` are the verdicts of statistics/replacement.py at `epsilon`, over `items` items and `raters` compared
    raters (0 if votes are exchangeable). `worth` is the number of ratings that one rating with the column replaces,
    with its 95 % interval. `tied_first` is True if the column is not significantly below the best one that was not
    fitted on these ratings. Numbers are NaN, and verdicts false, where `note` gives a reason.
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

    `among` is all, or unfitted for the columns of metrics that were not fitted on ratings. Removing `removed` of `of`
    units puts `successor` ahead. This number is the minimum for datasets, an upper bound for contexts and votes, and
    None if no removal was found. `names` are the datasets removed; `tied` are the columns over which the lead is not
    established.
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
    """Spearman correlations of a column by the raters' agreement: high (`agreed`), medium (`mixed`), low (`disputed`).

    Each covers about a third of the items with two or more votes. `divergence` is the mean Jensen-Shannon divergence
    between scores from 0 to 1 and the votes on a quality with two values, in bits.
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
    """The number of votes with the value `rating` on the items in one fifth of the scores of a quality's best column.

    `low` to `high` is the range of these scores. If votes have many values, `rating` is the midpoint of a bin.
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
