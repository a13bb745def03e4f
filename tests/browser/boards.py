"""The boards of a page as a test reads them, and the ranks that they should show, worked out from the report."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from playwright import sync_api

from harness.results.rows import Results

Key = tuple[str, str]

ROWS = """board => [...document.querySelectorAll(`table[data-board="${board}"] tbody tr`)]
  .filter(row => row.querySelector('[data-metric]'))
  .map(row => {
    const name = row.querySelector('[data-metric]');
    const rank = row.querySelector('td.rank');
    return {metric: name.dataset.metric, column: name.dataset.column, hidden: row.hidden,
            rank: rank.firstChild ? rank.firstChild.textContent.trim() : ''};
  })"""


def rows(page: sync_api.Page, board: str) -> list[dict[str, str]]:
    """Every row of a board from the top: metric, column, rank as shown, whether it is hidden."""
    found: list[dict[str, str]] = page.evaluate(ROWS, board)
    return found


def ranks(page: sync_api.Page, board: str) -> dict[Key, int | None]:
    """The rank that a board shows for each column, None where it shows none."""
    return {(row["metric"], row["column"]): int(row["rank"]) if row["rank"] else None for row in rows(page, board)}


def visible(page: sync_api.Page, board: str) -> set[Key]:
    """The columns that a board shows."""
    return {(row["metric"], row["column"]) for row in rows(page, board) if not row["hidden"]}


def expected(results: Results, split: str, rule: str, statistic: str = "spearman", level: str = "",
             datasets: Mapping[str, float] | None = None, qualities: Mapping[str, float] | None = None
             ) -> dict[Key, int | None]:
    """The ranks of a board under a choice, in exact fractions of the correlations that the page has (six decimals)."""
    found = averages(results, split, rule, statistic, level, datasets or {}, qualities or {})
    known = [value for value in found.values() if value is not None]
    return {key: None if value is None else 1 + sum(other > value for other in known) for key, value in found.items()}


def averages(results: Results, split: str, rule: str, statistic: str, level: str, datasets: Mapping[str, float],
             qualities: Mapping[str, float]) -> dict[Key, Fraction | None]:
    """The average of each column over the cells that have a weight; None for a column that lacks one of them."""
    cells = {(entry.name, quality.name): (Fraction(datasets.get(entry.name, 1)),
                                          Fraction(qualities.get(quality.dimension, 1)))
             for entry in results.datasets if entry.split == split and level in ("", entry.level)
             for quality in entry.qualities}
    cells = {cell: weights for cell, weights in cells.items() if math.prod(weights)}
    values: dict[Key, dict[tuple[str, str], Fraction]] = defaultdict(dict)
    for row in results.correlations:
        if row.statistic == statistic and (row.dataset, row.quality) in cells and math.isfinite(row.value):
            values[row.metric, row.column][row.dataset, row.quality] = Fraction(round(row.value * 1_000_000), 1_000_000)
    keys = {(row.metric, row.column) for row in results.ranking if row.board == split}
    return {key: _average(values[key], cells, rule) if len(values[key]) == len(cells) and cells else None
            for key in keys}


def _average(values: Mapping[tuple[str, str], Fraction], cells: Mapping[tuple[str, str], tuple[Fraction, Fraction]],
             rule: str) -> Fraction:
    if rule == "test":
        whole = sum(dataset * quality for dataset, quality in cells.values())
        return sum(values[cell] * dataset * quality for cell, (dataset, quality) in cells.items()) / whole
    within: dict[str, list[tuple[Fraction, Fraction]]] = defaultdict(list)
    for cell, (_, quality) in cells.items():
        within[cell[0]].append((values[cell], quality))
    weights = {cell[0]: dataset for cell, (dataset, _) in cells.items()}
    means = {name: sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)
             for name, pairs in within.items()}
    return sum(means[name] * weights[name] for name in means) / sum(weights.values())

