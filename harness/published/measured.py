"""Mean Spearman of this run on each of the ten datasets whose judgements are public, next to published numbers.

A mean is over the qualities of a dataset, then over the turn-level datasets, nine in a whole run. Runs on part of a
dataset are left out, since published numbers are of whole datasets. The organisers of the challenge (`dstc10`, Table 3)
report the mean over the qualities of a dataset, as measured here. The assessment of 23 metrics (`yeh2021`) reports one
number per dataset without naming the quality: ROUGE-L on topical-usr (0.286, published 0.287) shows that it is the
overall quality without the original replies, which its code leaves out of the USR sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from harness.published import NAMES, PrintedNumber, Tables
from harness.results.rows import Results
from harness.run.rank import Rule, Target, by_column, dataset_mean, over, unseen
from metrics.column import of_aggregate

TURNS = ("convai2-grade", "dailydialog-grade", "empathetic-grade", "dailydialog-gupta", "dailydialog-zhao",
         "persona-zhao", "persona-usr", "topical-usr", "fed-turn")
DIALOGUES = ("fed-dial",)
CONTROLS = ("length", "cosine")
"""Columns that any useful metric must beat."""
PARTIAL = {"limit": "--limit", "sample": "--sample", "qualities": "--quality", "ratings sha256": "--ratings"}
"""Flags, by option, with which the means of a run are not comparable with published ones."""

LEVELS = ("turn", "dialogue")
ALIASES = {"bertscoref": "bertscore", "holisticcoherence": "holisticeval", "predictiveengagement": "predictiveengage"}
"""Columns by published names that differ in more than spelling."""
QUALITIES = {"interesting": "interestingness", "likability": "likeability", "topic depth": "depth",
             "understandable": "understandability", "natural": "naturalness", "overall quality": "overall",
             "semantically appropriateness": "semantic appropriateness"}
"""Names of the datasets' qualities by their published names."""
WITH_ORIGINALS = ("persona-usr", "topical-usr")
"""Datasets whose original replies, written by people, `yeh2021` leaves out."""
TEAMS = {"Team 5": "MME-CRS"}


@dataclass(frozen=True, slots=True)
class ColumnMeans:
    """The means of a column or published system by dataset, and over turn-level datasets; NaN if one is missing."""

    column: str
    mean: float
    sets: Mapping[str, float]

    @property
    def complete(self) -> bool:
        return math.isfinite(self.mean)


def partial(report: Results) -> str:
    """Return the flag that limited a run to part of its datasets, or an empty string."""
    return next((flag for option, flag in PARTIAL.items() if option in report.run.options), "")


def gather(report: Results, rule: Rule, names: Collection[str], others: Collection[str] = ()) -> list[ColumnMeans]:
    """Return the means of the columns of a report over the named datasets that it has, the best first.

    Rows also have the means on `others`; without real data there are no rows.
    """
    values = columns(report)
    usable: dict[str, list[Target]] = {}
    for target in sorted({target for row in values.values() for target in row}):
        usable.setdefault(target[0], []).append(target)
    targets = [target for name in names for target in usable.get(name, ())]
    rows = [ColumnMeans(name, over(rule, row, targets), {
        dataset: over(dataset_mean, row, usable[dataset]) for dataset in (*names, *others) if dataset in usable})
        for (_, name), row in values.items()]
    return sorted(rows, key=lambda row: (not row.complete, -row.mean if row.complete else 0.0, row.column))


def columns(report: Results) -> dict[tuple[str, str], dict[Target, float]]:
    """Return the finite Spearman correlations with real ratings, without those of metrics fitted on these ratings."""
    real = {entry.name for entry in report.datasets if entry.kind == "real"}
    rows = (row for row in report.correlations if row.statistic == "spearman" and row.dataset in real)
    values = by_column(unseen(rows, report.metrics, report.datasets))
    return {(metric, column): row for (_, metric, column), row in values.items()}


def challenge(turns: Collection[str] = ()) -> list[ColumnMeans]:
    """Return the baseline and the best submission of each team: their means over turn-level development datasets.

    Without `turns`, return their averages over the test datasets as published.
    """
    tables, rows = Tables.of("dstc10").where(table="Table 3" if turns else "Table 2"), []
    for name in tables.values("metric"):
        sets = {row.dataset: float(row.value) for row in tables.where(metric=name).rows}
        mean = fmean(sets.get(turn, math.nan) for turn in turns) if turns else sets["all"]
        rows.append(ColumnMeans(TEAMS.get(name, name) if turns else name, mean, sets))
    return sorted(rows, key=lambda row: -row.mean)


def printed_beside(report: Results) -> Iterator[tuple[str, PrintedNumber, float, str]]:
    """Yield a column, its published number on a dataset of this run, our value, and the qualities that we average.

    A published quality is matched by name or dimension. A number without a stated quality is compared with the overall
    quality; an average, or such a number without an overall quality, with the mean over the qualities. A number whose
    note names an aggregation of turn scores is compared only with the column of the same aggregation.
    """
    entries = {entry.name: entry for entry in report.datasets if entry.kind == "real"}
    values = {column: row for (_, column), row in columns(report).items()}
    by_name = {plain(column): column for column in values}
    for printed in (row for source in NAMES for row in Tables.of(source).rows):
        aggregation = re.search(r"turn scores aggregated by (\w+)", printed.note)
        metric = of_aggregate(TEAMS.get(printed.metric, printed.metric), aggregation[1] if aggregation else "mean")
        column = by_name.get(plain(metric), "")
        if not column or printed.statistic != "spearman" or printed.level not in LEVELS:
            continue
        qualities = {quality: value for (dataset, quality), value in values[column].items()
                     if dataset == printed.dataset}
        name = "overall" if printed.quality == "not stated" else QUALITIES.get(printed.quality, printed.quality)
        same = [quality.name for quality in (entries[printed.dataset].qualities if qualities else ())
                if name in (quality.name.casefold(), quality.dimension)]
        if same and same[0] in qualities:
            with_originals = printed.source == "yeh2021" and printed.dataset in WITH_ORIGINALS
            yield column, printed, qualities[same[0]], same[0] + ", original replies too" * with_originals
        elif qualities and printed.quality in ("average", "not stated"):
            names = next(iter(qualities)) if len(qualities) == 1 else "mean of its qualities"
            yield column, printed, fmean(qualities.values()), names


def plain(column: str) -> str:
    """Return a name in lower case without options and punctuation, so that names in papers match columns."""
    bare = re.sub(r"\[.*\]|[^a-z0-9]", "", column.casefold())
    return ALIASES.get(bare, bare)
