"""MME-CRS, the paper of the challenge's Team 5: Tables 3 to 6 and the numbers of its prose."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from harness.published.reproduce.check import Claim, Tables, place, wins
from harness.published.reproduce.rounding import Number, by_rule, count
from harness.run.rank import cell_mean

TOP = ("MME-CRS", "Top 2", "Top 3", "Top 4", "Top 5")
SUBMISSION = "MME-CRS submission"
RANKS = {1: 2, 2: 1, 3: 4, 4: 5, 5: 6}
"""Table 4: the rank of each submission among all that were handed in."""

DROPS = {"TCM": "0.0326", "RM": "0.0156", "EM": "0.0101"}
"""The prose on Table 5: what is lost without a sub-metric."""


def claims() -> Iterator[Claim]:
    """The tables in their order, then the prose."""
    yield from _averages()
    yield from _submissions()
    yield from _repeated()
    yield from _prose()


def _average(table: str, metric: str) -> Number:
    return Tables.of("mmecrs").number(table=table, metric=metric, dataset="all")


def _averages() -> Iterator[Claim]:
    for table in ("Table 3", "Table 6"):
        tables = Tables.of("mmecrs").where(table=table)
        means = {name: by_rule(cell_mean, row) for name, row in tables.rowwise().items()}
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
                    tables.number(table="Table 3", metric="MME-CRS", dataset=row.dataset, quality=row.quality),
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
    board = Tables.of("mmecrs").where(table="Table 3").rowwise()
    yield Claim(where, "cells in which it is first", Decimal(6), count(wins(board, "MME-CRS")), "count in Table 3")
    board = Tables.of("mmecrs").where(table="Table 6").rowwise()
    yield Claim(where, "cells in which it is better than with equal weights", Decimal(11),
                count(wins(board, "MME-CRS")), "count in Table 6")
    for part, lost in DROPS.items():
        yield Claim(where, f"lost without {part}", Decimal(lost),
                    _average("Table 5", "MME-CRS") - _average("Table 5", f"MME-CRS w/o {part}"),
                    "difference in Table 5")
