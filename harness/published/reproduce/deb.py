"""DEB and DailyDialog++: confusion matrices against accuracies, repeated cells, claims of the prose."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from harness.published import Tables
from harness.published.reproduce.check import Claim, Number, PrintedBoard, count, exact, number, rowwise

TITLE = "DEB and DailyDialog++"

NEGATIVES = {"pos vs rand neg": "random", "pos vs adv neg": "adversarial"}
TRAINED = ("BERT+DNN", "BERT regressor", "RUBER", "RUBER-Large", "DEB")
FINETUNED = "DEB pretrained, finetuned on rand neg"

TWO_PRINTS = "Table 3 has 0.8827 for DEB and 0.8236 for RUBER-Large, Table 7 has 0.8829 and 0.8235"
LENGTHS = "not the same responses: 4568 = 4 × 1142, 5710 = 5 × 1142, 5700 = 5 × 1140"
UNCERTAIN = "one of the cells could not be placed with certainty"
LEVELS = {"response": "turn", "system": "system"}


def claims() -> Iterator[Claim]:
    """Table 5 against the others, the others against each other, the prose."""
    yield from _confusion()
    yield from _totals()
    yield from _repeated()
    yield from _prose()
    system = [Decimal(row.p_value) < Decimal("0.05") for row in _table("Table 9").where(level="system").rows]
    yield Claim("prose", "significant correlations at system level", Decimal(0), exact(sum(system)),
                "p-values below 0.05 in Table 9", "the Pearson correlation of DEB has p = 5.2e-3")


def _table(name: str) -> Tables:
    return Tables.of("deb").where(table=name)


def _matrix(metric: str, quality: str) -> dict[str, int]:
    rows = _table("Table 5").where(metric=metric, quality=quality).rows
    return {row.statistic.removeprefix("count-"): int(row.value) for row in rows}


def _accuracy(metric: str, quality: str) -> Number:
    counts = _matrix(metric, quality)
    return exact(Fraction(counts["tp"] + counts["tn"], sum(counts.values())))


def _confusion() -> Iterator[Claim]:
    for table, note in (("Table 3", "trained metric"), ("Table 7", "finetuned on rand neg")):
        for row in _table(table).where(statistic="accuracy", note=note).rows:
            if row.metric in TRAINED:
                yield Claim(table, f"accuracy of {row.metric}, {NEGATIVES[row.quality]} negatives", row.value,
                            _accuracy(row.metric, row.quality), "from Table 5", TWO_PRINTS)
    for row in _table("Table 4").where(quality="unmodified positives").rows:
        counts = _matrix(row.metric, "pos vs rand neg")
        yield Claim("Table 4", f"unmodified positives of {row.metric} found", row.value,
                    exact(Fraction(counts["tp"], counts["tp"] + counts["fn"])), "from Table 5")
    counts = _matrix("DEB", "pos vs adv neg")
    (before,) = Tables.of("deb").where(table="Section 7.2", note="no adversarial data").rows
    yield Claim("Section 7.2", "adversarial negatives found by DEB", before.value,
                exact(Fraction(counts["tn"], counts["fp"] + counts["tn"])), "from Table 5")


def _totals() -> Iterator[Claim]:
    for metric in TRAINED:
        for quality, name in NEGATIVES.items():
            counts = _matrix(metric, quality)
            yield Claim("Table 5", f"{name} negatives of {metric}", Decimal(counts["fp"] + counts["tn"]),
                        exact(counts["tp"] + counts["fn"]), "as many as positives")
        mine, those = (_matrix(name, "pos vs rand neg") for name in (metric, "DEB"))
        yield Claim("Table 5", f"positives of {metric}", Decimal(mine["tp"] + mine["fn"]),
                    exact(those["tp"] + those["fn"]), "as many as of DEB", LENGTHS)


def _repeated() -> Iterator[Claim]:
    first = _table("Table 7").where(note="finetuned on rand neg")
    for metric in TRAINED:
        row = _table("Table 3").row(metric=metric, statistic="accuracy")
        yield Claim("Table 3", f"accuracy of {metric}", row.value,
                    number(first.row(metric=metric, quality=row.quality)), "as printed in Table 7", TWO_PRINTS)
    for row in _table("Table 6").where(metric=FINETUNED).rows:
        yield Claim("Table 6", f"accuracy of DEB, {NEGATIVES[row.quality]} negatives", row.value,
                    number(first.row(metric="DEB", quality=row.quality)), "as printed in Table 7")
    matrices = [[_matrix(metric, quality)["tp"] for quality in NEGATIVES] for metric in TRAINED]
    yield Claim("Table 5", "models with the same positives found in both halves", Decimal(5),
                exact(sum(first == second for first, second in matrices)), "count")


def _prose() -> Iterator[Claim]:
    yield from _best("Table 3", 2, _table("Table 3").where(note="trained metric"), "statistic")
    yield from _best("Table 8", 3, _table("Table 8"), "dataset", UNCERTAIN)
    for level in LEVELS:
        rows = _table("Table 9").where(level=LEVELS[level])
        yield from _best(f"Table 9, {level} level", 3, rows, "statistic")
    for word, name, best, rest in (("gain", "adversarial", "adv", "rand"), ("lose", "random", "rand", "adv")):
        pairs = [(_trained(metric, best, name), [_trained(metric, rest, name)]) for metric in TRAINED]
        yield Claim("prose", f"models that {word} on {name} negatives when trained on adversarial ones", Decimal(5),
                    count(pairs), "count in Table 7")
    for quality, name in NEGATIVES.items():
        rows = _table("Table 7").where(quality=quality)
        deb = rows.row(metric="DEB", note="rand + adv neg")
        yield Claim("prose", f"DEB trained on both is best on {name} negatives", Decimal(1),
                    count([(number(deb), [number(row) for row in rows.rows if row != deb])]), "count in Table 7")


def _trained(metric: str, data: str, negatives: str) -> Number:
    (quality,) = (quality for quality, name in NEGATIVES.items() if name == negatives)
    return number(_table("Table 7").row(metric=metric, quality=quality, note=f"finetuned on {data} neg"))


def _best(where: str, said: int, rows: Tables, field: str, reason: str = "") -> Iterator[Claim]:
    columns = [rows.where(**{field: value}) for value in rows.values(field)]
    board = [(number(column.row(metric="DEB")), [number(row) for row in column.rows if row.metric != "DEB"])
             for column in columns]
    yield Claim(where, "columns in which DEB is best", Decimal(said), count(board), "count", reason)


def boards() -> Iterator[PrintedBoard]:
    """The transfer to datasets that were not trained on, and accuracy when trained on both kinds of negatives."""
    yield PrintedBoard("transfer to 3 datasets (Table 8)", rowwise(_table("Table 8")))
    for data in ("rand neg", "rand + adv neg"):
        rows = _table("Table 7").where(note=f"finetuned on {data}")
        yield PrintedBoard(f"accuracy, trained on {data} (Table 7)", rowwise(rows))
