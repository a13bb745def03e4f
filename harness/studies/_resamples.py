"""Resamples of a dataset as counts of its items: the whole, random halves, and a bootstrap.

What is drawn, or falls into one half or the other, is a context with all its items, since items of one context are not
independent; where no context is shared these are the items. All qualities of a dataset share its resamples.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from harness.run.correlate import TargetData
from harness.statistics.panel import Codes
from harness.statistics.resampled_levels import FEW, Single

MOST = 2000
"""Of more rated items, so many are taken at random, in whole contexts but for the last."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How many halvings and how many bootstrap draws; resamples stand as whole, first halves, second halves, draws."""

    halvings: int
    draws: int

    @property
    def first(self) -> slice:
        """The first halves."""
        return slice(1, 1 + self.halvings)

    @property
    def second(self) -> slice:
        """The second halves, in the order of the first."""
        return slice(1 + self.halvings, 1 + 2 * self.halvings)

    @property
    def drawn(self) -> slice:
        """The bootstrap."""
        return slice(1 + 2 * self.halvings, None)


def resamples(cell: TargetData, seed: int, amount: Amount) -> tuple[Codes, Single]:
    """The rows of the cell that are looked at, and how often each resample holds them: (resamples, rows)."""
    own = int.from_bytes(hashlib.sha256(cell.dataset.encode()).digest()[:8], "big")
    rng = np.random.default_rng([seed, own])
    unit = units(cell.context)
    size = int(unit.max()) + 1
    order = rng.permutation(size)
    half = rng.permuted(np.tile(2 * np.arange(size) < size, (amount.halvings, 1)), axis=1)
    drawn = rng.multinomial(size, np.full(size, 1 / size), size=amount.draws)
    rated = np.flatnonzero(np.isfinite(cell.judged.means))
    rows = np.sort(rated[np.argsort(order[unit[rated]], kind="stable")][:MOST])
    counts = np.concatenate([np.ones((1, size)), half, ~half, drawn]).astype(np.float32)
    return rows, counts[:, unit[rows]]


def units(context: Codes) -> Codes:
    """What each item is drawn with: its context, or nothing where contexts are fewer than FEW."""
    contexts = np.unique(context, return_inverse=True)[1].ravel()
    return contexts if contexts.max(initial=-1) + 1 >= FEW else np.arange(len(context))
