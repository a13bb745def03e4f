"""The comparisons of a report as tables for the terminal: which column beats which, and which cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from harness.results.rows import Comparison, Correlation, Reliability, Results
from harness.statistics import significance
from leaderboard.blocks.cells import MISSING, number
from leaderboard.blocks.tables import Cell, Group, Heading, Table
from leaderboard.render.text import text

ALPHA = 0.05
Place = tuple[str, str]
"""A dataset and a quality."""


@dataclass(frozen=True, slots=True)
class ReportRows:
    """Which comparisons are to be shown; an empty choice means all."""

    datasets: tuple[str, ...] = ()
    qualities: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    statistic: str = "spearman"
    test: str = "williams"
    every: bool = False

    def comparisons(self, report: Results) -> list[Comparison]:
        """The comparisons by the chosen test on the chosen qualities."""
        return [row for row in report.comparisons if (row.statistic, row.test) == (self.statistic, self.test)
                and self.has(row.dataset, row.quality)]

    def has(self, dataset: str, quality: str) -> bool:
        """Whether a quality of a dataset was asked for."""
        names = {name.casefold() for name in self.qualities}
        return (not self.datasets or dataset in self.datasets) and (not names or quality.casefold() in names)

    def correlations(self, report: Results) -> dict[Place, list[Correlation]]:
        """The correlations that the comparisons are between, the best first."""
        correlations: dict[Place, list[Correlation]] = {}
        for row in report.correlations:
            if row.statistic == self.statistic and self.has(row.dataset, row.quality) and math.isfinite(row.value):
                correlations.setdefault((row.dataset, row.quality), []).append(row)
        return {place: sorted(rows, key=lambda row: (-row.value, row.column)) for place, rows in correlations.items()}


def valued(report: Results, chosen: ReportRows) -> Iterator[str]:
    """A table per quality: every column by the statistic, the best first."""
    for place, rows in chosen.correlations(report).items():
        cells = tuple((Cell(row.column), Cell(number(row.value)), Cell(_interval(row)),
                       Cell(_p(row.p) if math.isfinite(row.p) else MISSING), Cell(str(row.n))) for row in rows)
        headings = (Heading("Metric", "stub"), Heading("value", "number"), Heading("95 % interval", "number"),
                    Heading("p", "number"), Heading("n", "number"))
        yield text(Table("", _titled(place, chosen), headings, (Group(cells),), data=_data(report, place[0])))
    missing = {(row.dataset, row.quality, row.note) for row in report.correlations if row.statistic == chosen.statistic
               and chosen.has(row.dataset, row.quality) and not math.isfinite(row.value)}
    if missing:
        yield "".join(f"{dataset}, {quality}: no value for some columns: {note}\n"
                      for dataset, quality, note in sorted(missing))


def compared(report: Results, chosen: ReportRows) -> Iterator[str]:
    """A table per quality: its best column against each other, or those of the columns asked for, or every pair."""
    best = {place: rows[0].column for place, rows in chosen.correlations(report).items()}
    for place, rows in _by_place(chosen.comparisons(report)).items():
        wanted = set(chosen.columns) or {best.get(place, "")}
        shown = [row for row in rows if chosen.every or {row.better, row.worse} & wanted]
        if shown:
            ordered = sorted(shown, key=lambda row: (row.p, row.better, row.worse))
            yield text(_compared(report, chosen, place, ordered)) + _warning(report, chosen, place)


def clustered(report: Results, chosen: ReportRows) -> Iterator[str]:
    """A table per quality: clusters whose members are all beaten by all of the clusters above, and letters."""
    comparisons = _by_place(chosen.comparisons(report))
    for place, rows in chosen.correlations(report).items():
        table = _clustered(report, chosen, place, rows, comparisons.get(place, []))
        yield text(table) + _warning(report, chosen, place)


def _warning(report: Results, chosen: ReportRows, place: Place) -> str:
    """Say where a test finds too much, or can find nothing."""
    entry = next(entry for entry in report.datasets if entry.name == place[0])
    shared = 0 < entry.contexts < entry.items
    lines = []
    if shared and chosen.test in ("williams", "steiger", "meng"):
        lines.append(f"{entry.items} items share {entry.contexts} contexts: tests by formula and intervals take them "
                     "as independent and are\ntoo sure. --test bootstrap draws contexts whole, and --test perm-both "
                     "swaps them (after `harness run --permutations 20000`).")
    elif shared:
        lines.append(f"{entry.items} items share {entry.contexts} contexts: the intervals take them as independent.")
    draws = int(report.run.options.get("permutations", 0))
    pairs = sum((row.dataset, row.quality) == place for row in chosen.comparisons(report))
    if chosen.test == "perm-both" and pairs / (draws + 1) >= ALPHA:
        least = pairs / (draws + 1)
        lines.append(f"{draws} draws are too few: over {pairs} pairs no p by Holm can be below {least:.2g}. "
                     f"Run with --permutations {round(pairs / ALPHA) * 5} or more.")
    return "".join(f"{line}\n" for line in lines)


def _by_place(rows: Iterable[Comparison]) -> dict[Place, list[Comparison]]:
    places: dict[Place, list[Comparison]] = {}
    for row in rows:
        places.setdefault((row.dataset, row.quality), []).append(row)
    return places


def _compared(report: Results, chosen: ReportRows, place: Place, rows: list[Comparison]) -> Table:
    numbers = ("n", "difference", "t", "p", "Holm", "BH")
    cells = tuple((Cell(row.better), Cell(row.worse), Cell(str(row.n)), Cell(number(row.delta)),
                   Cell(number(row.value)), *(Cell(_p(value)) for value in (row.p, row.holm, row.bh))) for row in rows)
    return Table("", f"{_titled(place, chosen)}, {_test(report, chosen)}, two-sided",
                 (Heading("Better", "stub"), Heading("Worse"), *(Heading(name, "number") for name in numbers)),
                 (Group(cells),), data=_data(report, place[0]))


def _clustered(report: Results, chosen: ReportRows, place: Place, rows: list[Correlation],
               comparisons: list[Comparison]) -> Table:
    position = {row.column: number for number, row in enumerate(rows)}
    wins = np.zeros((len(rows), len(rows)), dtype=bool)
    for contest in comparisons:
        if contest.holm < ALPHA and {contest.better, contest.worse} <= position.keys():
            wins[position[contest.better], position[contest.worse]] = True
    values = np.array([row.value for row in rows])
    cluster = {row: place for place, group in enumerate(significance.clusters(values, wins), start=1) for row in group}
    letters = significance.letters(values, wins)
    cells = tuple((Cell(str(cluster.get(one, ""))), Cell(row.column), Cell(number(row.value)),
                   Cell(_interval(row)), Cell(str(row.n)), Cell(number(row.corrected)),
                   Cell(letters[one])) for one, row in enumerate(rows))
    return Table("", f"{_titled(place, chosen)}, clusters by {_test(report, chosen)}, Holm, 5 %. "
                 f"{_people(report, place)}",
                 (Heading("Cluster", "rank"), Heading("Metric", "stub"), Heading("value", "number"),
                  Heading("95 % interval", "number"), Heading("n", "number"), Heading("corrected", "number"),
                  Heading("same letter: not told apart")), (Group(cells),), data=_data(report, place[0]))


def _people(report: Results, place: Place) -> str:
    """How far the people agree on a quality."""
    agreement: dict[str, Reliability] = {row.method: row for row in report.reliability
                                    if (row.dataset, row.quality) == place}
    if not agreement:
        return "Correlation of the people: not known"
    known = [f"{method} {number(row.value)}" for method, row in agreement.items() if math.isfinite(row.value)]
    notes = sorted({row.note for row in agreement.values() if row.note})
    return "Correlation of the people: " + (", ".join(known) or "; ".join(notes))


def _test(report: Results, chosen: ReportRows) -> str:
    """Name the test, with what repeats it."""
    if chosen.test != "perm-both":
        return {"meng": "Meng, Rosenthal & Rubin", "bootstrap": "paired bootstrap over contexts"}.get(
            chosen.test, chosen.test.capitalize())
    return f"PERM-BOTH ({report.run.options.get('permutations')} draws, seed {report.run.seed})"


def _titled(place: Place, chosen: ReportRows) -> str:
    return f"{place[0]}, {place[1]}: {chosen.statistic.capitalize()}"


def _data(report: Results, dataset: str) -> str:
    origin = next(entry.origin for entry in report.datasets if entry.name == dataset)
    return "the bundled sample (made by a script, simulated raters)" if origin == "sample" else "real human judgements"


def _interval(row: Correlation) -> str:
    return f"{number(row.low)} to {number(row.high)}" if math.isfinite(row.low) else MISSING


def _p(value: float) -> str:
    return f"{value:.2g}"
