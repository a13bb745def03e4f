"""Means measured here: mean Spearman within each of the ten datasets whose judgements are public, beside print.

    gather(report) -> PublishedComparison      one MeasuredColumn per column, the best first, with print beside it

A mean is over the qualities of a dataset; a row's mean is over the turn-level datasets, nine where all are
there. Runs of a part of a dataset have no place, since print is of the whole.

The organisers of the challenge (`dstc10`, Table 3) print the mean over the qualities of a dataset, which is what is
measured here. The assessment of 23 metrics (`yeh2021`) prints one figure per dataset without naming the quality.
ROUGE-L on topical-usr comes to it (0.286, printed 0.287) on the overall quality without the original replies, which
its code leaves out of the USR sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from harness.published import NAMES, PrintedNumber, Tables
from harness.results.rows import Results, fitted
from harness.run.rank import Target, dataset_mean, over

TURNS = ("convai2-grade", "dailydialog-grade", "empathetic-grade", "dailydialog-gupta", "dailydialog-zhao",
         "persona-zhao", "persona-usr", "topical-usr", "fed-turn")
DIALOGUES = ("fed-dial",)
CONTROLS = ("length", "cosine")
"""Columns that a metric must beat to be worth having."""
PARTIAL = {"limit": "--limit", "sample": "--sample", "qualities": "--quality", "ratings sha256": "--ratings"}
"""Options under which a run's means are not those of the datasets as they were published."""

LEVELS = ("turn", "dialogue")
ALIASES = {"bertscoref": "bertscore", "holisticcoherence": "holisticeval", "predictiveengagement": "predictiveengage"}
"""Columns whose printed name is not their own in another spelling."""
QUALITIES = {"interesting": "interestingness", "likability": "likeability", "topic depth": "depth",
             "understandable": "understandability", "natural": "naturalness", "overall quality": "overall",
             "semantically appropriateness": "semantic appropriateness"}
"""Qualities that papers spell otherwise than the datasets."""
WITH_ORIGINALS = ("persona-usr", "topical-usr")
"""Datasets whose original replies, by people, `yeh2021` leaves out."""
TEAMS = {"Team 5": "MME-CRS"}
"""The team whose system has a name of its own in print."""


@dataclass(frozen=True, slots=True)
class PrintedSystem:
    """What the challenge prints of one system, by dataset."""

    name: str
    sets: Mapping[str, float]

    def mean(self, datasets: Collection[str]) -> float:
        """The mean over datasets; NaN where one is not printed."""
        return fmean(self.sets.get(name, math.nan) for name in datasets)


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """The means of a column, NaN where a target is missing."""

    column: str
    models: tuple[str, ...]
    mean: float
    sets: Mapping[str, float]

    @property
    def complete(self) -> bool:
        """Whether no turn-level target is missing."""
        return math.isfinite(self.mean)


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """The table: its turn-level datasets, all its datasets, the rows, and what the challenge prints on them."""

    turns: tuple[str, ...]
    datasets: tuple[str, ...]
    rows: tuple[MeasuredColumn, ...]
    challenge: tuple[PrintedSystem, ...]


def partial(report: Results) -> str:
    """Name the flag by which a run was of a part of its datasets; empty where it was not."""
    return next((flag for option, flag in PARTIAL.items() if option in report.run.options), "")


def gather(report: Results) -> PublishedComparison:
    """The columns of a report of whole datasets beside print; no datasets where none of the ten is real in it."""
    columns, models = _columns(report), {entry.name: entry.models for entry in report.metrics}
    usable: dict[str, list[Target]] = {}
    for target in sorted({target for values in columns.values() for target in values}):
        usable.setdefault(target[0], []).append(target)
    turns = tuple(name for name in TURNS if name in usable)
    datasets = (*turns, *(name for name in DIALOGUES if name in usable))
    targets = [target for name in turns for target in usable[name]]
    rows = [MeasuredColumn(name, models[metric], over(dataset_mean, values, targets),
                           {dataset: over(dataset_mean, values, usable[dataset]) for dataset in datasets})
            for (metric, name), values in columns.items()]
    rows.sort(key=lambda row: (not row.complete, -row.mean if row.complete else 0.0, row.column))
    return PublishedComparison(turns, datasets, tuple(rows), challenge(turns) if turns else ())


def _columns(report: Results) -> dict[tuple[str, str], dict[Target, float]]:
    """The finite Spearman correlations on the ten datasets, by metric and column."""
    columns: dict[tuple[str, str], dict[Target, float]] = {}
    learned = fitted(report.metrics, report.datasets)
    real = {entry.name for entry in report.datasets if entry.kind == "real"} & {*TURNS, *DIALOGUES}
    for row in report.correlations:
        if row.statistic == "spearman" and row.dataset in real and (row.metric, row.dataset) not in learned:
            values = columns.setdefault((row.metric, row.column), {})
            if math.isfinite(row.value):
                values[row.dataset, row.quality] = row.value
    return columns


def challenge(turns: Collection[str]) -> tuple[PrintedSystem, ...]:
    """The baseline and the best submission of each team, by their mean over the turn-level datasets, highest first."""
    tables = Tables.of("dstc10").where(table="Table 3")
    teams = [PrintedSystem(TEAMS.get(name, name), {row.dataset: float(row.value)
                                                   for row in tables.where(metric=name).rows})
             for name in tables.values("metric")]
    return tuple(sorted(teams, key=lambda team: -team.mean(turns)))


def printed_beside(report: Results) -> Iterator[tuple[str, PrintedNumber, float, str]]:
    """What papers print of a metric on a dataset of this run: its column, the number, ours and what ours is over.

    A printed quality is found by its name or dimension. One that is not stated is beside the overall quality, which it
    is on topical-usr (above), though there the paper leaves out the original replies; an average, and one that is not
    stated of a dataset without overall quality, is beside the mean over the qualities.
    """
    real = {entry.name: entry for entry in report.datasets if entry.kind == "real"}
    values: dict[str, dict[Target, float]] = {}
    learned = fitted(report.metrics, report.datasets)
    for row in report.correlations:
        if row.statistic == "spearman" and row.dataset in real and math.isfinite(row.value) \
                and (row.metric, row.dataset) not in learned:
            values.setdefault(row.column, {})[row.dataset, row.quality] = row.value
    columns = {name: column for column in values for name in (plain(column),)}
    for printed in (row for source in NAMES for row in Tables.of(source).rows):
        column = columns.get(plain(TEAMS.get(printed.metric, printed.metric)), "")
        if printed.statistic != "spearman" or printed.level not in LEVELS or not column or printed.dataset not in real:
            continue
        own = {quality: value for (dataset, quality), value in values[column].items() if dataset == printed.dataset}
        asked = "overall" if printed.quality == "not stated" else QUALITIES.get(printed.quality, printed.quality)
        same = [quality.name for quality in real[printed.dataset].qualities
                if asked in (quality.name.casefold(), quality.dimension)]
        if same and same[0] in own:
            whole = printed.source == "yeh2021" and printed.dataset in WITH_ORIGINALS
            yield column, printed, own[same[0]], f"{same[0]}, original replies too" if whole else same[0]
        elif own and printed.quality in ("average", "not stated"):
            yield column, printed, fmean(own.values()), next(iter(own)) if len(own) == 1 else "mean of its qualities"


def plain(column: str) -> str:
    """A name without options, signs and capitals, as papers and columns have it in common."""
    bare = re.sub(r"[^a-z0-9]", "", column.partition("[")[0].casefold())
    return ALIASES.get(bare, bare)
