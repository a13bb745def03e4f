"""The challenge as an exhibit: the winner under each rule, published and recomputed averages, and this run.

A run is compared with published numbers only on complete, real datasets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from harness.published import AVERAGED, PRINTED, PrintedTable, Tables, boards, measured, winner
from harness.published.measured import CONTROLS, TURNS, PublishedComparison
from harness.results.exhibits import number
from harness.results.rows import Exhibit, Grid, Results
from harness.run.rank import RULES, over

COMMAND = "harness challenge publish dstc10-track5"
LEAD = ("Numbers that papers about DSTC10 Track 5 report for the teams' submissions, averages recomputed from them, "
        "and this run on the same data. No team's submission was run here.")
PUBLISHED = "published numbers: the organisers' paper and MME-CRS, nothing of this run"
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
    ("The organisers ranked submissions by the dev rule on development and by the test rule on test datasets. The "
     "tables have one average per dataset; under the test rule, each is weighted by the dataset's number of qualities. "
     "Team 5 is MME-CRS; its own paper reports a different run from the organisers' paper, and names the teams after "
     "it only Top 2 to Top 5."))
MOST_COLUMNS = 12


def challenge(report: Results) -> Exhibit:
    """Return the published tables of the challenge, compared with a run if it has the real data."""
    part = measured.partial(report)
    grids, remarks = list[Grid](), list[str]()
    if not part:
        comparison = measured.gather(report)
        if comparison.turns:
            grids.append(_development(comparison))
            remarks.append(CAVEAT.format(_sets(comparison)))
        grids += _test(report)
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
            best = winner(ranks[rule])
            rows.append((board.name, title, " = ".join(best.first), f"{best.value:.4g}", best.second or "–",
                         f"{best.runner_up:.4g}" if best.second else "–", str(best.competitors)))
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


def _development(comparison: PublishedComparison) -> Grid:
    """Return the best columns of the run, its controls and the challenge's teams, by mean over turn-level datasets."""
    complete = [row for row in comparison.rows if row.complete]
    best = [row for index, row in enumerate(complete) if index < MOST_COLUMNS or row.column in CONTROLS
            or measured.plain(row.column) == measured.plain("Deep AM-FM")]
    rows = [(row.mean, row.column, "this run", row.sets) for row in best]
    rows += [(row.mean, row.column, "challenge, as published", row.sets)
             for row in measured.challenge(comparison.turns)]
    rows.sort(key=lambda row: (-row[0], (row[1], row[2])))
    return Grid("dev-here", "This run next to the challenge: development datasets",
                ("metric or team", "source", f"mean of {_sets(comparison)}", *comparison.datasets),
                tuple((name, whose, number(mean, 3), *(number(sets.get(name, math.nan), 3)
                                                       for name in comparison.datasets))
                      for mean, name, whose, sets in rows),
                f"real human judgements, {len(comparison.datasets)} of the challenge's 14 development datasets; "
                "Spearman, mean over the qualities of each")


def _comparison(report: Results) -> Iterator[Grid]:
    """Yield the published numbers of each metric and those of this run; the page of a metric shows its rows."""
    rows = sorted({(column, number_.dataset, number_.quality, f"{number_.metric}, {number_.source}, {number_.table}",
                    str(number_.value).replace("-", "−"), number(value, 3), qualities)
                   for column, number_, value, qualities in measured.printed_beside(report)})
    if rows:
        yield Grid("beside-print", "Published numbers of each metric, and this run",
                   ("column", "dataset", "published quality", "published as, in", "published", "this run",
                    "ours is of"), tuple(rows), "real human judgements; Spearman")


def _sets(comparison: PublishedComparison) -> str:
    turns = comparison.turns
    return "the nine turn-level datasets" if turns == TURNS else f"{len(turns)} turn-level datasets"


def _test(report: Results) -> Iterator[Grid]:
    """Yield the teams and the best columns of the run, if it has the ratings of all five test datasets."""
    if not AVERAGED.keys() <= {entry.name for entry in report.datasets if entry.kind == "real"}:
        return
    targets = {(row.dataset, row.quality) for row in report.correlations if row.statistic == "spearman"
               and row.dataset in AVERAGED and math.isfinite(row.value)}
    means = [(over(RULES["test"], values, targets), column, values)
             for (_, column), values in measured.columns(report).items()]
    best = sorted((row for row in means if math.isfinite(row[0])), key=lambda row: (-row[0], row[1]))[:MOST_COLUMNS]
    rows = [(mean, column, "this run", {name: fmean(value for (dataset, _), value in values.items() if dataset == name)
                                        for name in AVERAGED}) for mean, column, values in best]
    table = Tables.of("dstc10").where(table="Table 2")
    for name in table.values("metric"):
        sets = {row.dataset: float(row.value) for row in table.where(metric=name).rows}
        rows.append((sets["all"], name, "challenge, as published", sets))
    yield Grid("test-here", "This run next to the challenge: test datasets",
               ("metric or team", "source", "average", *AVERAGED),
               tuple((name, whose, number(value, 4), *(number(sets[dataset], 4) for dataset in AVERAGED))
                     for value, name, whose, sets in sorted(rows, key=lambda row: (-row[0], row[1]))),
               "real human judgements, the challenge's 5 test datasets; Spearman, averages over all qualities of all "
               "datasets, those of the teams as published")
