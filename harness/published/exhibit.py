"""The challenge as an exhibit: who wins under which rule, the printed rows beside the recomputed ones, and this run.

Everything but the tables of this run is print, or follows from print. A run is set beside it only on real datasets that
it read whole, and only on those.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.published import measured
from harness.published import table as printed_table
from harness.published.measured import CONTROLS, TURNS, PublishedComparison
from harness.published.pictures import bars, ranks
from harness.published.reproduce import PAPERS
from harness.published.reproduce.check import CheckedClaim, Tables, number
from harness.published.reproduce.dstc10 import CELLS
from harness.published.reproduce.dstc10 import contests as boards
from harness.published.reproduce.rounding import State
from harness.published.reproduce.winners import PrintedBoard, Winner
from harness.results.rows import Exhibit, Grid, Results
from harness.run.rank import BY_NAME, CountedMean, Rule, borda, over

COMMAND = "harness reproduce dstc10 --all"
LEAD = ("What the papers about DSTC10 Track 5 print of the teams' submissions, what follows from those numbers, and "
        "where this run stands on the same data. No submission of a team was run here.")
PRINT = "numbers in print: the organisers' paper and MME-CRS, nothing of this run"
RULES = {"micro": "test rule: mean over all qualities of all datasets",
         "macro": "dev rule: mean over datasets of the mean over their qualities",
         "borda": "Borda: competitors beaten, summed over the columns"}
STATES: dict[State, str] = {"equal": "equal", "within": "within rounding", "differs": "differs"}
WHOLE = ("This run was made with {}: its figures are not those of whole datasets, so nothing of it stands beside "
         "print here.")
NOTHING = ("This run has none of the challenge's datasets with real judgements, so nothing of it stands here: figures "
           "on the bundled sample are not comparable.")
MOST = 12
"""So many of this run's best columns stand beside the teams."""


@dataclass(frozen=True, slots=True)
class BoardInPrint:
    """A board in print: the paper and table it is in, the rule by which its averages are printed, and what it holds."""

    source: str
    table: str
    rule: str
    board: PrintedBoard

    def averages(self) -> dict[str, float]:
        """The average that is printed of each competitor."""
        rows = (row for row in printed_table(self.source) if row.table == self.table and row.dataset == "all")
        return {row.metric: float(row.value) for row in rows}

    def values(self) -> dict[str, dict[tuple[str, str], float]]:
        """Each competitor's printed cells."""
        return {name: {cell: float(one.value) for cell, one in row.items()} for name, row in self.board.rows.items()}

    def under(self, rule: str) -> dict[str, float]:
        """What each competitor has under a rule, from the printed cells."""
        rows = self.values()
        cells = frozenset(cell for row in rows.values() for cell in row)
        if rule == "borda":
            return borda(rows, cells)
        mean: Rule = CountedMean(self.board.counts) if rule == "micro" and self.board.counts else BY_NAME[rule]
        return {name: over(mean, row, cells) for name, row in rows.items()}


def challenge(report: Results) -> Exhibit:
    """The challenge beside a run; where the run has none of its real data, the print alone."""
    paper, printed = PAPERS["dstc10"], tuple(_printed())
    found = paper.findings()
    here, pictures, remarks = _here(report)
    return Exhibit(
        name="dstc10", kind="challenge", title="The challenge: published and recomputed", lead=LEAD, command=COMMAND,
        grids=(*here, _winners(paper.winners()), *map(_board, printed), _summary(found), _differing(found)),
        pictures=(*pictures, *(_picture(one) for one in printed)), remarks=(*remarks, *_remarks()))


def _printed() -> Iterator[BoardInPrint]:
    kinds = (("dstc10", "Table 2", "micro"), ("mmecrs", "Table 3", "micro"), ("dstc10", "Table 3", "macro"))
    for kind, board in zip(kinds, boards(), strict=True):
        yield BoardInPrint(*kind, board)


def _places(values: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}


def _winners(rows: Sequence[Winner]) -> Grid:
    return Grid("winners", "Who wins under which rule",
                ("board", "rule", "first", "its value", "second", "its value", "competitors"),
                tuple((row.board, RULES[row.rule], " = ".join(row.first), f"{row.value:.4g}", row.second or "–",
                       "–" if row.runner_up is None else f"{row.runner_up:.4g}", str(row.competitors)) for row in rows),
                PRINT)


def _board(one: BoardInPrint) -> Grid:
    """The rows of a board with their averages, as printed and as they come out, and the ranks under both rules."""
    other = "macro" if one.rule == "micro" else "micro"
    average, own, across = one.averages(), one.under(one.rule), one.under(other)
    rank, mine, theirs = _places(average), _places(own), _places(across)
    cells = list(next(iter(one.board.rows.values())))
    texts = {(row.metric, row.dataset, row.quality): str(row.value)
             for row in printed_table(one.source) if row.table == one.table}
    head = ("competitor", "average, printed", "rank", "average, recomputed", "rank", f"by the {_short(other)}", "rank",
            *(name if quality == "average" else f"{name}, {quality}" for name, quality in cells))
    rows = tuple((name, _number(average[name], 4), str(rank[name]), _number(own[name], 4), str(mine[name]),
                  _number(across[name], 4), str(theirs[name]),
                  *(texts[name, *cell].replace("-", "−") for cell in cells))
                 for name in sorted(average, key=lambda name: rank[name]))
    return Grid(f"{one.source}-{one.table}", f"Printed and recomputed: {one.board.name}", head, rows,
                f"Spearman as printed; recomputed by the {_short(one.rule)}, under which it was printed")


def _short(rule: str) -> str:
    return RULES[rule].partition(":")[0]


def _picture(one: BoardInPrint) -> tuple[str, str]:
    own, other = ("micro", "macro") if one.rule == "micro" else ("macro", "micro")
    columns = {"as printed": _places(one.averages()), _short(own): _places(one.under(own)),
               _short(other): _places(one.under(other)), "Borda": _places(one.under("borda"))}
    first = "; ".join(f"{rule}: {' and '.join(name for name, rank in found.items() if rank == 1)}"
                      for rule, found in columns.items())
    title = f"Ranks under each rule: {one.board.name}"
    told = f"{title}. First {first}. All ranks are in the tables below."
    return ranks(title, told, columns), told


def _summary(found: Sequence[CheckedClaim]) -> Grid:
    counts = {name: Counter(one.state for one in found if one.check.table == name)
              for name in dict.fromkeys(one.check.table for one in found)}
    sums = Counter(one.state for one in found)
    return Grid("checks", "How much of what is printed follows from the rest", ("printed in", *STATES.values()),
                tuple((name, *(str(one[state]) for state in STATES)) for name, one in (*counts.items(), ("all", sums))),
                PRINT)


def _differing(found: Sequence[CheckedClaim]) -> Grid:
    rows = tuple((one.check.what, one.check.table, str(one.check.printed).replace("-", "−"),
                  _number(float(one.check.recomputed.value), _digits(one)), one.check.how,
                  one.check.reason or "not known") for one in found if one.state == "differs")
    return Grid("differs", "What differs, and why", ("what", "printed in", "printed", "recomputed", "how", "why"), rows,
                PRINT)


def _digits(one: CheckedClaim) -> int:
    printed = max(0, -int(one.check.printed.as_tuple().exponent))
    return printed + 1 if printed else 0 if float(one.check.recomputed.value) % 1 == 0 else 2


def _here(report: Results) -> tuple[tuple[Grid, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The run beside the teams: tables, a picture and remarks, or why there are none."""
    if flag := measured.partial(report):
        return (), (), (WHOLE.format(flag),)
    found = measured.gather([report])
    grids = (*(_dev(found) if found.turns else ()), *_test(report))
    if not grids:
        return (), (), (NOTHING,)
    return grids, tuple(_bars(found)), tuple(_caveats(found))


def _dev(found: PublishedComparison) -> Iterator[Grid]:
    """The best columns of the run, its controls and what the challenge prints, by the mean over turn-level datasets."""
    rows = [(one.mean.mean, (_modelled(one), "this run", _number(one.mean.mean),
                             *(_number(one.sets[name].mean) for name in found.datasets))) for one in _chosen(found)]
    rows += [(one.mean(found.turns), (one.name, "challenge, as printed", _number(one.mean(found.turns)), *(
        _number(one.sets[name].value if name in one.sets else math.nan) for name in found.datasets)))
        for one in found.challenge]
    ordered = tuple(row for _, row in sorted(rows, key=lambda row: (-row[0], row[1])))
    yield Grid("dev-here", "This run beside the challenge: development datasets",
               ("metric or team", "whose", f"mean of {_named(found)}", *found.datasets), ordered,
               f"real human judgements, {len(found.datasets)} of the challenge's 14 development datasets; Spearman, "
               "mean over the qualities of each")


def _chosen(found: PublishedComparison) -> list[measured.MeasuredColumn]:
    complete = [row for row in found.rows if row.complete]
    firm = {row.column for row in complete if row.column in CONTROLS
            or (row.published is not None and row.published.name == "Deep AM-FM")}
    return [row for place, row in enumerate(complete) if place < MOST or row.column in firm]


def _modelled(one: measured.MeasuredColumn) -> str:
    return f"{one.column} ({', '.join(one.models)})" if one.models else one.column


def _named(found: PublishedComparison) -> str:
    return "the nine turn-level datasets" if found.turns == TURNS else f"{len(found.turns)} turn-level datasets"


def _bars(found: PublishedComparison) -> Iterator[tuple[str, str]]:
    rows = [(one.column, one.mean.mean, True) for one in _chosen(found)]
    rows += [(f"{one.name} (printed)", one.mean(found.turns), False) for one in found.challenge]
    shown = sorted((row for row in rows if math.isfinite(row[1])), key=lambda row: (-row[1], row[0]))
    if shown:
        told = (f"Mean Spearman over {_named(found)}, this run's columns in blue and printed teams in orange. "
                + ", ".join(f"{name} {value:.3f}" for name, value, _ in shown) + ".")
        yield bars(f"Mean Spearman over {_named(found)}", told, shown), told


def _test(report: Results) -> Iterator[Grid]:
    """The best columns of the run beside the teams on the five test datasets, where it has the judgements of all."""
    real = {entry.name for entry in report.datasets if entry.origin != "sample"}
    if not CELLS.keys() <= real:
        return
    learned = {(entry.name, name) for entry in report.metrics for name in entry.learned_on}
    values: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for row in report.correlations:
        if row.statistic == "spearman" and row.dataset in CELLS and math.isfinite(row.value):
            seen = (row.metric, row.dataset) in learned
            values.setdefault((row.metric, row.column), {})[row.dataset, row.quality] = math.nan if seen else row.value
    cells = frozenset(cell for row in values.values() for cell in row)
    rows = [(over(BY_NAME["micro"], row, cells), column, "this run", _by_dataset(row))
            for (_, column), row in values.items()]
    rows = sorted((row for row in rows if math.isfinite(row[0])), key=lambda row: (-row[0], row[1]))[:MOST]
    printed = Tables.of("dstc10").where(table="Table 2")
    for name in printed.values("metric"):
        own = {row.dataset: float(number(row).value) for row in printed.where(metric=name).rows}
        rows.append((own["all"], name, "challenge, as printed", own))
    yield Grid("test-here", "This run beside the challenge: test datasets",
               ("metric or team", "whose", "average", *CELLS),
               tuple((name, whose, _number(value, 4), *(_number(own[cell], 4) for cell in CELLS))
                     for value, name, whose, own in sorted(rows, key=lambda row: (-row[0], row[1]))),
               "real human judgements, the challenge's 5 test datasets; Spearman, averages over all qualities of all "
               "datasets, those of the teams as printed")


def _by_dataset(row: Mapping[tuple[str, str], float]) -> dict[str, float]:
    return {name: fmean([value for cell, value in row.items() if cell[0] == name]) if any(
        cell[0] == name for cell in row) else math.nan for name in CELLS}


def _caveats(found: PublishedComparison) -> Iterator[str]:
    if found.turns:
        yield (f"The means in the first table are over {_named(found)} of this run, and those of the teams are formed "
               "of their printed figures on the same datasets; so they differ from the averages over 14 datasets in "
               "the organisers' Table 3. The teams had the ratings of the development datasets when they chose what "
               "to submit; a column of this run has no figure where its weights were learned on a dataset's ratings.")


def _remarks() -> Iterator[str]:
    yield ("recomputed: from the other numbers in the same table. A printed average is an average of numbers that are "
           "rounded in print; “within rounding” means that inputs exist which round to what is printed, “differs” that "
           "none do.")
    yield ("The organisers ranked development datasets by the dev rule and test datasets by the test rule. The "
           "tables print one average per dataset; under the test rule it counts as often as the dataset has qualities. "
           "Team 5 is MME-CRS; its own paper prints another run than the organisers' does, and names the teams behind "
           "it only Top 2 to Top 5.")


def _number(value: float, digits: int = 3) -> str:
    return f"{round(value, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"
