"""Rows of comparisons as the tables that results hold."""

from collections.abc import Iterable

import numpy as np

from harness.results.rows import Comparison, Comparisons


def gathered(rows: Iterable[Comparison]) -> tuple[Comparisons, ...]:
    """Rows gathered by quality, statistic and test."""
    tables: dict[tuple[str, str, str, str], list[Comparison]] = {}
    for row in rows:
        tables.setdefault((row.dataset, row.quality, row.statistic, row.test), []).append(row)
    return tuple(_table(key, own) for key, own in tables.items())


def _table(key: tuple[str, str, str, str], rows: list[Comparison]) -> Comparisons:
    names = tuple(dict.fromkeys(name for row in rows for name in (row.better, row.worse)))
    better, worse = (np.array([names.index(getattr(row, side)) for row in rows]) for side in ("better", "worse"))
    return Comparisons(*key, names, better, worse, *(
        np.array([getattr(row, name) for row in rows]) for name in ("n", "delta", "value", "p", "holm", "bh")))
