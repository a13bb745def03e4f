"""The published results of a challenge as results of their own, so that its boards and pages can be drawn."""

from __future__ import annotations

import math

from benchmarks import registry
from harness.published import boards, exhibit, sizes
from harness.results.entries import DatasetEntry, MetricEntry, QualityEntry
from harness.results.exhibits import Exhibit
from harness.results.rows import Correlation, RankingRow, Results
from harness.run import environment
from harness.run.rank import RULES

AVERAGE = "average"
NOTE = ("The best submission of each team, as published by the organisers to four digits; nothing was run here. "
        "Counts of votes may be rounded.")


def results(source: str, title: str, command: str) -> tuple[Results, Exhibit]:
    """Return the published results of a challenge; `command` reproduces its pages.

    Only the results of DSTC10 Track 5 have boards, with the published average of each team on each dataset. Under the
    test rule, each average is weighted by the dataset's number of qualities.
    """
    printed = [board for board in boards() if board.source == source]
    numbers, size = [row for board in printed for row in board.numbers], sizes()
    report = Results(
        run=environment.facts(0, "none", {"published": source}, command),
        datasets=tuple(DatasetEntry(
            name=name, title=card.title, split=card.split, level=card.level, origin="printed", fingerprint="",
            items=size[name].turns, ratings=size[name].turns * size[name].qualities,
            votes=size[name].annotations, licence=card.licence, citation=card.citation,
            qualities=(QualityEntry(AVERAGE, AVERAGE, None, None, size[name].turns),), notes=NOTE)
            for name in dict.fromkeys(row.dataset for row in numbers) for card in [registry.card(name)]),
        metrics=tuple(MetricEntry(
            name=name, title=name, family="submission" if name.startswith("Team") else "baseline", columns=(name,),
            levels=("turn", "dialogue"), paper="Zhang et al. 2021", signature={"metric": "printed", "asked": name})
            for name in dict.fromkeys(row.metric for row in numbers)),
        correlations=tuple(Correlation(
            row.dataset, AVERAGE, row.metric, row.metric, "spearman", size[row.dataset].turns, float(row.value),
            math.nan, math.nan, math.nan) for row in numbers),
        ranking=tuple(RankingRow(
            board.rule, "real", rule, "spearman", team, team, row.value, row.rank, datasets, datasets)
            for board in printed for datasets in [len({row.dataset for row in board.numbers})] for rule in RULES
            for team, row in sorted(board.ranks()[rule].items(), key=lambda pair: (-pair[1].value, pair[0]))))
    return report, Exhibit(
        name=source, kind="challenge", title=title, command=command,
        lead="Published numbers about the challenge, and conclusions from them. No submission was run here.",
        grids=tuple(exhibit.printed(source)), remarks=exhibit.REMARKS if printed else ())
