"""A challenge of which only the printed results are known, as a report and an exhibit: DSTC10 Track 5.

The boards hold the printed average of each team on each dataset. Under the test rule such an average counts as often as
the dataset has qualities, as `harness.run.rank.CountedMean` has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from benchmarks import registry
from harness import published as print_
from harness.challenge.rulebook import Rulebook
from harness.published import exhibit
from harness.published.boards import PrintedBoard, boards
from harness.results.rows import Correlation, DatasetEntry, Exhibit, MetricEntry, QualityEntry, RankingRow, Results
from harness.run import environment

AVERAGE = "average"
PAPER = "Zhang et al. 2021"
BOARDS = {"test": "test, 5 datasets (organisers, Table 2)", "dev": "dev, 14 datasets (organisers, Table 3)"}
LEAD = ("What the papers about the challenge print of the teams' submissions, and what follows from those numbers. No "
        "submission was run here.")
NOTE = "Printed by the organisers to four digits, the best submission of each team; nothing was run here."


def drawn(rules: Rulebook) -> tuple[Results, Exhibit]:
    """The report and the exhibit of a published challenge."""
    command = f"harness challenge publish {rules.folder.name}"
    printed = {board.name: board for board in boards()}
    rows = [row for row in print_.table("dstc10") if row.table in ("Table 2", "Table 3") and row.dataset != "all"]
    correlations = tuple(Correlation(row.dataset, AVERAGE, row.metric, row.metric, "spearman", _turns(row.dataset),
                                 float(row.value), math.nan, math.nan, math.nan) for row in rows)
    teams = tuple(dict.fromkeys(row.metric for row in rows))
    report = Results(
        run=environment.facts(0, "none", {"published": rules.published}, command),
        datasets=tuple(_dataset(name) for name in dict.fromkeys(row.dataset for row in rows)),
        metrics=tuple(_team(name) for name in teams), correlations=correlations,
        ranking=tuple(row for split, name in BOARDS.items() for row in _ranking(split, printed[name])))
    shown = exhibit.challenge(replace(report, datasets=(), metrics=(), correlations=(), ranking=()))
    remarks = tuple(remark for remark in shown.remarks if remark != exhibit.NOTHING)
    return report, replace(shown, title=rules.title, lead=LEAD, command=command, remarks=remarks)


def _turns(dataset: str) -> int:
    return next(row.turns for row in print_.sizes() if row.source == "dstc10" and row.dataset == dataset)


def _dataset(name: str) -> DatasetEntry:
    card, turns = registry.card(name), _turns(name)
    return DatasetEntry(
        name=name, title=card.title, split=card.split, level=card.level, origin="printed", fingerprint="", items=turns,
        ratings=next(row.annotations for row in print_.sizes() if row.source == "dstc10" and row.dataset == name),
        qualities=(QualityEntry(AVERAGE, AVERAGE, None, None, turns),), licence=card.licence, citation=card.citation,
        notes=NOTE)


def _team(name: str) -> MetricEntry:
    family = "submission" if name.startswith("Team") else "baseline"
    return MetricEntry(name=name, title=name, family=family, columns=(name,), needs=(), levels=("turn", "dialogue"),
                       paper=PAPER, scope="item", trained_on="", signature=f"printed|{name}")


def _ranking(split: str, board: PrintedBoard) -> Iterator[RankingRow]:
    targets = len({target for row in board.rows.values() for target in row})
    for name, rule in (("dev", "macro"), ("test", "micro")):
        values = board.under(rule)
        for team, value in sorted(values.items(), key=lambda row: (-row[1], row[0])):
            rank = 1 + sum(other > value for other in values.values())
            yield RankingRow(split, "real", name, "spearman", team, team, value, rank, targets, targets)
