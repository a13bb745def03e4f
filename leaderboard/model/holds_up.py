"""The mean of each column on ratings of chatbots up to 2021 and of today's models, by source.

A source is all datasets of one citation. A column is averaged over the qualities of each dataset, then over the
datasets of each source, then over the sources; targets on which it has no value, or was fitted, do not count. The 95 %
interval is Student's t over the sources, so it is about other sources, and there is none for a single source.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import scipy

from harness.results.rows import DatasetEntry, Results
from leaderboard.model.eras import CHALLENGE, RECENT, Part, parts
from leaderboard.model.index import Column, descending, make_index, once


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a column over the sources of an era, with its 95 % interval; NaN if unknown."""

    value: float
    low: float
    high: float
    sources: Mapping[str, float]

    @property
    def positive(self) -> bool:
        """Return True if the interval lies above 0."""
        return self.low > 0


@once
def means(results: Results) -> dict[Column, tuple[Mean, Mean]]:
    """Return the means until 2021 and from 2022 on, the best until 2021 first; empty without real data of both."""
    by_era = {part.era: part for part in parts(results)}
    real = any(entry.kind == "real" for entry in results.datasets)
    if not real or not {CHALLENGE, RECENT} <= by_era.keys():
        return {}
    then, now = (_means(by_era[era]) for era in (CHALLENGE, RECENT))
    none = Mean(math.nan, math.nan, math.nan, {})
    pairs = {column: (then.get(column, none), now.get(column, none)) for column in {**then, **now}}
    return dict(sorted(pairs.items(), key=lambda pair: (*(descending(mean.value) for mean in pair[1]), pair[0])))


def sources(part: Part) -> dict[str, list[DatasetEntry]]:
    """Group the datasets of an era by source."""
    by_citation: dict[str, list[DatasetEntry]] = defaultdict(list)
    for entry in sorted(part.results.datasets, key=lambda entry: entry.name):
        by_citation[entry.citation or entry.name].append(entry)
    return {_name([entry.name for entry in entries]): entries for entries in by_citation.values()}


def _name(datasets: Sequence[str]) -> str:
    """Name a source by the words that the names of its datasets share."""
    first, *others = (name.split("-") for name in datasets)
    shared = [word for word in first if all(word in other for other in others)]
    return "-".join(shared) or f"{datasets[0]} and {len(datasets) - 1} more"


def _means(part: Part) -> dict[Column, Mean]:
    index, by_source = make_index(part.results), sources(part)
    means: dict[Column, Mean] = {}
    for column in {column for columns in index.columns.values() for column in columns}:
        values = {source: fmean(of_datasets) for source, entries in by_source.items()
                  if (of_datasets := [fmean(known) for entry in entries if (known := [
                      value for quality in entry.qualities
                      if math.isfinite(value := index.value((entry.name, quality.name), column))])])}
        if values:
            mean, count, reach = fmean(values.values()), len(values), math.nan
            if count > 1:
                reach = float(scipy.special.stdtrit(count - 1, 0.975)) * stdev(values.values()) / math.sqrt(count)
            means[column] = Mean(mean, mean - reach, mean + reach, values)
    return means
