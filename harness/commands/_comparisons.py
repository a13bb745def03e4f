"""The comparisons of a report as tables for the terminal: which column beats which, and which cannot be told apart."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.commands._output import DATA, table
from harness.results.item_scores import labels
from harness.results.pooled import FOLLOWING, STATISTIC, Lead, Pool
from harness.results.rows import Comparisons, Correlation, Results
from harness.statistics import significance
from leaderboard.blocks.cells import MISSING, number
from leaderboard.blocks.tables import Kind

ALPHA = 0.05
FEW = 12
"""Contexts below which swapping them whole finds few differences among several columns, whatever these are."""
FAMILY = ("Leads: each column on the items that it has scored, p by Holm over the columns that follow the leader.\n"
          "Tables: every two columns on the items that both have scored, Holm over all pairs.")
"""Why a lead and a table have two p for one pair."""
Place = tuple[str, str]
"""A dataset and a quality."""


@dataclass(frozen=True, slots=True)
class ReportRows:
    """Which comparisons are to be shown: on these targets, and of these columns; no column means all."""

    targets: frozenset[Place]
    columns: tuple[str, ...] = ()
    statistic: str = "spearman"
    test: str = "perm-both"
    rule: str = "every"
    draws: int = 0

    def comparisons(self, report: Results) -> dict[Place, Comparisons]:
        """The comparisons by the chosen test on the chosen qualities."""
        return {(own.dataset, own.quality): own for own in report.comparisons
                if (own.statistic, own.test) == (self.statistic, self.test) and self.has(own.dataset, own.quality)}

    def has(self, dataset: str, quality: str) -> bool:
        """Whether a quality of a dataset was asked for."""
        return (dataset, quality) in self.targets

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
        ties = any(math.isfinite(row.epsilon) for row in rows)
        cells = [(row.column, number(row.value), _interval(row), _p(row.p), str(row.n),
                  *[f"{row.epsilon:.3g}"] * ties) for row in rows]
        yield _table(report, chosen, place, "", {"Metric": "stub", **dict.fromkeys(
            ("value", "95 % interval", "p", "n", *["ε"] * ties), "number")}, cells)
    missing = {(row.dataset, row.quality, row.note) for row in report.correlations if row.statistic == chosen.statistic
               and chosen.has(row.dataset, row.quality) and not math.isfinite(row.value)}
    if missing:
        yield "".join(f"{dataset}, {quality}: no value for some columns: {note}\n"
                      for dataset, quality, note in sorted(missing))


@dataclass(frozen=True, slots=True)
class PooledLead:
    """Who leads whom over some targets of a split: those of a dimension, or all."""

    split: str
    origin: str
    dimension: str
    targets: tuple[Place, ...]
    better: str
    worse: str
    lead: Lead
    reached: float
    """The share of what the raters' reliability allows."""

    def __str__(self) -> str:
        """As a sentence."""
        datasets = len({dataset for dataset, _ in self.targets})
        about = (f"{len(self.targets)} qualities of {datasets} dataset{'s' * (datasets > 1)}" if len(self.targets) != 1
                 else ", ".join(self.targets[0]))
        share = f"; it reaches {self.reached:.0%} of what the raters allow" if math.isfinite(self.reached) else ""
        return (f"{self.split}, {self.origin}, {self.dimension} ({about}): {self.better} leads {self.worse} "
                f"{self.lead.verdict}{share}")

    def json(self) -> str:
        """As a JSON object, its fields named as those of a comparison."""
        own = self.lead.difference
        numbers = {"delta": own.value, "low": own.low, "high": own.high, "p": own.p, "reached": self.reached}
        return json.dumps({
            "split": self.split, "origin": self.origin, "dimension": self.dimension, "targets": self.targets,
            "statistic": STATISTIC, "test": "pooled", "better": self.better, "worse": self.worse,
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "established": own.established}, ensure_ascii=False)


def pooled(report: Results, chosen: ReportRows) -> Iterator[PooledLead]:
    """Who leads each board and dimension of several targets, or of one where some were chosen: by how much, and p."""
    pool = Pool.of(report)
    labelled = dict(zip(pool.columns, labels(list(pool.columns)), strict=True))
    dimensions = sorted({one.dimension for entry in report.datasets for one in entry.qualities})
    least = 1 if len(chosen.targets) < max(2, sum(len(entry.qualities) for entry in report.datasets)) else 2
    for split, origin in sorted({(entry.split, entry.kind)
                                 for entry in report.datasets}):
        parts = {name: tuple(own for own in pool.targets(split, origin, name) if chosen.has(*own))
                 for name in ("", *dimensions)}
        whole = parts.pop("")
        for name, targets in ({"all": whole} | parts if whole not in parts.values() else parts).items():
            rule = "test" if split == "test" else "dev"
            for lead in _leads(pool, targets, rule, chosen.columns) if len(targets) >= least else ():
                yield PooledLead(split, origin, name, targets, labelled[lead.better], labelled[lead.worse], lead,
                                 pool.reached(targets, lead.better, rule))


def _leads(pool: Pool, targets: Sequence[Place], rule: str, columns: Sequence[str]) -> list[Lead]:
    """The leader against those that follow; with one column named it against the leader, with several every two."""
    best = list(pool.means(targets, rule))
    named = [column for column in best if column[1] in columns]
    if len(best) < 2 or (columns and not named):
        return []
    if len(named) > 1:
        return pool.leads(targets, combinations(named, 2), rule)
    family = (best[0], named[0]) if named and named[0] != best[0] else best[:1 + FOLLOWING]
    return pool.leads(targets, [family], rule)


def compared(report: Results, chosen: ReportRows) -> Iterator[str]:
    """A table per quality: its best column against each other, or those of the columns asked for."""
    best = {place: rows[0].column for place, rows in chosen.correlations(report).items()}
    for place, own in chosen.comparisons(report).items():
        wanted = set(chosen.columns) or {best.get(place, "")}
        known = np.array([name in wanted for name in own.names])
        rows = own.at(known[own.better] | known[own.worse])
        others = _williams(report, chosen, place)
        cells = [(row.better, row.worse, str(row.n), number(row.delta), number(row.value),
                  *map(_p, (row.p, row.holm, row.bh, *(other[row.better, row.worse] for other in others.values()))))
                 for row in sorted(rows, key=lambda row: (row.p, -abs(row.value), row.better, row.worse))]
        if cells:
            yield _table(report, chosen, place, f", {_test(report, chosen)}, two-sided", {
                "Better": "stub", "Worse": "text",
                **dict.fromkeys(("n", "difference", "t", "p", "Holm", "BH", *others), "number")}, cells) + _warning(
                report, chosen, place) + _limit(report, chosen, own)


def _williams(report: Results, chosen: ReportRows, place: Place) -> dict[str, dict[tuple[str, str], float]]:
    """The p of Williams' test by row and by context, beside PERM-BOTH; nothing where these do not apply."""
    from harness.run.item_statistics import beside

    if chosen.test != "perm-both" or chosen.statistic not in ("spearman", "pearson"):
        return {}
    return {f"p, {_NAMES[own.test]}": {(row.better, row.worse): row.p for row in own}
            for own in beside(report, chosen.statistic, lambda *target: target == place)}


def clustered(report: Results, chosen: ReportRows) -> Iterator[str]:
    """A table per quality: clusters whose members are all beaten by all of the clusters above, and letters."""
    comparisons = chosen.comparisons(report)
    for place, rows in chosen.correlations(report).items():
        position = {row.column: index for index, row in enumerate(rows)}
        wins = np.zeros((len(rows), len(rows)), dtype=bool)
        if own := comparisons.get(place):
            at = np.array([position.get(name, -1) for name in own.names])
            better, worse = at[own.better], at[own.worse]
            sure = ((own.p if chosen.rule == "wmt" else own.holm) < ALPHA) & (better >= 0) & (worse >= 0)
            wins[better[sure], worse[sure]] = True
        values = np.array([row.value for row in rows])
        parted = significance.clusters(values, wins, chosen.rule)
        cluster = {row: str(rank) for rank, group in enumerate(parted, start=1) for row in group}
        cells = [(cluster.get(one, ""), row.column, number(row.value), _interval(row), str(row.n),
                  number(row.corrected), letters)
                 for one, (row, letters) in enumerate(zip(rows, significance.letters(values, wins), strict=True))]
        adjusted = "one-sided" if chosen.rule == "wmt" else "Holm"
        caption = f", clusters by {_test(report, chosen)}, {adjusted}, 5 %. {_people(report, place)}"
        yield _table(report, chosen, place, caption, {
            "Cluster": "rank", "Metric": "stub", "value": "number", "95 % interval": "number", "n": "number",
            "corrected": "number", "same letter: not told apart": "text"}, cells) + _warning(report, chosen, place)


def _table(report: Results, chosen: ReportRows, place: Place, caption: str, heads: dict[str, Kind],
           rows: Iterable[Sequence[str]]) -> str:
    entry = next(entry for entry in report.datasets if entry.name == place[0])
    data = "own" if entry.split == "own" else entry.kind
    title = f"{place[0]}, {place[1]}: {chosen.statistic.capitalize()}{caption}"
    return table(title, heads.items(), DATA[data], rows)


def _warning(report: Results, chosen: ReportRows, place: Place) -> str:
    """Say where a test finds too much, or can find nothing."""
    entry = next(entry for entry in report.datasets if entry.name == place[0])
    shared = 0 < entry.contexts < entry.items
    if not shared:
        return ""
    said = f"{entry.items} items share {entry.contexts} contexts: "
    if chosen.test in ("williams", "steiger", "meng"):
        return (f"{said}tests by formula and intervals take them as independent and are\ntoo sure. --test perm-both, "
                "the default, swaps contexts whole.\n")
    if chosen.test == "bootstrap":
        return (f"{said}they are drawn whole"
                f"{', and with so few contexts the bootstrap is too sure' if entry.contexts < FEW else ''}.\n")
    few = (f"{entry.contexts} contexts can be swapped in {2 ** entry.contexts} ways, so that no p is below "
           f"{2 / 2 ** entry.contexts:.2g}.\n" if chosen.test == "perm-both" and entry.contexts < FEW else "")
    return f"{said}intervals by formula and Williams' test by row take them as independent.\n{few}"


def _limit(report: Results, chosen: ReportRows, own: Comparisons) -> str:
    """Say what Holm's adjustment makes of p that the draws cannot bound well."""
    draws = chosen.draws or int(str(report.run.options.get("permutations") or 0))
    least = 2 / (draws + 1) * np.isfinite(own.p).sum()
    if chosen.test == "bootstrap" and least > ALPHA:
        return f"With {draws} draws no p by Holm over all pairs is below {min(1, least):.2g}: take more, --draws N.\n"
    if chosen.test == "perm-both" and (own.holm < own.p).any():
        return "Holm and BH take the tail of a normal distribution where fewer than ten draws lie beyond.\n"
    return ""


def _people(report: Results, place: Place) -> str:
    """How far the people agree on a quality."""
    agreement = {row.method: row for row in report.reliability if (row.dataset, row.quality) == place}
    if not agreement:
        return "Correlation of the people: not known"
    known = [f"{method} {number(row.value)}" for method, row in agreement.items() if math.isfinite(row.value)]
    notes = sorted({row.note for row in agreement.values() if row.note})
    return "Correlation of the people: " + (", ".join(known) or "; ".join(notes))


def _test(report: Results, chosen: ReportRows) -> str:
    """Name the test, with what repeats it."""
    draws = chosen.draws or report.run.options.get("permutations")
    return _NAMES.get(chosen.test, chosen.test.capitalize()) + (
        f" ({draws} draws, seed {report.run.seed})" if chosen.test == "perm-both" else "")


_NAMES = {"perm-both": "PERM-BOTH over contexts", "williams": "Williams", "williams-contexts": "Williams by context",
          "meng": "Meng, Rosenthal & Rubin", "bootstrap": "paired bootstrap over contexts"}


def _interval(row: Correlation) -> str:
    return f"{number(row.low)} to {number(row.high)}" if math.isfinite(row.low) else MISSING


def _p(value: float) -> str:
    digits = 3 if 0.045 <= value < 0.055 else 2  # on which side of 5 % it lies
    return f"{value:.{digits}g}" if math.isfinite(value) else MISSING
