"""The tables of the MME-CRS paper on the available datasets: its submissions, ablations of sub-metrics, and MME-Avg.

The paper evaluates on the challenge's five test sets, with one score per item for all qualities. As in the paper, the
weights of a quality are not shrunk, and weights for a test set are learned on all development datasets. Unlike in the
paper, sub-metrics are standardised, and the weights for a development dataset are learned on the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import BadConfig
from harness.published import Tables
from harness.results.exhibits import Grid, number
from harness.run.correlate import TargetData
from harness.statistics.estimates import estimate
from harness.studies import Findings, StudyRequest

TITLE = "The tables of MME-CRS on the available datasets"
FLAGS = ("dataset", "quality", "split")
ABLATIONS = ("fm", "rm", "tcm", "em", "sm", "rm+tcm")
PUBLISHED = "mme-crs-single[strength=0.0]"
TABLES: Mapping[str, Mapping[str, str]] = {
    "Table 4": {**{f"MME-CRS submission {number}": f"mme-crs-single[power={power},strength=0.0]"
                   for number, power in ((1, "1"), (3, "3"), (4, "auto"))}, "MME-CRS submission 2": PUBLISHED},
    "Table 5": {"MME-CRS": PUBLISHED, **{f"MME-CRS w/o {name.upper()}": f"mme-crs-single[strength=0.0,without={name}]"
                                         for name in ABLATIONS}},
    "Table 6": {"MME-CRS": PUBLISHED, "MME-Avg": "mme-avg"},
}
"""The column of each row of a published table; submission 5 uses another encoder (`--encoder`)."""
DATA = {"real": "real data", "sample": "the bundled sample (generated, with simulated raters)"}
COLUMNS = tuple(dict.fromkeys(column for systems in TABLES.values() for column in systems.values()))


def study(request: StudyRequest) -> Findings:
    turns = tuple(card.name for card in request.plan.cards if card.level == "turn")
    metrics = tuple(column.replace("-single", "") for column in COLUMNS)
    settings = dataclasses.replace(request.settings, metric=metrics, dataset=turns)
    rows: list[dict[str, Any]] = []
    failures: tuple[str, ...] = ()
    if turns:
        results, targets, failures = dataclasses.replace(request, settings=settings).scored("mme-crs")
        kinds = {entry.name: entry.kind for entry in results.datasets}
        for kind, title in DATA.items():
            rows += system_means(title, [target for target in targets if kinds[target.dataset] == kind])
    if not rows:
        reason = "nothing to study: no turn-level dataset that all systems of the tables can score"
        raise BadConfig("; ".join((reason, *failures)))
    rows.sort(key=lambda row: (row["data"], -row["printed"]))
    return Findings(
        tables=tuple(Grid(table.lower().replace(" ", "-"), f"{table} of the paper",
                          ("system", "column", "targets", "here", "paper"), tuple(
                              (row["system"], row["column"], str(row["targets"]), number(row["here"], 3),
                               number(row["printed"], 3)) for row in group), data)
                     for table in TABLES for data in DATA.values()
                     if (group := [row for row in rows if (row["table"], row["data"]) == (table, data)])),
        remarks=(("Values are means of Spearman's ρ over the qualities of all datasets; in the paper, of five test "
                  "sets. Unless these are imported, only the order of systems can be compared."),
                 ("Weights are not shrunk, as in the paper. Unlike in the paper, sub-metrics are standardised, and the "
                  "weights for a development dataset are learned on the others.")),
        objects={"table": rows}, failures=failures)


def system_means(data: str, targets: Sequence[TargetData]) -> Iterator[dict[str, Any]]:
    """Yield each system's mean over the targets that all systems can score, with the published mean."""
    rows = [(target, {column: row for row, (_, column) in enumerate(target.names) if column in COLUMNS})
            for target in targets]
    complete = [(target, columns) for target, columns in rows if len(columns) == len(COLUMNS)]
    for table, systems in TABLES.items() if complete else ():
        printed = Tables.of("mmecrs").where(table=table, dataset="all")
        for system, column in systems.items():
            values = [estimate(target.panel(columns[column]), "spearman").value for target, columns in complete]
            yield {"table": table, "system": system, "column": column, "data": data, "targets": len(complete),
                   "here": float(np.mean(values)), "printed": float(printed.row(metric=system).value)}
