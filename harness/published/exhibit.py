"""The challenge as an exhibit: the winner under each rule, published and recomputed averages, and this run.

A run is compared with published numbers only on complete, real datasets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from harness.published import PRINTED, TEST_SETS, PrintedTable, Tables, boards, measured
from harness.published.measured import CONTROLS, DIALOGUES, TURNS, ColumnMeans
from harness.results.exhibits import Exhibit, Grid, number
from harness.results.rows import Results
from harness.run.rank import RULES, dataset_mean

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
MOST_COLUMNS = 12
PRINTED_TEAM = "challenge, as published"


def challenge(report: Results) -> Exhibit:
    """Return the published tables of the challenge, compared with a run if it has the real data."""
    part = measured.partial(report)
    grids, remarks = list[Grid](), list[str]()
    if not part:
        datasets = {dataset for row in measured.columns(report).values() for dataset, _ in row}
        if turns := tuple(name for name in TURNS if name in datasets):
            sets = "the nine turn-level datasets" if turns == TURNS else f"{len(turns)} turn-level datasets"
            grids.append(_development(report, turns, sets, tuple(name for name in DIALOGUES if name in datasets)))
            remarks.append(CAVEAT.format(sets))
        if datasets >= set(TEST_SETS):
            grids.append(_test(report))
    if not grids:
        remarks.append(PARTIAL.format(part) if part else NOTHING)
    return Exhibit(
        name="dstc10", kind="challenge", title="The challenge: published and recomputed", lead=LEAD, command=COMMAND,
        grids=(*grids, *([] if part else _comparison(report)), *printed()), remarks=(*remarks, *REMARKS))


def printed(source: str = "dstc10") -> Iterator[Grid]:
    """Yield the published tables of a challenge, those of DSTC10 with their winners."""
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
            first = [name for rank, name, _ in ranked if rank == 1]
            second = ranked[len(first)][1:] if len(first) < len(ranked) else ("–", "–")
            rows.append((board.name, title, " = ".join(first), ranked[0][2], *second, str(len(ranked))))
    yield Grid("winners", "Who wins under which rule",
               ("board", "rule", "first", "its value", "second", "its value", "competitors"), tuple(rows), PUBLISHED)
    yield from map(_board, boards())


def _board(board: PrintedTable) -> Grid:
    """Return a published table with its averages, published and recomputed, and the ranks under both rules."""
    other = "dev" if board.rule == "test" else "test"
    titles = {rule: title.partition(":")[0] for rule, title in RULE_TITLES.items()}
    ranks = board.ranks()
    shown = [ranks[name] for name in (PRINTED, board.rule, other)]
    texts = {(row.metric, row.dataset, row.quality): str(row.value).replace("-", "−") for row in board.numbers}
    targets = dict.fromkeys((row.dataset, row.quality) for row in board.numbers)
    head = ("competitor", "average, published", "rank", "average, recomputed", "rank", f"by the {titles[other]}",
            "rank", *(name if quality == "average" else f"{name}, {quality}" for name, quality in targets))
    rows = tuple((name, *(text for column in shown for text in (number(column[name].value, 4), str(column[name].rank))),
                  *(texts[name, *target] for target in targets))
                 for name in sorted(shown[0], key=lambda name: shown[0][name].rank or math.inf))
    return Grid(f"{board.source}-{board.table}", f"Published and recomputed: {board.name}", head, rows,
                f"Spearman as published; recomputed by the {titles[board.rule]}, as in the paper")


def _development(report: Results, turns: Sequence[str], sets: str, dialogues: Sequence[str]) -> Grid:
    """Return the best columns of the run, its controls and the challenge's teams, by mean over turn-level datasets."""
    best = [row for index, row in enumerate(measured.gather(report, dataset_mean, turns, dialogues))
            if index < MOST_COLUMNS or row.column in CONTROLS
            or measured.plain(row.column) == measured.plain("Deep AM-FM")]
    datasets = (*turns, *dialogues)
    return _beside_teams("dev-here", "development datasets", (f"mean of {sets}", *datasets), 3, best,
                         measured.challenge(turns), f"{len(datasets)} of the challenge's 14 development datasets; "
                         "Spearman, mean over the qualities of each")


def _test(report: Results) -> Grid:
    """Return the best columns of the run and the teams, by mean over the qualities of the test datasets."""
    return _beside_teams("test-here", "test datasets", ("average", *TEST_SETS), 4,
                         measured.gather(report, RULES["test"], TEST_SETS)[:MOST_COLUMNS], measured.challenge(),
                         "the challenge's 5 test datasets; Spearman, averages over all qualities of all datasets, "
                         "those of the teams as published")


def _beside_teams(name: str, title: str, head: Sequence[str], digits: int, columns: Iterable[ColumnMeans],
                  teams: Iterable[ColumnMeans], data: str) -> Grid:
    """Return columns without missing values and teams, by their mean."""
    rows = [*((row, "this run") for row in columns if row.complete), *((row, PRINTED_TEAM) for row in teams)]
    return Grid(name, f"This run next to the challenge: {title}", ("metric or team", "source", *head), tuple(
        (row.column, source, number(row.mean, digits), *(number(row.sets.get(dataset, math.nan), digits)
                                                         for dataset in head[1:]))
        for row, source in sorted(rows, key=lambda row: (-row[0].mean, row[0].column, row[1]))),
        f"real human judgements, {data}")


def _comparison(report: Results) -> Iterator[Grid]:
    """Yield the published numbers of each metric and those of this run; the page of a metric shows its rows."""
    rows = sorted({(column, number_.dataset, number_.quality, f"{number_.metric}, {number_.source}, {number_.table}",
                    str(number_.value).replace("-", "−"), number(value, 3), qualities, number_.note)
                   for column, number_, value, qualities in measured.printed_beside(report)})
    if rows:
        yield Grid("beside-print", "Published numbers of each metric, and this run",
                   ("column", "dataset", "published quality", "published in", "published", "this run",
                    "our quality", "note"), tuple(rows),
                   "real human judgements; Spearman; aggregated turn scores beside those of the same --aggregate")
