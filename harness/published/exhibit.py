"""The challenge as an exhibit: who wins under which rule, printed averages beside recomputed ones, and this run.

Everything but the tables of this run is print, or follows from print. A run is set beside it only on real datasets that
it read whole, and only on those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from harness.published import Tables, measured
from harness.published.boards import AVERAGED, PrintedBoard, boards, winners
from harness.published.measured import CONTROLS, TURNS, PublishedComparison
from harness.results.exhibits import number
from harness.results.rows import Exhibit, Grid, Results, fitted
from harness.run.rank import BY_NAME, Target, over
from harness.statistics.rank_intervals import rank

COMMAND = "harness challenge publish dstc10-track5"
LEAD = ("What the papers about DSTC10 Track 5 print of the teams' submissions, what follows from those numbers, and "
        "where this run stands on the same data. No submission of a team was run here.")
PRINT = "numbers in print: the organisers' paper and MME-CRS, nothing of this run"
RULES = {"micro": "test rule: mean over all qualities of all datasets",
         "macro": "dev rule: mean over datasets of the mean over their qualities",
         "borda": "Borda: competitors beaten, summed over the columns"}
WHOLE = ("This run was made with {}: its figures are not those of whole datasets, so nothing of it stands beside "
         "print here.")
NOTHING = ("This run has none of the challenge's datasets with real judgements, so nothing of it stands here: figures "
           "on the bundled sample are not comparable.")
CAVEAT = ("The means in the first table are over {} of this run, and those of the teams are formed "
          "of their printed figures on the same datasets; so they differ from the averages over 14 datasets in "
          "the organisers' Table 3. The teams had the ratings of the development datasets when they chose what "
          "to submit; a column of this run has no figure where its weights were learned on a dataset's ratings.")
REMARKS = (
    "recomputed: from the other numbers in the same table, which are rounded in print.",
    ("The organisers ranked development datasets by the dev rule and test datasets by the test rule. The "
     "tables print one average per dataset; under the test rule it counts as often as the dataset has qualities. "
     "Team 5 is MME-CRS; its own paper prints another run than the organisers' does, and names the teams behind "
     "it only Top 2 to Top 5."))
MOST = 12
"""So many of this run's best columns stand beside the teams."""


def challenge(report: Results) -> Exhibit:
    """The challenge beside a run; where the run has none of its real data, the print alone."""
    beside = None if measured.partial(report) else measured.gather(report)
    here, remarks = _here(report, beside)
    return Exhibit(
        name="dstc10", kind="challenge", title="The challenge: published and recomputed", lead=LEAD, command=COMMAND,
        grids=(*here, *_beside(report), *printed()), remarks=(*remarks, *REMARKS))


def printed() -> Iterator[Grid]:
    """Who wins, and every board."""
    yield Grid("winners", "Who wins under which rule",
               ("board", "rule", "first", "its value", "second", "its value", "competitors"),
               tuple((row.board, RULES[row.rule], " = ".join(row.first), f"{row.value:.4g}", row.second or "–",
                      "–" if row.runner_up is None else f"{row.runner_up:.4g}", str(row.competitors))
                     for board in boards() for row in winners(board)), PRINT)
    yield from map(_board, boards())


def _board(board: PrintedBoard) -> Grid:
    """The rows of a board with their averages, as printed and as recomputed, and the ranks under both rules."""
    other = "macro" if board.rule == "micro" else "micro"
    short = {rule: words.partition(":")[0] for rule, words in RULES.items()}
    ranked = [(values, rank(values))
              for values in (board.averages(), board.under(board.rule), board.under(other))]
    targets = list(next(iter(board.rows.values())))
    texts = {(row.metric, row.dataset, row.quality): str(row.value)
             for row in Tables.of(board.source).where(table=board.table).rows}
    head = ("competitor", "average, printed", "rank", "average, recomputed", "rank", f"by the {short[other]}", "rank",
            *(name if quality == "average" else f"{name}, {quality}" for name, quality in targets))
    printed_rank = ranked[0][1]
    rows = tuple((name, *(text for _, places in ranked
                          for text in (number(places[name].value, 4), str(places[name].rank))),
                  *(texts[name, *target].replace("-", "−") for target in targets))
                 for name in sorted(printed_rank, key=lambda name: printed_rank[name].rank or math.inf))
    return Grid(f"{board.source}-{board.table}", f"Printed and recomputed: {board.name}", head, rows,
                f"Spearman as printed; recomputed by the {short[board.rule]}, under which it was printed")


def _here(report: Results, beside: PublishedComparison | None) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
    """The run beside the teams: tables and remarks, or why there are none."""
    if beside is None:
        return (), (WHOLE.format(measured.partial(report)),)
    grids = (*([_development(beside)] if beside.turns else []), *_test(report))
    if not grids:
        return (), (NOTHING,)
    return grids, (CAVEAT.format(_sets(beside)),) if beside.turns else ()


def _development(beside: PublishedComparison) -> Grid:
    """The best columns of the run, its controls and what the challenge prints, by the mean over turn-level datasets."""
    complete = [row for row in beside.rows if row.complete]
    best = [row for place, row in enumerate(complete) if place < MOST or row.column in CONTROLS
            or measured.plain(row.column) == measured.plain("Deep AM-FM")]
    rows = [(row.mean, f"{row.column} ({', '.join(row.models)})" if row.models else row.column, "this run",
             [row.sets[name] for name in beside.datasets]) for row in best]
    rows += [(team.mean(beside.turns), team.name, "challenge, as printed",
              [team.sets.get(name, math.nan) for name in beside.datasets])
             for team in beside.challenge]
    rows.sort(key=lambda row: (-row[0], (row[1], row[2])))
    return Grid("dev-here", "This run beside the challenge: development datasets",
                ("metric or team", "whose", f"mean of {_sets(beside)}", *beside.datasets),
                tuple((name, whose, *(number(value, 3) for value in (mean, *values)))
                      for mean, name, whose, values in rows),
                f"real human judgements, {len(beside.datasets)} of the challenge's 14 development datasets; Spearman, "
                "mean over the qualities of each")


def _beside(report: Results) -> Iterator[Grid]:
    """What papers print of each metric beside this run; the pages of metrics have their own rows of it."""
    rows = () if measured.partial(report) else tuple(sorted(dict.fromkeys(
        (column, printed.dataset, printed.quality, f"{printed.metric}, {printed.source}, {printed.table}",
         str(printed.value).replace("-", "−"), number(value, 3), over)
        for column, printed, value, over in measured.printed_beside(report))))
    if rows:
        yield Grid("beside-print", "What papers print of each metric, and this run",
                   ("column", "dataset", "quality in print", "printed as, in", "printed", "this run", "ours is of"),
                   rows, "real human judgements; Spearman")


def _sets(beside: PublishedComparison) -> str:
    return "the nine turn-level datasets" if beside.turns == TURNS else f"{len(beside.turns)} turn-level datasets"


def _test(report: Results) -> Iterator[Grid]:
    """The best columns of the run beside the teams on the five test datasets, where it has the judgements of all."""
    real = {entry.name for entry in report.datasets if entry.kind == "real"}
    if not AVERAGED.keys() <= real:
        return
    learned = fitted(report.metrics, report.datasets)
    values: dict[tuple[str, str], dict[Target, float]] = {}
    for row in report.correlations:
        if row.statistic == "spearman" and row.dataset in AVERAGED and math.isfinite(row.value):
            value = math.nan if (row.metric, row.dataset) in learned else row.value
            values.setdefault((row.metric, row.column), {})[row.dataset, row.quality] = value
    targets = frozenset(target for own in values.values() for target in own)
    rows = []
    for (_, column), own in values.items():
        sets = {name: [value for (dataset, _), value in own.items() if dataset == name] for name in AVERAGED}
        rows.append((over(BY_NAME["micro"], own, targets), column, "this run",
                     {name: fmean(within) if within else math.nan for name, within in sets.items()}))
    rows = sorted((row for row in rows if math.isfinite(row[0])), key=lambda row: (-row[0], row[1]))[:MOST]
    printed = Tables.of("dstc10").where(table="Table 2")
    for name in printed.values("metric"):
        means = {row.dataset: float(row.value) for row in printed.where(metric=name).rows}
        rows.append((means["all"], name, "challenge, as printed", means))
    yield Grid("test-here", "This run beside the challenge: test datasets",
               ("metric or team", "whose", "average", *AVERAGED),
               tuple((name, whose, number(value, 4), *(number(means[dataset], 4) for dataset in AVERAGED))
                     for value, name, whose, means in sorted(rows, key=lambda row: (-row[0], row[1]))),
               "real human judgements, the challenge's 5 test datasets; Spearman, averages over all qualities of all "
               "datasets, those of the teams as printed")
