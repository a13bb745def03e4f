"""The challenge as an exhibit: the winner under each rule, published and recomputed averages, and this run.

Published numbers are of whole datasets, so a run is compared with them only on complete, real datasets, by its mean
correlation over the qualities of a dataset, then over the turn-level datasets (nine in all). The organisers (`dstc10`,
Table 3) report the mean over the qualities of a dataset, as measured here. The assessment of 23 metrics (`yeh2021`)
reports one number per dataset without naming the quality: ROUGE-L on topical-usr (0.286, published 0.287) shows that it
is the overall quality without the original replies, which its code leaves out of the USR sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.published import NAMES, PRINTED, TEST_SETS, PrintedNumber, PrintedTable, Tables, boards
from harness.results.entries import fitted
from harness.results.exhibits import Exhibit, Grid, number
from harness.results.pooled import by_column
from harness.results.rows import ColumnKey, Results, Target
from harness.run.rank import cell_weights, mean
from metrics.column import of_aggregate

COMMAND = "harness challenge publish dstc10-track5"
LEAD = ("Numbers that papers about DSTC10 Track 5 report for the teams' submissions, averages recomputed from them, "
        "and this run on the same data. No team's submission was run here.")
PUBLISHED = "published numbers: the organisers' paper and MME-CRS, not this run"
RULE_TITLES = {"test": "test rule: mean over all qualities of all datasets",
               "dev": "dev rule: mean over datasets of the mean over their qualities",
               "borda": "Borda: competitors beaten, summed over the columns"}
PARTIAL = "This run was made with {}, so it does not cover whole datasets and is not compared with published numbers."
NOTHING = ("This run has none of the challenge's datasets with real ratings. Numbers on the bundled sample are not "
           "comparable.")
CAVEAT = ("The means in the first table are over {}, for this run and, from published numbers, for the teams; so "
          "they differ from the averages over 14 datasets in the organisers' Table 3. The teams knew the ratings of "
          "the development datasets when they chose their submissions; a column of this run has no value on a "
          "dataset on whose ratings its weights were fitted.")
REMARKS = (
    "recomputed: from the other numbers in the same table, which are rounded.",
    ("The organisers ranked submissions by the dev rule on development and by the test rule on test datasets. Their "
     "tables have one average per dataset, of each team's best submission; the test rule weights it by the dataset's "
     "number of qualities. Team 5 is MME-CRS; its own paper reports a different run from the organisers' paper, and "
     "calls the teams ranked below it only Top 2 to Top 5."))
MAX_COLUMNS = 12
PRINTED_TEAM = "challenge, as published"

TURNS = ("convai2-grade", "dailydialog-grade", "empathetic-grade", "dailydialog-gupta", "dailydialog-zhao",
         "persona-zhao", "persona-usr", "topical-usr", "fed-turn")
DIALOGUES = ("fed-dial",)
CONTROLS = ("length", "cosine")  # columns that any useful metric must beat
LIMITING = {"limit": "--limit", "sample": "--sample", "qualities": "--quality", "ratings sha256": "--ratings"}
"""Flags, by option, that make the means of a run incomparable with published means."""

LEVELS = ("turn", "dialogue")
ALIASES = {"bertscoref": "bertscore", "holisticcoherence": "holisticeval", "predictiveengagement": "predictiveengage"}
"""Columns by their published names, where these differ in more than spelling."""
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


def limiting_flag(report: Results) -> str:
    """Return the flag that limited a run to part of its datasets, or an empty string."""
    return next((flag for option, flag in LIMITING.items() if option in report.run.options), "")


def gather(report: Results, rule: str, names: Collection[str], others: Collection[str] = ()) -> list[ColumnMeans]:
    """Return the means of the columns of a report over the named datasets that it has, the best first.

    Rows also have the means on `others`; without real data there are no rows.
    """
    values = columns(report)
    usable: dict[str, list[Target]] = {}
    for target in sorted({target for row in values.values() for target in row}):
        usable.setdefault(target[0], []).append(target)
    targets = [target for name in names for target in usable.get(name, ())]
    rows = [ColumnMeans(name, mean(row, cell_weights(targets, rule)), {
        dataset: mean(row, cell_weights(usable[dataset], rule)) for dataset in (*names, *others) if dataset in usable})
        for (_, name), row in values.items()]
    return sorted(rows, key=lambda row: (not row.complete, -row.mean if row.complete else 0.0, row.column))


def columns(report: Results) -> dict[ColumnKey, dict[Target, float]]:
    """Return the finite Spearman correlations with real ratings, without those of metrics fitted on these ratings."""
    real = {entry.name for entry in report.datasets if entry.kind == "real"}
    rows = (row for row in report.correlations if row.statistic == "spearman" and row.dataset in real)
    return by_column(rows, fitted(report.metrics, report.datasets)).get("spearman", {})


def teams(turns: Collection[str] = ()) -> list[ColumnMeans]:
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
    """Yield a column, its published number on a dataset of this run, this run's value, and the qualities averaged.

    A published quality is matched by name or dimension. A number without a stated quality is compared with the overall
    quality; an average, or such a number without an overall quality, with the mean over the qualities. A number whose
    note names an aggregation of turn scores is compared only with the column of the same aggregation.
    """
    entries = {entry.name: entry for entry in report.datasets if entry.kind == "real"}
    values = {column: row for (_, column), row in columns(report).items()}
    by_name = {plain_name(column): column for column in values}
    for printed in (row for source in NAMES for row in Tables.of(source).rows):
        aggregation = re.search(r"turn scores aggregated by (\w+)", printed.note)
        metric = of_aggregate(TEAMS.get(printed.metric, printed.metric), aggregation[1] if aggregation else "mean")
        column = by_name.get(plain_name(metric), "")
        if not column or printed.statistic != "spearman" or printed.level not in LEVELS:
            continue
        qualities = {quality: value for (dataset, quality), value in values[column].items()
                     if dataset == printed.dataset}
        name = "overall" if printed.quality == "not stated" else QUALITIES.get(printed.quality, printed.quality)
        matching = [quality.name for quality in (entries[printed.dataset].qualities if qualities else ())
                if name in (quality.name.casefold(), quality.dimension)]
        if matching and matching[0] in qualities:
            with_originals = printed.source == "yeh2021" and printed.dataset in WITH_ORIGINALS
            yield column, printed, qualities[matching[0]], matching[0] + ", original replies too" * with_originals
        elif qualities and printed.quality in ("average", "not stated"):
            names = next(iter(qualities)) if len(qualities) == 1 else "mean of its qualities"
            yield column, printed, fmean(qualities.values()), names


def plain_name(column: str) -> str:
    """Return a name in lower case without options and punctuation, so that names in papers match columns."""
    bare = re.sub(r"\[.*\]|[^a-z0-9]", "", column.casefold())
    return ALIASES.get(bare, bare)


def challenge(report: Results) -> Exhibit:
    """Return the published tables of the challenge, compared with a run if it has the real data."""
    flag = limiting_flag(report)
    grids, remarks = list[Grid](), list[str]()
    if not flag:
        datasets = {dataset for row in columns(report).values() for dataset, _ in row}
        if turns := tuple(name for name in TURNS if name in datasets):
            sets = "the nine turn-level datasets" if turns == TURNS else f"{len(turns)} turn-level datasets"
            grids.append(_development(report, turns, sets, tuple(name for name in DIALOGUES if name in datasets)))
            remarks.append(CAVEAT.format(sets))
        if datasets >= set(TEST_SETS):
            grids.append(_test(report))
    if not grids:
        remarks.append(PARTIAL.format(flag) if flag else NOTHING)
    return Exhibit(
        name="dstc10", kind="challenge", title="The challenge: published and recomputed", lead=LEAD, command=COMMAND,
        grids=(*grids, *([] if flag else _comparison(report)), *printed()), remarks=(*remarks, *REMARKS))


def printed(source: str = "dstc10") -> Iterator[Grid]:
    """Yield the published tables of a challenge; for DSTC10, also the winners under each rule."""
    if source != "dstc10":
        tables = Tables.of(source)
        head = ("competitor", "dataset", "quality", "level", "statistic", "value", "note")
        yield from (Grid(f"printed-{name}", f"Published: {name}", head, tuple(
            (row.metric, row.dataset, row.quality, row.level, row.statistic, number(float(row.value), 4), row.note)
            for row in tables.where(table=name).rows), "published numbers; nothing was run here")
            for name in tables.values("table"))
        return
    rows = []
    for board in boards():
        ranks = board.ranks()
        for rule, title in RULE_TITLES.items():
            ranked = sorted((standing.rank, name, f"{standing.value:.4g}")
                            for name, standing in ranks[rule].items() if standing.rank)
            winners = [name for rank, name, _ in ranked if rank == 1]
            second = ranked[len(winners)][1:] if len(winners) < len(ranked) else ("–", "–")
            rows.append((board.name, title, " = ".join(winners), ranked[0][2], *second, str(len(ranked))))
    yield Grid("winners", "Who wins under which rule",
               ("board", "rule", "first", "its value", "second", "its value", "competitors"), tuple(rows), PUBLISHED)
    yield from map(_board, boards())


def _board(board: PrintedTable) -> Grid:
    """Return a published table with its averages, published and recomputed, and the ranks under both rules."""
    other = "dev" if board.rule == "test" else "test"
    titles = {rule: title.partition(":")[0] for rule, title in RULE_TITLES.items()}
    ranks = board.ranks()
    rankings = [ranks[name] for name in (PRINTED, board.rule, other)]
    texts = {(row.metric, row.dataset, row.quality): str(row.value).replace("-", "−") for row in board.numbers}
    targets = dict.fromkeys((row.dataset, row.quality) for row in board.numbers)
    head = ("competitor", "average, published", "rank", "average, recomputed", "rank", f"by the {titles[other]}",
            "rank", *(name if quality == "average" else f"{name}, {quality}" for name, quality in targets))
    rows = tuple((name, *(text for ranks in rankings for text in (number(ranks[name].value, 4), str(ranks[name].rank))),
                  *(texts[name, *target] for target in targets))
                 for name in sorted(rankings[0], key=lambda name: rankings[0][name].rank or math.inf))
    return Grid(f"{board.source}-{board.table}", f"Published and recomputed: {board.name}", head, rows,
                f"Spearman as published; recomputed by the {titles[board.rule]}, as in the paper")


def _development(report: Results, turns: Sequence[str], sets: str, dialogues: Sequence[str]) -> Grid:
    """Return the best columns of the run, its controls and the challenge's teams, by mean over turn-level datasets."""
    best = [row for index, row in enumerate(gather(report, "dev", turns, dialogues))
            if index < MAX_COLUMNS or row.column in CONTROLS
            or plain_name(row.column) == plain_name("Deep AM-FM")]
    datasets = (*turns, *dialogues)
    return _beside_teams("dev-here", "development datasets", (f"mean of {sets}", *datasets), 3, best,
                         teams(turns), f"{len(datasets)} of the challenge's 14 development datasets; "
                         "Spearman, mean over the qualities of each")


def _test(report: Results) -> Grid:
    return _beside_teams("test-here", "test datasets", ("average", *TEST_SETS), 4,
                         gather(report, "test", TEST_SETS)[:MAX_COLUMNS], teams(),
                         "the challenge's 5 test datasets; Spearman, averages over all qualities of all datasets, "
                         "those of the teams as published")


def _beside_teams(name: str, title: str, head: Sequence[str], digits: int, columns: Iterable[ColumnMeans],
                  teams: Iterable[ColumnMeans], data: str) -> Grid:
    rows = [*((row, "this run") for row in columns if row.complete), *((row, PRINTED_TEAM) for row in teams)]
    return Grid(name, f"This run next to the challenge: {title}", ("metric or team", "source", *head), tuple(
        (row.column, source, number(row.mean, digits), *(number(row.sets.get(dataset, math.nan), digits)
                                                         for dataset in head[1:]))
        for row, source in sorted(rows, key=lambda row: (-row[0].mean, row[0].column, row[1]))),
        f"real human judgements, {data}")


def _comparison(report: Results) -> Iterator[Grid]:
    """Yield the published numbers of each metric and those of this run; the page of a metric shows its rows."""
    rows = sorted({(column, published.dataset, published.quality,
                    f"{published.metric}, {published.source}, {published.table}",
                    str(published.value).replace("-", "−"), number(value, 3), qualities, published.note)
                   for column, published, value, qualities in printed_beside(report)})
    if rows:
        yield Grid("beside-print", "Published numbers of each metric, and this run",
                   ("column", "dataset", "published quality", "published in", "published", "this run",
                    "our quality", "note"), tuple(rows),
                   "real human judgements; Spearman; aggregated turn scores beside those of the same --aggregate")
