"""What MME-CRS prints of itself, on the datasets that are here: its submissions, what each sub-metric adds, MME-Avg.

The paper measures on the challenge's five test sets, one score per item for all qualities. A development dataset has
the weights learned on the others, a test set those of all development datasets, as in the paper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.errors import BadConfig
from harness.published import Tables
from harness.results.exhibits import number
from harness.results.rows import Grid
from harness.run.correlate import TargetData
from harness.statistics.estimates import estimate
from harness.studies import Findings, StudyRequest

TITLE = "The tables of MME-CRS, on the datasets that are here"
FLAGS = ("dataset", "quality", "split")
ABLATIONS = ("fm", "rm", "tcm", "em", "sm", "rm+tcm")
TABLES: Mapping[str, Mapping[str, str]] = {
    "Table 4": {**{f"MME-CRS submission {number}": f"mme-crs-single[power={power}]"
                   for number, power in ((1, "1"), (3, "3"), (4, "auto"))}, "MME-CRS submission 2": "mme-crs-single"},
    "Table 5": {"MME-CRS": "mme-crs-single", **{f"MME-CRS w/o {name.upper()}": f"mme-crs-single[without={name}]"
                                                for name in ABLATIONS}},
    "Table 6": {"MME-CRS": "mme-crs-single", "MME-Avg": "mme-avg"},
}
"""The column that is each row of a printed table; submission 5 reads another encoder (`--encoder`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableRow:
    """A system of a printed table with its mean correlation here, over targets as in print, and the printed one."""

    table: str
    system: str
    column: str
    data: str
    targets: int
    here: float
    printed: float


def study(request: StudyRequest) -> Findings:
    """Score every system of the tables on the chosen datasets, and put the printed means beside."""
    turns = tuple(card.name for card in request.plan.cards if card.level == "turn")
    columns = dict.fromkeys(column for systems in TABLES.values() for column in systems.values())
    metrics = tuple(column.replace("-single", "") for column in columns)
    selection = dataclasses.replace(request.selection, metrics=metrics, datasets=turns)
    own = dataclasses.replace(request, selection=selection)
    groups, failures = own.targets("harness study mme-crs") if turns else ([], ())
    rows = [row for group in groups for row in measured(group.title, group.targets)]
    if not rows:
        nothing = "nothing to study: no turn-level dataset that all its systems can score"
        raise BadConfig("; ".join((nothing, *failures)))
    return Findings(
        tables=tuple(Grid(table.lower().replace(" ", "-"), f"{table} of the paper",
                          ("system", "column", "data", "targets", "here", "print"), tuple(_lines(rows, table)))
                     for table in TABLES),
        remarks=(("Spearman, mean over the qualities of all datasets. Print is of five test sets; where these are not "
                  "imported, only the order within a column can be compared with it."),),
        objects={"table": [dataclasses.asdict(row) for row in rows]}, failures=failures)


def measured(data: str, targets: Sequence[TargetData]) -> Iterator[TableRow]:
    """Every system's mean over the targets that all systems can score, with the printed one."""
    columns = {column for systems in TABLES.values() for column in systems.values()}
    places = [(target, {column: row for row, (_, column) in enumerate(target.names) if column in columns})
              for target in targets]
    complete = [(target, rows) for target, rows in places if len(rows) == len(columns)]
    for table, systems in TABLES.items() if complete else ():
        printed = Tables.of("mmecrs").where(table=table, dataset="all")
        for system, column in systems.items():
            values = [estimate(target.panel(rows[column]), "spearman").value for target, rows in complete]
            yield TableRow(table, system, column, data, len(complete), float(np.mean(values)),
                           float(printed.row(metric=system).value))


def _lines(rows: list[TableRow], table: str) -> Iterator[tuple[str, ...]]:
    for row in sorted((row for row in rows if row.table == table), key=lambda row: (row.data, -row.printed)):
        yield row.system, row.column, row.data, str(row.targets), number(row.here, 3), number(row.printed, 3)
