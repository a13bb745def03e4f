"""A row of the study of DailyDialog++: a column of a metric, compared with references in one way, and its worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.corpora.dailydialogpp import Context, Kind, Part
from harness.statistics.panel import Vector
from harness.studies._pp_changes import Change
from harness.studies._pp_items import KINDS, Beside, Replies, replies
from harness.studies._pp_scoring import Entry, Scorer, Way, entries
from harness.studies._pp_verdicts import Threshold, Verdict, accuracy, taken, threshold, verdict
from metrics.registry import Chosen

NEGATIVES: tuple[Kind, ...] = ("random", "adversarial")


@dataclass(frozen=True, slots=True)
class Row:
    """`at_best` is the accuracy at the threshold that is best on the development part, for trained metrics as well.

    `shares` says what part of the changed relevant replies is still taken for relevant; only main rows have it.

    `training` is the metric's option `negatives`, where it has one: the irrelevant replies that it was trained with.
    """

    label: str
    name: str
    column: str
    way: Way
    main: bool
    training: str | None
    threshold: Threshold
    scores: Vector
    verdicts: Mapping[Kind, Verdict]
    at_best: Mapping[Kind, float]
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Material:
    """The replies of both parts, made when they are first asked for."""

    contexts: Mapping[Part, Sequence[Context]]
    changes: Mapping[str, Change]
    seed: int
    _made: dict[tuple[str, ...], Replies] = field(default_factory=dict)

    def replies(self, part: Part, beside: Beside, kinds: Sequence[Kind] = KINDS, change: str = "unchanged") -> Replies:
        """The replies of these kinds with these references."""
        key = (part, beside, *kinds, change)
        if key not in self._made:
            name = f"dailydialogpp {part}" + (f" {change}" if change != "unchanged" else "")
            self._made[key] = replies(name, self.contexts[part], beside, self.seed, kinds, self.changes[change])
        return self._made[key]


BLENDS = {"ruber", "bert-ruber"}
"""Columns of trained metrics that mix a learnt probability with a cosine."""


def _learned(column: str) -> bool:
    """Whether a trained metric's column is a probability that was learnt, and not a cosine, a blend or a rank."""
    return column not in BLENDS and not column.endswith(("-referenced", "-mlm"))


def rows(chosen: Chosen, material: Material, scorer: Scorer) -> list[Row]:
    """Every row of a metric; none where it cannot be scored, and then the scorer knows why."""
    found: list[Row] = []
    shares: dict[str, dict[str, float]] = {}
    for entry in entries(chosen):
        own = _of_entry(entry, chosen, material, scorer)
        if entry.main and own:
            shares = _shares(entry, own, material, scorer)
        found += own
    if scorer.skips.get(chosen.label) or scorer.failures.get(chosen.label):
        return []
    return [row for column in chosen.metric.card.columns
            for row in _distinct([row for row in found if row.column == column], shares.get(column, {}))]


def _of_entry(entry: Entry, chosen: Chosen, material: Material, scorer: Scorer) -> list[Row]:
    """Scores on both parts, thresholds from the first, verdicts on the second."""
    whole = entry.metric.card.scope == "dataset"  # then the other replies matter, and should be as in the test
    tuning = material.replies("dev", entry.beside, KINDS if whole else ("positive", "random"))
    test = material.replies("test", entry.beside)
    before = scorer.score(entry, tuning)
    after = scorer.score(entry, test)
    if before is None or after is None:
        return []
    tuned, relevant = tuning.kinds != "adversarial", tuning.kinds == "positive"
    found = []
    for column in entry.metric.card.columns:
        at = threshold(before.columns[column][tuned], relevant[tuned],
                       entry.trained and _learned(column))
        best = threshold(before.columns[column][tuned], relevant[tuned], trained=False)
        scores = after.columns[column]
        found.append(Row(
            entry.label, column + chosen.suffix, column, entry.way, False,
            getattr(entry.metric, "negatives", None), at, scores,
            {kind: verdict(scores, test, kind, at.value) for kind in NEGATIVES},
            {kind: accuracy(scores, test, kind, best.value) for kind in NEGATIVES}))
    return found


def _shares(entry: Entry, own: Sequence[Row], material: Material, scorer: Scorer) -> dict[str, dict[str, float]]:
    """For each column and change the share that is still taken for relevant, of the replies that have a score."""
    found: dict[str, dict[str, float]] = {row.column: {} for row in own}
    for change in material.changes:
        given = material.replies("test", entry.beside, ("positive",), change)
        scores = None if change == "unchanged" else scorer.score(entry, given)
        for row in own:
            if change == "unchanged":
                values = row.scores[material.replies("test", entry.beside).kinds == "positive"]
            elif scores is not None:
                values = scores.columns[row.column]
            else:
                continue
            said = taken(values, row.threshold.value)
            found[row.column][change] = float(np.nanmean(said)) if np.isfinite(said).any() else np.nan
    return found


def _distinct(own: list[Row], shares: Mapping[str, float]) -> list[Row]:
    """The rows of a column; without the standard way where it is one of the others, which is then the main one.

    A column that has the same scores in every way takes no reference.
    """
    if not own:
        return []
    if len(own) > 1 and all(np.array_equal(row.scores, own[0].scores, equal_nan=True) for row in own):
        return [dataclasses.replace(own[-1], way="none", main=True, shares=shares)]
    last = own[-1]
    same = next((row for row in own[:-1] if row.way != "single"
                 and np.array_equal(row.scores, last.scores, equal_nan=True)), None)
    kept = own[:-1] if same else own
    main = same or last
    return [dataclasses.replace(row, main=True, shares=shares) if row is main else row for row in kept]
