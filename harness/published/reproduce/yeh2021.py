"""The assessment of 23 metrics: its stars against its numbers, and what DynaEval's paper prints of the same metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from harness.published import PrintedNumber, Tables
from harness.published.reproduce.check import Claim, PrintedBoard, exact, rounded, rowwise

TITLE = "A comprehensive assessment of dialogue metrics (tables of its code release)"

STARLESS = "HolisticEval has 0.010 and -0.002 without the star of insignificance"
TWO_SYSTEMS = "with two systems every correlation is 1 or -1, and neither star nor its absence means anything"
ANOTHER_RUN = {"DynaEval": "the assessment made these scores itself",
               "FED": "DynaEval took the best of FED's variants for each quality from FED's own paper"}


def claims() -> Iterator[Claim]:
    """Stars by size, stars of perfect correlations, and FED in two papers."""
    tables = Tables.of("yeh2021")
    for dataset in tables.values("dataset"):
        for level in tables.where(dataset=dataset).values("level"):
            yield from _stars(tables.where(dataset=dataset, level=level))
    yield from _across()


def _stars(tables: Tables) -> Iterator[Claim]:
    first = tables.rows[0]
    where = f"{first.table}, {first.dataset}, {first.level} level"
    for statistic in ("pearson", "spearman"):
        rows = tables.where(statistic=statistic).rows
        yield Claim(where, f"{statistic}: stars out of the order of the numbers (none is expected)", Decimal(0),
                    exact(misplaced(rows)), f"least number of stars to change, of {len(rows)}",
                    STARLESS if first.dataset == "dstc6" else "")
    if all(abs(row.value) == 1 for row in tables.rows):
        starred = [sum(bool(row.significant) for row in tables.where(statistic=statistic).rows)
                   for statistic in ("pearson", "spearman")]
        yield Claim(where, "significant Pearson correlations, all of them 1 or -1", Decimal(starred[0]),
                    exact(starred[1]), "as many as significant Spearman correlations, also 1 or -1", TWO_SYSTEMS)


def misplaced(rows: Sequence[PrintedNumber]) -> int:
    """How few cells must change so that all significant correlations are larger than all others."""
    bounds = [Decimal(-1), *(abs(row.value) for row in rows)]
    return min(sum((abs(row.value) > bound) != row.significant for row in rows) for bound in bounds)


def _across() -> Iterator[Claim]:
    for metric in ("DynaEval", "FED"):
        for dataset in ("fed-dial", "fed-turn"):
            row = Tables.of("dynaeval").row(table="Table 3", metric=metric, dataset=dataset, quality="overall")
            printed = Tables.of("yeh2021").row(metric=metric, dataset=dataset, statistic="spearman")
            yield Claim("FED Data", f"{metric} on {dataset}, Spearman", printed.value, rounded(row.value),
                        "overall in Table 3 of DynaEval", ANOTHER_RUN[metric])


def boards() -> Iterator[PrintedBoard]:
    """All datasets of a level together; a metric that is missing in some has no average."""
    for statistic in ("spearman", "pearson"):
        for level in ("turn", "system"):
            rows = Tables.of("yeh2021").where(level=level, statistic=statistic)
            yield PrintedBoard(f"{level} level, {len(rows.values('dataset'))} datasets, {statistic}", rowwise(rows))
