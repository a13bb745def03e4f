"""The page that compares each metric on ratings of chatbots up to 2021 and of today's models, by source.

A source is all datasets with the same citation. A column is averaged over the qualities of each dataset, then over the
datasets of each source, then over the sources; targets on which it has no value, or was fitted, do not count. The 95 %
interval is Student's t over the sources, so it generalises to other sources; a single source has none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import scipy

from harness.results.entries import DatasetEntry
from harness.results.rows import Results
from leaderboard.blocks.cells import MISSING, column_cell, interval, number_cell
from leaderboard.blocks.tables import Cell, Dot, Dots, Heading, Page, Prose, Row, Section, Table
from leaderboard.model.boards import CHALLENGE, RECENT, Part, parts
from leaderboard.model.index import ColumnKey, cached_by_results, descending, make_index, plural
from leaderboard.texts import TEXTS

MAX_MEANS = 12
"""Number of best columns drawn per era; controls are always drawn."""
CAPTION = "Mean Spearman correlation, with its 95 % interval over sources; a value from one source has no interval."


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a column over the sources of an era, with its 95 % interval; NaN if unknown."""

    value: float
    low: float
    high: float
    sources: Mapping[str, float]


def build(results: Results) -> tuple[Page, ...]:
    column_means = means(results)
    if not column_means:
        return ()
    index, by_era = make_index(results), {part.era: part for part in parts(results)}
    first_columns = {metric: (metric, column) for metric, column in reversed(column_means)}
    compared = {column: pair for column, pair in column_means.items() if first_columns[column[0]] == column}
    groups = [(position, source, entries) for position, era in enumerate((CHALLENGE, RECENT))
              for source, entries in _sources(by_era[era]).items()]

    def row(column: ColumnKey, pair: tuple[Mean, Mean]) -> Row:
        values = (pair[position].sources.get(source) for position, source, _ in groups)
        return (column_cell(index, column), *(
            number_cell(mean.value)._replace(small=interval(mean.low, mean.high)) for mean in pair), *(
            Cell(MISSING, title="no value") if value is None else number_cell(value, shaded=True) for value in values))

    headings = ("Metric", Heading("Until 2021", "number", "95 % interval"),
                Heading("From 2022 on", "number", "95 % interval"), *(
                    Heading(source, "number", ("until 2021", "from 2022 on")[position],
                            ", ".join(entry.name for entry in entries)) for position, source, entries in groups))
    table = Table.of("means", "Mean Spearman correlation with human ratings, by source", headings,
                     (row(*pair) for pair in compared.items()), index.describe_data())
    controls = {entry.name for entry in results.metrics if entry.family == "control"}
    several_sources = [pair for column, pair in compared.items() if column[0] not in controls
                       and all(len(mean.sources) > 1 for mean in pair)]
    complete = {column: pair for column, pair in compared.items() if all(math.isfinite(mean.value) for mean in pair)}
    best = {column for era in (0, 1)
            for column in sorted(complete, key=lambda name: -complete[name][era].value)[:MAX_MEANS]}
    dots = [Dot(column_cell(index, column), then.value, then.low, then.high, now.value, now.low, now.high)
            for column, (then, now) in complete.items() if column in best or column[0] in controls]
    return (Page("holds-up.html", "What holds up on recent ratings", "Then and now", (
        Section("picture", "", (Dots(dots, CAPTION, {"dot": CHALLENGE.title, "other": RECENT.title}),)),
        Section("sources", "By source", (
            Prose(TEXTS["holds_up"]["rule"]), table, Prose("Every column: holds-up.csv", link="holds-up.csv")))),
                 lead=_lead(several_sources), order=2),)


def _lead(several_sources: Sequence[tuple[Mean, Mean]]) -> str:
    """State how many metrics agree with people until 2021, and how many of these from 2022 on."""
    if not several_sources:
        return "No metric has values on several sources of each era."
    now_if_then = [now for then, now in several_sources if then.low > 0]
    then, now = len(now_if_then), sum(now.low > 0 for now in now_if_then)
    today = f" On today’s models, {now or 'none'} of {then} {'do' if now > 1 else 'does'}." if then else ""
    return (f"Of {plural(len(several_sources), 'metric')} with values on several sources of each era, {then or 'none'} "
            f"{'agree' if then > 1 else 'agrees'} with people on chatbots up to 2021: the 95 % interval of the mean "
            f"lies above 0.{today}")


@cached_by_results
def means(results: Results) -> dict[ColumnKey, tuple[Mean, Mean]]:
    """Return the means until 2021 and from 2022 on, the best until 2021 first; empty unless both have real data."""
    by_era = {part.era: part for part in parts(results)}
    real = any(entry.kind == "real" for entry in results.datasets)
    if not real or not {CHALLENGE, RECENT} <= by_era.keys():
        return {}
    then, now = (_means(by_era[era]) for era in (CHALLENGE, RECENT))
    unknown = Mean(math.nan, math.nan, math.nan, {})
    pairs = {column: (then.get(column, unknown), now.get(column, unknown)) for column in {**then, **now}}
    return dict(sorted(pairs.items(), key=lambda pair: (*(descending(mean.value) for mean in pair[1]), pair[0])))


def _sources(part: Part) -> dict[str, list[DatasetEntry]]:
    """Group the datasets of an era by source; a source is named after the words that its datasets' names share."""
    by_citation: dict[str, list[DatasetEntry]] = defaultdict(list)
    for entry in sorted(part.results.datasets, key=lambda entry: entry.name):
        by_citation[entry.citation or entry.name].append(entry)
    by_name = {}
    for entries in by_citation.values():
        words, *other_names = (entry.name.split("-") for entry in entries)
        shared = [word for word in words if all(word in name_words for name_words in other_names)]
        by_name["-".join(shared) or f"{entries[0].name} and {len(other_names)} more"] = entries
    return by_name


def _means(part: Part) -> dict[ColumnKey, Mean]:
    index, by_source = make_index(part.results), _sources(part)
    means: dict[ColumnKey, Mean] = {}
    for column in {column for columns in index.columns.values() for column in columns}:
        values = {source: fmean(of_datasets) for source, entries in by_source.items()
                  if (of_datasets := [fmean(known) for entry in entries if (known := [
                      value for quality in entry.qualities
                      if math.isfinite(value := index.value((entry.name, quality.name), column))])])}
        if values:
            mean, count = fmean(values.values()), len(values)
            half_width = math.nan if count == 1 else float(
                scipy.special.stdtrit(count - 1, 0.975)) * stdev(values.values()) / math.sqrt(count)
            means[column] = Mean(mean, mean - half_width, mean + half_width, values)
    return means
