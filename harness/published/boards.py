"""The printed boards of the challenge, and who wins on each under which rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness import published
from harness.published import Tables
from harness.run.rank import BY_NAME, Rule, Target, borda, counted_mean, over

AVERAGED = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}
"""How many targets stand behind each dataset of Table 2: eleven in all."""


@dataclass(frozen=True, slots=True)
class PrintedBoard:
    """A printed board; `counts` says for how many targets a dataset's average stands, where averages are printed.

    `source`, `table` and `rule` say where and by which rule its averages are printed, if they are.
    """

    name: str
    rows: Mapping[str, Mapping[Target, float]]
    counts: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    table: str = ""
    rule: str = ""

    def averages(self) -> dict[str, float]:
        """The printed average of each competitor."""
        return {row.metric: float(row.value)
                for row in Tables.of(self.source).where(table=self.table, dataset="all").rows}

    def under(self, rule: str) -> dict[str, float]:
        """The value of each competitor under a rule, from the printed targets; NaN where one is missing."""
        targets = frozenset(target for row in self.rows.values() for target in row)
        if rule == "borda":
            return dict(borda(self.rows, targets))
        mean: Rule = counted_mean(self.counts) if rule == "micro" and self.counts else BY_NAME[rule]
        return {name: over(mean, row, targets) for name, row in self.rows.items()}


@dataclass(frozen=True, slots=True)
class Winner:
    """The first (several where tied) and the next under a rule, out of the competitors with all targets."""

    board: str
    rule: str
    first: tuple[str, ...]
    value: float
    second: str | None
    runner_up: float | None
    competitors: int
    incomplete: int


def winners(board: PrintedBoard) -> Iterator[Winner]:
    """The winner under every rule."""
    for rule in ("micro", "macro", "borda"):
        values = board.under(rule)
        complete = {name: value for name, value in values.items() if value == value}
        best = max(complete.values())
        first = tuple(name for name, value in complete.items() if value == best)
        rest = {name: value for name, value in complete.items() if name not in first}
        second = max(rest, key=lambda name: rest[name], default=None)
        yield Winner(board.name, rule, first, best, second, None if second is None else rest[second], len(complete),
                     len(values) - len(complete))


def boards() -> Iterator[PrintedBoard]:
    """The boards on which a winner can be named."""
    tables = Tables.of("dstc10")
    yield PrintedBoard("test, 5 datasets (organisers, Table 2)", _rows(tables.where(table="Table 2")), AVERAGED,
                       "dstc10", "Table 2", "micro")
    yield PrintedBoard("test, 11 cells (MME-CRS, Table 3)", _rows(Tables.of("mmecrs").where(table="Table 3")), {},
                       "mmecrs", "Table 3", "micro")
    qualities = {size.dataset: size.qualities for size in published.sizes() if size.source == "dstc10"}
    yield PrintedBoard("dev, 14 datasets (organisers, Table 3)", _rows(tables.where(table="Table 3")), qualities,
                       "dstc10", "Table 3", "macro")


def _rows(tables: Tables) -> dict[str, dict[Target, float]]:
    """By metric, the numbers by target; means over all datasets are left out."""
    rows: dict[str, dict[Target, float]] = {metric: {} for metric in tables.values("metric")}
    for row in tables.rows:
        if row.dataset != "all":
            rows[row.metric][row.dataset, row.quality] = float(row.value)
    return rows
