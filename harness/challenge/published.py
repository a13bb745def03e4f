"""The published results of a challenge, as a report and an exhibit.

Only those of DSTC10 Track 5 have boards, with the published average of each team on each dataset. Under the test rule,
each average is weighted by the dataset's number of qualities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks import registry
from harness.challenge.rulebook import Rulebook
from harness.published import PrintedTable, boards, exhibit, sizes
from harness.results.entries import DatasetEntry, MetricEntry, QualityEntry
from harness.results.exhibits import Exhibit
from harness.results.rows import Correlation, RankingRow, Results
from harness.run import environment
from harness.run.rank import RULES

AVERAGE = "average"
PAPER = "Zhang et al. 2021"
LEAD = "Published numbers about the challenge, and conclusions from them. No submission was run here."
NOTE = ("The best submission of each team, as published by the organisers to four digits; nothing was run here. "
        "Counts of votes may be rounded.")


def results(rules: Rulebook) -> tuple[Results, Exhibit]:
    command = f"harness challenge publish {rules.folder.name}"
    tables = [board for board in boards() if board.source == rules.published]
    numbers = [row for board in tables for row in board.numbers]
    size = sizes()
    report = Results(
        run=environment.facts(0, "none", {"published": rules.published}, command),
        datasets=tuple(DatasetEntry(
            name=name, title=card.title, split=card.split, level=card.level, origin="printed", fingerprint="",
            items=size[name].turns, ratings=size[name].turns * size[name].qualities,
            votes=size[name].annotations, licence=card.licence, citation=card.citation,
            qualities=(QualityEntry(AVERAGE, AVERAGE, None, None, size[name].turns),), notes=NOTE)
            for name in dict.fromkeys(row.dataset for row in numbers) for card in [registry.card(name)]),
        metrics=tuple(MetricEntry(
            name=name, title=name, family="submission" if name.startswith("Team") else "baseline", columns=(name,),
            levels=("turn", "dialogue"), paper=PAPER, signature={"metric": "printed", "asked": name})
            for name in dict.fromkeys(row.metric for row in numbers)),
        correlations=tuple(Correlation(
            row.dataset, AVERAGE, row.metric, row.metric, "spearman", size[row.dataset].turns, float(row.value),
            math.nan, math.nan, math.nan) for row in numbers),
        ranking=tuple(row for board in tables for row in _ranking(board)))
    return report, Exhibit(name=rules.published, kind="challenge", title=rules.title, lead=LEAD, command=command,
                           grids=tuple(exhibit.printed(rules.published)), remarks=exhibit.REMARKS if tables else ())


def _ranking(board: PrintedTable) -> Iterator[RankingRow]:
    ranks, count = board.ranks(), len({row.dataset for row in board.numbers})
    for rule in RULES:
        for team, row in sorted(ranks[rule].items(), key=lambda pair: (-pair[1].value, pair[0])):
            yield RankingRow(board.rule, "real", rule, "spearman", team, team, row.value, row.rank, count, count)
