"""The organisers' paper about the challenge: Tables 2 and 3, and what MME-CRS prints about the same submissions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from harness import published
from harness.published.reproduce import mmecrs, sizes
from harness.published.reproduce.boards import PrintedBoard
from harness.published.reproduce.check import Claim, Tables, place, wins
from harness.published.reproduce.rounding import by_rule, count
from harness.run.rank import CountedMean, Rule, dataset_mean

TITLE = "DSTC10 Track 5, sub-task 1: the organisers' paper and MME-CRS"

AVERAGED = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}
"""How many targets stand behind each dataset of Table 2: eleven in all."""

HIGHER = "all six are higher recomputed, as if each row were the best of a team's submissions on that dataset"
OTHER_RUN = ("MME-CRS prints another run of its own than the organisers do (their average is near its submission 4), "
             "and other averages for the teams behind it")

AVERAGES: tuple[tuple[str, Rule, str], ...] = (
    ("Table 2", CountedMean(AVERAGED), "mean over 11 cells"),
    ("Table 3", dataset_mean, "mean over 14 datasets"),
)


def claims() -> Iterator[Claim]:
    """Everything in the two papers that follows from something else in them."""
    for table, rule, how in AVERAGES:
        yield from averages(table, rule, how)
    board = Tables.of("dstc10").where(table="Table 3").rowwise()
    yield Claim("Table 3", "datasets on which Team 7 is best", Decimal(11), count(wins(board, "Team 7")),
                "count over 14 datasets")
    yield from mmecrs.claims()
    yield from _against_mmecrs()
    yield from sizes.claims()


def averages(table: str, rule: Rule, how: str) -> Iterator[Claim]:
    """Each competitor's average, and its rank by the averages as printed and as recomputed."""
    tables = Tables.of("dstc10").where(table=table)
    means = {name: by_rule(rule, row) for name, row in tables.rowwise().items()}
    printed = {row.metric: row.value for row in tables.where(dataset="all").rows}
    for name, value in printed.items():
        yield Claim(table, f"average of {name}", value, means[name], how, HIGHER if table == "Table 2" else "")
    for name, value in printed.items():
        rank = 1 + sum(other > value for other in printed.values())
        yield Claim(table, f"rank of {name}", Decimal(rank), place(means, name),
                    "rank of the recomputed average", HIGHER if table == "Table 2" else "")


def _against_mmecrs() -> Iterator[Claim]:
    ours, theirs = Tables.of("dstc10").where(table="Table 2"), Tables.of("mmecrs").where(table="Table 3")
    rows = theirs.rowwise()
    for team, name in (("Deep AM-FM", "Deep AM-FM"), ("Team 5", "MME-CRS")):
        for dataset in AVERAGED:
            value = ours.row(metric=team, dataset=dataset).value
            targets = {target: number for target, number in rows[name].items() if target[0] == dataset}
            yield Claim("Table 2", f"{team} on {dataset}", value, by_rule(dataset_mean, targets),
                        f"mean over the cells of {name} in Table 3 of MME-CRS", OTHER_RUN)
    average = {"dataset": "all"}
    yield Claim("Table 2", "average of Deep AM-FM", ours.row(metric="Deep AM-FM", **average).value,
                theirs.number(metric="Deep AM-FM", **average), "as printed in Table 3 of MME-CRS")
    best = sorted((row.value for row in ours.where(**average).rows if row.metric != "Deep AM-FM"), reverse=True)
    for rank, (name, value) in enumerate(zip(mmecrs.TOP, best, strict=False), start=1):
        yield Claim("Table 2", f"average of the team on place {rank}", value, theirs.number(metric=name, **average),
                    "as printed in Table 3 of MME-CRS", OTHER_RUN)


def boards() -> Iterator[PrintedBoard]:
    """The boards on which a winner can be named."""
    tables = Tables.of("dstc10")
    yield PrintedBoard("test, 5 datasets (organisers, Table 2)", tables.where(table="Table 2").rowwise(), AVERAGED,
                       "dstc10", "Table 2", "micro")
    yield PrintedBoard("test, 11 cells (MME-CRS, Table 3)", Tables.of("mmecrs").where(table="Table 3").rowwise(), {},
                       "mmecrs", "Table 3", "micro")
    qualities = {size.dataset: size.qualities for size in published.sizes() if size.source == "dstc10"}
    yield PrintedBoard("dev, 14 datasets (organisers, Table 3)", tables.where(table="Table 3").rowwise(), qualities,
                       "dstc10", "Table 3", "macro")
