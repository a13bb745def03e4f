"""Correlations between the qualities that people rate on a dataset, and FineD-Eval's choice among the qualities.

Zhang et al. (2022) correlate the eleven qualities of FED's dialogues with each other, group them (Table 1) and select
three that a metric should have. The same is done here with every dataset of three qualities or more, without metrics,
and compared with the paper's numbers on fed-dial.

A pair is strong if its correlation is at least 0.75, as in the paper. The groups of the paper's Table 1 do not follow
from this threshold: pairs of 0.75 to 0.79 are separate there. The groups follow from the four observations that the
paper lists, all about pairs of at least 0.80, so pairs are joined at 0.80 or more. A group is a representative and all
qualities joined to it except other representatives. The representatives are the smallest set that reaches all joined
qualities; among several such sets, the one that correlates best with the overall quality. A quality can be in two
groups, as in the paper, and is then not selected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from benchmarks.dataset import Dataset
from harness.errors import BadConfig
from harness.published import Tables
from harness.published.exhibit import QUALITIES
from harness.results.exhibits import Grid, matrix, number
from harness.run.correlate import Judged, judged
from harness.statistics.coefficients import spearmans
from harness.statistics.reliability import multiply_rated
from harness.studies import Findings, StudyRequest

TITLE = "How the qualities that people rate are related"
FLAGS = ("dataset", "quality", "split")
SELECTION = ("quality", "ρ overall", "agreement", "no answer", "strong with", "in the group of", "selected", "paper")
PAPER = Tables.of("finedeval")
MIN_QUALITIES = 3
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
    low: float = math.nan
    high: float = math.nan

    @property
    def rounded(self) -> float:  # as in the paper; thresholds apply to this value
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
    """Relate the named or all qualities of a dataset; None if fewer than MIN_QUALITIES have varying ratings."""
    requested = {name.casefold() for name in qualities}
    rated = tuple(ratings for ratings in judged(dataset, dataset.card.qualities) if ratings.usable and (
        not requested or {ratings.quality.name.casefold(), ratings.quality.dimension} & requested))
    if len(rated) < MIN_QUALITIES:
        return None
    rng = np.random.default_rng(seed)
    pairs = tuple(pair(first, second, rng, draws) for first, second in itertools.combinations(rated, 2))
    overall = {name: row.spearman for row in pairs if "overall" in row[:2] for name in row[:2] if name != "overall"}
    names = [ratings.quality.dimension for ratings in rated if ratings.quality.dimension != "overall"]
    grouped = groups(names, pairs, overall)
    return Relations(dataset, rated, pairs, grouped, tuple(choices(rated, overall, grouped)))


def pair(first: Judged, second: Judged, rng: np.random.Generator, draws: int) -> QualityPair:
    """Return Spearman's ρ of the mean ratings; NaN for fewer than three items or a constant quality."""
    names = first.quality.dimension, second.quality.dimension
    has_both = np.isfinite(first.means) & np.isfinite(second.means)
    x, y = first.means[has_both], second.means[has_both]
    (value,) = spearmans(x, y[None])
    if np.isnan(value):
        return QualityPair(*names, len(x), math.nan)
    rows = rng.integers(len(x), size=(draws, len(x)))
    drawn = spearmans(x[rows], y[rows])
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (math.nan, math.nan)
    return QualityPair(*names, len(x), float(value), float(low), float(high))


def agreement(rated: Judged) -> float:
    """Return Spearman's ρ of votes with the mean of the votes on their item; NaN for too few or constant votes."""
    counts = np.isfinite(rated.votes).sum(axis=1)
    votes = multiply_rated(rated.votes)
    return float(spearmans(votes[np.isfinite(votes)], np.repeat(rated.means, np.where(counts > 1, counts, 0))[None])[0])


def absent(rated: Judged, raters: int) -> float:
    """Return the share of missing votes if each item should have `raters` votes."""
    return float(1 - np.isfinite(rated.votes).sum() / (raters * len(rated.votes)))


def groups(qualities: Sequence[str], pairs: Sequence[QualityPair], overall: Mapping[str, float],
           ) -> dict[str, tuple[str, ...]]:
    """Return each representative with its group, itself first."""
    joined: dict[str, set[str]] = {quality: set() for quality in qualities}
    for row in pairs:
        if joined.keys() >= {*row[:2]} and row.rounded >= JOINED:
            joined[row.first].add(row.second)
            joined[row.second].add(row.first)
    chosen = _representatives(joined, overall)
    return {name: (name, *(other for other in qualities if other in joined[name] and other not in chosen))
            for name in qualities if name in chosen}


def _representatives(joined: Mapping[str, set[str]], overall: Mapping[str, float]) -> tuple[str, ...]:
    """Return the smallest set that reaches all; ties go to the highest correlation with overall, then most partners."""
    single = tuple(name for name, others in joined.items() if not others)
    linked = [name for name, others in joined.items() if others]
    sets = ([names for names in itertools.combinations(linked, size)
             if all(name in names or joined[name] & set(names) for name in linked)] for size in range(len(linked) + 1))
    return (*single, *max(next(filter(None, sets)), key=lambda names: (
        sum(np.nan_to_num(overall.get(name, 0.0)) for name in names), sum(len(joined[name]) for name in names))))


def choices(rated: Sequence[Judged], overall: Mapping[str, float], grouped: Mapping[str, tuple[str, ...]],
            ) -> list[QualityChoice]:
    raters = max(ratings.votes.shape[1] for ratings in rated)
    rows = []
    for ratings in rated:
        if (name := ratings.quality.dimension) == "overall":
            continue
        value, agreed, missing = overall.get(name, math.nan), agreement(ratings), absent(ratings, raters)
        members = tuple(group for group, names in grouped.items() if name in names)
        checks = {"overall" if np.isfinite(value) else "no overall quality": value > OVERALL,
                  "agreement": agreed >= AGREEMENT, "no answer": missing <= ABSENT, "two groups": len(members) < 2,
                  "represented": name in grouped}
        reasons = tuple(reason for reason, passed in checks.items() if not passed)
        rows.append(QualityChoice(name, members, not reasons, reasons, value, agreed, missing))
    return rows


def study(request: StudyRequest) -> Findings:
    seed, qualities = request.settings.seed, request.settings.quality
    related = (relate(dataset, qualities, seed, request.draws) for dataset in request.datasets())
    if not (relations := list(filter(None, related))):
        raise BadConfig(f"no requested dataset has {MIN_QUALITIES} qualities or more whose ratings are not constant; "
                        "fed-dial has eleven")
    return findings(relations, seed, request.draws)


def findings(relations: Sequence[Relations], seed: int, draws: int) -> Findings:
    return Findings(
        tables=tuple(table for row in relations for table in _tables(row)),
        remarks=(
            ("Correlations are Spearman's ρ between the mean ratings of the items that have both qualities; 95 % "
            f"intervals in pair.csv are from {draws} bootstrap draws of items. Seed: {seed}."),
            (f"strong with: ρ of {STRONG:.2f} or more. Groups join pairs of {JOINED:.2f} or more; a group is a "
             "representative with all qualities joined to it, and the representatives are the fewest that reach every "
             "joined quality."),
            (f"selected: ρ with overall above {OVERALL}, agreement {AGREEMENT} or more, no answer at most "
             f"{100 * ABSENT:.0f} %, in one group only, and its representative. agreement: Spearman's ρ of each vote "
             "with the mean of all votes on its item. no answer: the share of votes missing, out of the most votes on "
             "any item.")),
        objects={kind: [{"dataset": row.dataset.card.name, "data": row.dataset.kind} | entry._asdict()
                        for row in relations for entry in entries(row)]
                 for kind, entries in (("pair", attrgetter("pairs")), ("choice", attrgetter("choices")))})


def _tables(relations: Relations) -> Iterator[Grid]:
    card = relations.dataset.card
    in_print = card.name == "fed-dial"
    data = f"{card.title}, {relations.dataset.kind}, {len(relations.dataset.items)} items"
    printed = {frozenset(group): ", ".join(group) for group in printed_groups()} if in_print else {}
    yield _correlations(relations, data)
    yield Grid(f"{card.name}-groups", "Groups of qualities", ("representative", "group", "paper"),
               tuple((name, ", ".join(members), printed.get(frozenset(members), "–" if in_print else ""))
                     for name, members in relations.groups.items()), data)
    yield Grid(f"{card.name}-selection", "Which qualities the rule selects", SELECTION,
               tuple(_selection(relations, in_print)), data)
    if in_print:
        yield Grid(f"{card.name}-print", "Compared with the paper", ("value", "here", "paper"),
                   tuple(_printed(relations)), data)


def _selection(relations: Relations, in_print: bool) -> Iterator[tuple[str, ...]]:
    printed = {QUALITIES.get(row.quality, row.quality) for row in PAPER.where(note="selected for a sub-metric").rows}
    for row in relations.choices:
        strong = [other for pair in relations.pairs if pair.rounded >= STRONG and row.quality in pair[:2]
                  for other in pair[:2] if other not in (row.quality, "overall")]
        yield (row.quality, number(row.overall), number(row.agreement, 3), number(row.absent),
               ", ".join(strong) or "–", ", ".join(row.groups),
               f"no: {', '.join(row.reasons)}" if row.reasons else "yes",
               ("yes" if row.quality in printed else "no") if in_print else "")


def _printed(relations: Relations) -> Iterator[tuple[str, ...]]:
    known = {frozenset(pair[:2]): pair.spearman for pair in relations.pairs}
    for (first, second), value in printed_pairs().items():
        yield f"{first} and {second}", number(known.get(frozenset((first, second)), math.nan)), str(value)
    values = [value for value in known.values() if math.isfinite(value)] or [math.nan]
    for words, function, note in (("lowest", min, "minimum"), ("highest", max, "maximum")):
        yield f"{words} of all pairs", number(function(values)), str(PAPER.row(quality="all pairs", note=note).value)
    rows = {row.quality: row for row in relations.choices}
    votes = PAPER.where(statistic="interannotator-spearman")
    if "consistency" in rows:
        yield ("agreement, consistency", number(rows["consistency"].agreement, 3),
               str(votes.row(quality="consistency").value))
        others = [row.agreement for name, row in rows.items() if name != "consistency" and math.isfinite(row.agreement)]
        yield ("lowest agreement of the others", number(min(others, default=math.nan), 3),
               f"above {votes.row(quality='all except consistency').value}")
    if "error recovery" in rows:
        yield ("no answer, error recovery", number(rows["error recovery"].absent),
               str(PAPER.row(quality="error recovery", statistic="fraction").value))


def printed_groups() -> list[tuple[str, ...]]:
    """Return the groups of the paper's Table 1, each with its representative first."""
    rows = PAPER.where(statistic="group-membership")
    return [tuple(QUALITIES.get(row.quality, row.quality) for row in rows.where(metric=group).rows)
            for group in rows.values("metric")]


def printed_pairs() -> dict[tuple[str, str], Decimal]:
    """Return the correlations of pairs of qualities that the paper's Section 2.1 reports."""
    pairs = ((row.quality.split(" ~ "), row.value) for row in PAPER.rows if " ~ " in row.quality)
    return {(QUALITIES.get(first, first), QUALITIES.get(second, second)): value for (first, second), value in pairs}


def _correlations(relations: Relations, data: str) -> Grid:
    labels = tuple(ratings.quality.dimension for ratings in relations.rated)
    values = np.eye(len(labels))
    for pair in relations.pairs:
        i, j = map(labels.index, pair[:2])
        values[i, j] = values[j, i] = pair.spearman
    return matrix(f"{relations.dataset.card.name}-correlations", "Correlations of mean ratings", labels, values, data)
