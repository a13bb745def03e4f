"""Decisions from votes and scores: may a column replace a rater, what is it worth, does it share the first place?"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.decision_rows import Decision
from harness.results.rows import ColumnKey
from harness.run.compare import generator
from harness.run.correlate import TargetData
from harness.statistics.panel import Array, Codes, by_known_rows, folds, undefined
from harness.statistics.prediction import worth
from harness.statistics.reliability import SINGLE
from harness.statistics.replacement import LEAST, HeldOut, on_scale, replacement

MIN_CONTEXTS = 30
"""Minimum number of contexts for an accurate t test."""
BATCH = 1 << 20
"""Columns times votes that are tested at once."""


def decisions(target: TargetData, epsilon: float, seed: int, cache: Cache,
              tied: Collection[ColumnKey] = ()) -> Iterator[Decision]:
    """Yield the decision on every column; `tied` are the columns that share the first place."""
    if not target.names:
        return
    votes, exchangeable = _votes(target)
    fold = folds(target.units, generator(seed, *target.key))
    key = [*target.key, epsilon, exchangeable, votes.shape,
           digest(votes, target.judged.means, target.system, target.units, fold)]
    rows = cache.rows("decisions", key, list(map(digest, target.scores)),
                      functools.partial(_decision_rows, target, votes, fold, epsilon, exchangeable=exchangeable))
    for row, (metric, column) in enumerate(target.names):
        rho, rater_rho, constant_rho, rate, passes, replaces, items, raters, value, low, high = rows[row].tolist()
        yield Decision(*target.key, metric, column, rho, rater_rho, constant_rho, rate, bool(passes), bool(replaces),
                       value, low, high, (metric, column) in tied, epsilon, int(items), int(raters),
                       _note(target, row, votes, exchangeable=exchangeable))


def _votes(target: TargetData) -> tuple[Array, bool]:
    """Return the votes (raters, items), NaN if missing, and whether they must be treated as exchangeable."""
    table = target.judged.by_rater
    known = np.isfinite(table)
    if ((known & (known.sum(axis=0) > 1)).sum(axis=1) >= LEAST).sum() > 1:
        return table, False
    return target.judged.votes.T, True


def _decision_rows(target: TargetData, votes: Array, fold: Codes, epsilon: float, columns: Sequence[int], *,
             exchangeable: bool) -> Array:
    """Return 11 numbers per column: the eight fields of `Replacement`, and the worth with its interval."""
    scores, human = target.scores[[*columns]], target.judged.means
    numbers = np.full((len(columns), 11), np.nan)
    numbers[:, 4:8] = 0
    for rows, group in by_known_rows(np.isfinite(scores) & np.isfinite(human)):
        units = target.units[rows]
        held_out = HeldOut.of(votes[:, rows], units, exchangeable=exchangeable)
        size = max(1, BATCH // max(1, len(held_out.item)))
        for part in np.split(group, range(size, len(group), size)) if rows.sum() > 2 else ():
            if len(held_out.item):
                values = on_scale(held_out, scores[part][:, rows], fold[rows])
                tested = dataclasses.astuple(replacement(held_out, values, epsilon))
                numbers[part, :8] = np.stack(np.broadcast_arrays(*tested), axis=1)
            saved = worth(human[rows], scores[part][:, rows], target.system[rows], units, fold[rows])
            numbers[part, 8:] = np.stack([saved.value, saved.low, saved.high], axis=1)
    return numbers


def _note(target: TargetData, row: int, votes: Array, *, exchangeable: bool) -> str:
    """Return the caveats of a decision and the reasons for missing numbers."""
    shared = np.isfinite(votes).sum(axis=0) > 1
    contexts = len(np.unique(target.units[shared]))
    why = "raters are unknown" if not target.judged.raters else f"fewer than two raters share {LEAST} items with others"
    values = votes[:, shared][np.isfinite(votes[:, shared])]
    reason = undefined(target.panel(row))
    notes = {reason: True, SINGLE: not shared.any(),
             "all votes on items with several votes are equal":
                 values.size > 0 and np.ptp(values) == 0 and reason != "every rating is the same",
             f"{why}, so votes are treated as exchangeable": exchangeable and shared.any(),
             "2 raters: each is compared with only one other": len(votes) == 2 and shared.any(),
             f"{contexts} contexts: the test is rough below {MIN_CONTEXTS}": 0 < contexts < MIN_CONTEXTS}
    return "; ".join(note for note, applies in notes.items() if note and applies)
