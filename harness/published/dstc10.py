"""The organisers' paper about the challenge (Tables 1 to 3), MME-CRS (Tables 1 to 6), and each against the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from harness import published
from harness.published import DatasetSize, Tables
from harness.published.check import (
    Claim,
    Number,
    PrintedBoard,
    by_rule,
    count,
    exact,
    number,
    place,
    rowwise,
    wins,
)
from harness.run.rank import CountedMean, Rule, cell_mean, dataset_mean

AVERAGED = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}
"""How many targets stand behind each dataset of Table 2: eleven in all."""

HIGHER = "all six are higher recomputed, as if each row were the best of a team's submissions on that dataset"
OTHER_RUN = ("MME-CRS prints another run of its own than the organisers do (their average is near its submission 4), "
             "and other averages for the teams behind it")

AVERAGES: tuple[tuple[str, Rule, str], ...] = (
    ("Table 2", CountedMean(AVERAGED), "mean over 11 cells"),
    ("Table 3", dataset_mean, "mean over 14 datasets"),
)

TOP = ("MME-CRS", "Top 2", "Top 3", "Top 4", "Top 5")
SUBMISSION = "MME-CRS submission"
RANKS = {1: 2, 2: 1, 3: 4, 4: 5, 5: 6}
"""Table 4: the rank of each submission among all that were handed in."""

DROPS = {"TCM": "0.0326", "RM": "0.0156", "EM": "0.0101"}
"""The prose on Table 5: what is lost without a sub-metric."""

MME = "MME-CRS Tables 1, 2"
OURS = "Table 1"
Sizes = Mapping[str, DatasetSize]


def claims() -> Iterator[Claim]:
    """Everything in the two papers that follows from something else in them."""
    for table, rule, how in AVERAGES:
        yield from averages(table, rule, how)
    board = rowwise(Tables.of("dstc10").where(table="Table 3"))
    yield Claim("Table 3", "datasets on which Team 7 is best", Decimal(11), count(wins(board, "Team 7")),
                "count over 14 datasets")
    yield from _mmecrs_averages()
    yield from _submissions()
    yield from _repeated()
    yield from _prose()
    yield from _against_mmecrs()
    yield from _sizes()


def averages(table: str, rule: Rule, how: str) -> Iterator[Claim]:
    """Each competitor's average, and its rank by the averages as printed and as recomputed."""
    tables = Tables.of("dstc10").where(table=table)
    means = {name: by_rule(rule, row) for name, row in rowwise(tables).items()}
    printed = {row.metric: row.value for row in tables.where(dataset="all").rows}
    for name, value in printed.items():
        yield Claim(table, f"average of {name}", value, means[name], how, HIGHER if table == "Table 2" else "")
    for name, value in printed.items():
        rank = 1 + sum(other > value for other in printed.values())
        yield Claim(table, f"rank of {name}", Decimal(rank), place(means, name),
                    "rank of the recomputed average", HIGHER if table == "Table 2" else "")


def _against_mmecrs() -> Iterator[Claim]:
    ours, theirs = Tables.of("dstc10").where(table="Table 2"), Tables.of("mmecrs").where(table="Table 3")
    rows = rowwise(theirs)
    for team, name in (("Deep AM-FM", "Deep AM-FM"), ("Team 5", "MME-CRS")):
        for dataset in AVERAGED:
            value = ours.row(metric=team, dataset=dataset).value
            targets = {target: number for target, number in rows[name].items() if target[0] == dataset}
            yield Claim("Table 2", f"{team} on {dataset}", value, by_rule(dataset_mean, targets),
                        f"mean over the cells of {name} in Table 3 of MME-CRS", OTHER_RUN)
    average = {"dataset": "all"}
    yield Claim("Table 2", "average of Deep AM-FM", ours.row(metric="Deep AM-FM", **average).value,
                number(theirs.row(metric="Deep AM-FM", **average)), "as printed in Table 3 of MME-CRS")
    best = sorted((row.value for row in ours.where(**average).rows if row.metric != "Deep AM-FM"), reverse=True)
    for rank, (name, value) in enumerate(zip(TOP, best, strict=False), start=1):
        yield Claim("Table 2", f"average of the team on place {rank}", value,
                    number(theirs.row(metric=name, **average)), "as printed in Table 3 of MME-CRS", OTHER_RUN)


def _average(table: str, metric: str) -> Number:
    return number(Tables.of("mmecrs").row(table=table, metric=metric, dataset="all"))


def _mmecrs_averages() -> Iterator[Claim]:
    for table in ("Table 3", "Table 6"):
        tables = Tables.of("mmecrs").where(table=table)
        means = {name: by_rule(cell_mean, row) for name, row in rowwise(tables).items()}
        for row in tables.where(dataset="all").rows:
            yield Claim(f"MME-CRS {table}", f"average of {row.metric}", row.value, means[row.metric],
                        "mean over 11 cells")
        for rank, name in enumerate(TOP if table == "Table 3" else (), start=1):
            yield Claim(f"MME-CRS {table}", f"rank of {name}", Decimal(rank), place(means, name),
                        "rank of the recomputed average")


def _submissions() -> Iterator[Claim]:
    handed = {f"submission {which}": _average("Table 4", f"{SUBMISSION} {which}") for which in RANKS}
    known = {**handed, **{name: _average("Table 3", name) for name in TOP[1:]}}
    for name, rank in zip(handed, RANKS.values(), strict=True):
        yield Claim("MME-CRS Table 4", f"rank of {name}", Decimal(rank), place(known, name),
                    "rank among its submissions and the next four teams")
    numbers = list(handed.values())
    yield Claim("MME-CRS prose", "submissions 1 to 3 better than both of 4 and 5", Decimal(3),
                count([(number, numbers[3:]) for number in numbers[:3]]), "count in Table 4")


def _repeated() -> Iterator[Claim]:
    tables = Tables.of("mmecrs")
    for row in tables.where(table="Table 6", metric="MME-CRS").rows:
        yield Claim("MME-CRS Table 6", f"MME-CRS, {row.dataset} {row.quality}", row.value,
                    number(tables.row(table="Table 3", metric="MME-CRS", dataset=row.dataset, quality=row.quality)),
                    "as printed in Table 3")
    for table, name in (("Table 4", f"{SUBMISSION} 2"), ("Table 5", "MME-CRS")):
        row = tables.row(table=table, metric=name)
        yield Claim(f"MME-CRS {table}", f"average of {name}", row.value, _average("Table 3", "MME-CRS"),
                    "as printed in Table 3")


def _prose() -> Iterator[Claim]:
    where, ours = "MME-CRS prose", _average("Table 3", "MME-CRS")
    yield Claim(where, "ahead of the second team", Decimal("0.0111"), ours - _average("Table 3", "Top 2"),
                "difference in Table 3")
    yield Claim(where, "ahead of equal weights", Decimal("0.0349"), ours - _average("Table 6", "MME-Avg"),
                "difference in Table 6")
    board = rowwise(Tables.of("mmecrs").where(table="Table 3"))
    yield Claim(where, "cells in which it is first", Decimal(6), count(wins(board, "MME-CRS")), "count in Table 3")
    board = rowwise(Tables.of("mmecrs").where(table="Table 6"))
    yield Claim(where, "cells in which it is better than with equal weights", Decimal(11),
                count(wins(board, "MME-CRS")), "count in Table 6")
    for part, lost in DROPS.items():
        yield Claim(where, f"lost without {part}", Decimal(lost),
                    _average("Table 5", "MME-CRS") - _average("Table 5", f"MME-CRS w/o {part}"),
                    "difference in Table 5")


def _sizes() -> Iterator[Claim]:
    """Both tables of datasets one by one, then sums, then what the numbers imply about each other."""
    by_source: dict[str, dict[str, DatasetSize]] = {"dstc10": {}, "mmecrs2022": {}}
    for size in published.sizes():
        by_source[size.source][size.dataset] = size
    ours, theirs = by_source.values()
    for name, size in theirs.items():
        for field in ("turns", "qualities"):
            yield Claim(MME, f"{field} of {name}", Decimal(getattr(size, field)), exact(getattr(ours[name], field)),
                        "as printed by the organisers")
        printed, half = ours[name].annotations, Fraction(ours[name].unit, 2) if ours[name].unit > 1 else Fraction()
        yield Claim(MME, f"annotations of {name}", Decimal(size.annotations),
                    Number(Fraction(printed), printed - half, printed + half), "as printed by the organisers")
    for where, what, said, sizes, field, split, how in (
        ("MME-CRS prose", "qualities of the development sets", 37, theirs, "qualities", "dev", "sum in its Table 1"),
        ("MME-CRS prose", "qualities of the test sets", 11, theirs, "qualities", "test", "sum in its Table 2"),
        ("prose", "scored test instances", 18641, ours, "turns", "test", "sum in Table 1"),
        ("prose", "scored test instances", 18641, theirs, "turns", "test", "sum in Table 2 of MME-CRS"),
    ):
        yield Claim(where, what, Decimal(said),
                    exact(sum(getattr(size, field) for size in sizes.values() if size.split == split)), how)
    for what, said, name, field in (("Persona pairs", 5000, "dstc10-persona", "turns"),
                                    ("FED dialogues", 124, "fed-dial", "turns"),
                                    ("criteria of Persona-See", 8, "persona-see", "qualities")):
        yield Claim("prose", what, Decimal(said), exact(getattr(ours[name], field)), "as printed in Table 1")
    yield from _implied(ours, theirs)


def _implied(ours: Sizes, theirs: Sizes) -> Iterator[Claim]:
    for where, turns, table in ((MME, theirs, "MME-CRS"), (OURS, ours, "the organisers")):
        yield Claim(where, "annotations of dstc7", Decimal(29700), exact(3 * turns["dstc7"].turns),
                    f"three raters for each of the turns of {table}", last=Fraction(ours["dstc7"].unit),
                    reason="29,700 over three raters suits 9,900 turns")
        yield Claim(where, "annotations of dstc10-persona", Decimal(ours["dstc10-persona"].annotations),
                    exact(16 * turns["dstc10-persona"].turns), f"four raters, four qualities, turns of {table}",
                    last=Fraction(ours["dstc10-persona"].unit), reason="5,000 pairs suit neither print")
    yield Claim(OURS, "annotations of convai2-grade", Decimal(3000),
                exact(Fraction(11910, 1200) * ours["convai2-grade"].turns),
                "turns, at GRADE's 11,910 ratings for 1,200 pairs", last=Fraction(ours["convai2-grade"].unit),
                reason="3,000 suit 300 pairs, as MME-CRS prints, and not 600")
    for name in ("fed-turn", "fed-dial"):
        size = theirs[name]
        yield Claim(MME, f"annotations of {name}", Decimal(size.annotations), exact(size.turns * size.qualities),
                    "turns × qualities", reason=f"suits {size.annotations // size.qualities} rows")


def boards() -> Iterator[PrintedBoard]:
    """The boards on which a winner can be named."""
    tables = Tables.of("dstc10")
    yield PrintedBoard("test, 5 datasets (organisers, Table 2)", rowwise(tables.where(table="Table 2")), AVERAGED,
                       "dstc10", "Table 2", "micro")
    yield PrintedBoard("test, 11 cells (MME-CRS, Table 3)", rowwise(Tables.of("mmecrs").where(table="Table 3")), {},
                       "mmecrs", "Table 3", "micro")
    qualities = {size.dataset: size.qualities for size in published.sizes() if size.source == "dstc10"}
    yield PrintedBoard("dev, 14 datasets (organisers, Table 3)", rowwise(tables.where(table="Table 3")), qualities,
                       "dstc10", "Table 3", "macro")
