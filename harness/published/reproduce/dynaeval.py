"""DynaEval: Tables 2 to 7 and the counts and margins of its prose."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from harness.published import Tables
from harness.published.reproduce.check import Claim, PrintedBoard, count, exact, monotone, number, rank, rowwise, wins

TITLE = "DynaEval"

AGGREGATED = {"Table 5": "USR", "Table 6": "BERT-R", "Table 7": "GPT-2"}
LEVELS = {"dialogue": 8, "turn": 5}
"""In how many qualities of Table 3 DynaEval is said to be best."""

MARGINS = {"empathetic": "0.1397", "convai2": "0.1843", "dailydialog": "0.0822"}
"""How far DynaEval is said to be ahead of S-DiCoh with replaced utterances."""

REPLACED = "utterance replacement (ur)"


def claims() -> Iterator[Claim]:
    """The tables against each other, then the prose."""
    yield from _best_aggregation()
    yield from _repeated()
    yield from _prose()
    yield from _counts()


def _table(name: str) -> Tables:
    return Tables.of("dynaeval").where(table=name)


def _metrics(level: str) -> Tables:
    return Tables(tuple(row for row in _table("Table 3").where(level=level).rows if row.metric != "human"))


def _best_aggregation() -> Iterator[Claim]:
    for table, metric in AGGREGATED.items():
        for row in _metrics("dialogue").where(metric=metric).rows:
            tried = _table(table).where(quality=row.quality).rows
            yield Claim("Table 3", f"{metric}, {row.quality}", row.value,
                        monotone(max, [number(other) for other in tried]),
                        f"greatest of the {len(tried)} aggregations in {table}")


def _repeated() -> Iterator[Claim]:
    for row in _table("Table 4").where(metric="DynaEval (mean pooling)").rows:
        yield Claim("Table 4", f"mean pooling, {row.quality}", row.value,
                    number(_table("Table 2").row(metric="DynaEval", dataset=row.dataset, quality=row.quality)),
                    "as printed in Table 2")
    for table in AGGREGATED:
        overall, coherence = (_table(table).where(quality=quality).rows for quality in ("overall", "coherence"))
        alike = sum(first.value == second.value for first, second in zip(overall, coherence, strict=True))
        yield Claim(table, "columns in which the overall row is the coherence row (none is expected)", Decimal(0),
                    exact(alike), "count", "in all four columns, which is no coincidence")


def _prose() -> Iterator[Claim]:
    for dataset, margin in MARGINS.items():
        ahead, behind = (number(_table("Table 2").row(dataset=dataset, quality=REPLACED, metric=metric))
                         for metric in ("DynaEval", "S-DiCoh"))
        yield Claim("prose", f"ahead of S-DiCoh on {dataset}", Decimal(margin), ahead - behind, "difference in Table 2")


def _counts() -> Iterator[Claim]:
    yield Claim("prose", "columns of Table 2 in which DynaEval is best", Decimal(6),
                count(wins(rowwise(_table("Table 2")), "DynaEval")), "count in Table 2")
    for level, said in LEVELS.items():
        best = count(wins(rowwise(_metrics(level)), "DynaEval"))
        yield Claim("prose", f"qualities of a {level} in which DynaEval is best", Decimal(said), best,
                    "count in Table 3")
    places = [rank(mine, rest) for mine, rest in wins(rowwise(_metrics("dialogue")), "DynaEval")]
    yield Claim("prose", "qualities of a dialogue in which DynaEval is second", Decimal(3),
                exact(sum(place.value == 2 for place in places)), "count in Table 3")
    fluency = {row.metric: number(row) for row in _metrics("turn").where(quality="fluency").rows}
    ahead = [(fluency[name], [fluency["DynaEval"]]) for name in ("GPT-2", "USR", "FED")]
    yield Claim("prose", "GPT-2, USR and FED ahead of DynaEval in fluency", Decimal(3), count(ahead),
                "count in Table 3", "GPT-2 is ahead only if the sign of its correlation is left out")


def boards() -> Iterator[PrintedBoard]:
    """FED, at both levels, and the discrimination task."""
    for level, qualities in (("dialogue", 11), ("turn", 9)):
        yield PrintedBoard(f"FED, {level} level, {qualities} qualities (Table 3)", rowwise(_metrics(level)))
    yield PrintedBoard("telling dialogues from perturbed ones, 6 cells (Table 2)", rowwise(_table("Table 2")))
