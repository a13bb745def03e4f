"""What papers print of the metrics that are measured here, on the ten datasets whose judgements are public.

Two papers print a figure per metric and dataset. The organisers of the challenge (`dstc10`, Table 3) print the mean
over the qualities of a dataset, which is what is measured here. The assessment of 23 metrics (`yeh2021`) prints one
figure per dataset without naming the quality. ROUGE-L on topical-usr comes to it (0.286, printed 0.287) on the overall
quality without the original replies, which its code leaves out of the USR sets. So only where a dataset has a single
quality is its figure taken for one of the same thing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from harness.published import PrintedNumber, table

LEVELS = ("turn", "dialogue")
ALIASES = {"bertscoref": "bertscore", "holisticcoherence": "holisticeval", "predictiveengagement": "predictiveengage"}
"""Columns whose printed name is not their own in another spelling."""
TEAMS = {"Team 5": "MME-CRS"}
"""The team whose system has a name of its own in print."""


@dataclass(frozen=True, slots=True)
class PrintedMean:
    """A printed correlation; `same` where it is the mean over the same qualities as the measured one."""

    value: float
    same: bool


@dataclass(frozen=True, slots=True)
class PrintedSystem:
    """What one paper prints of one metric, by dataset."""

    name: str
    source: str
    sets: Mapping[str, PrintedMean]

    def mean(self, datasets: Collection[str]) -> float:
        """The mean over datasets; NaN where one is not printed, or is not of the same thing."""
        means = [self.sets.get(name) for name in datasets]
        same = [mean.value for mean in means if mean is not None and mean.same]
        return fmean(same) if means and len(same) == len(means) else math.nan


def challenge(turns: Collection[str]) -> tuple[PrintedSystem, ...]:
    """The baseline and the best submission of each team, by their mean over the turn-level datasets, highest first."""
    rows = [row for row in table("dstc10") if row.table == "Table 3"]
    teams = [_system(TEAMS.get(name, name), [row for row in rows if row.metric == name], {})
             for name in dict.fromkeys(row.metric for row in rows)]
    return tuple(sorted(teams, key=lambda team: -team.mean(turns)))


def printed_systems(qualities: Mapping[str, int]) -> dict[str, PrintedSystem]:
    """What is printed of each metric, by its name as `plain` spells it; `qualities` counts those of each dataset.

    Where both papers print a metric, it is the challenge's.
    """
    systems: dict[str, PrintedSystem] = {}
    for source in ("dstc10", "yeh2021"):
        rows: dict[str, list[PrintedNumber]] = {}
        for row in table(source):
            if row.dataset in qualities and row.statistic == "spearman" and row.level in LEVELS \
                    and not row.metric.startswith("Team"):
                rows.setdefault(row.metric, []).append(row)
        for name, printed in rows.items():
            systems.setdefault(plain(name), _system(name, printed, qualities))
    return systems


def plain(column: str) -> str:
    """A name without options, signs and capitals, as papers and columns have it in common."""
    bare = re.sub(r"[^a-z0-9]", "", column.partition("[")[0].casefold())
    return ALIASES.get(bare, bare)


def _system(name: str, rows: Iterable[PrintedNumber], qualities: Mapping[str, int]) -> PrintedSystem:
    listed = list(rows)
    sets = {row.dataset: PrintedMean(float(row.value), row.quality == "average" or qualities.get(row.dataset) == 1)
            for row in listed}
    return PrintedSystem(name, listed[0].source, sets)
