"""What several pages are drawn from is worked out once for a report."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from harness.results.rows import Results

Found = TypeVar("Found")


def once(work: Callable[[Results], Found]) -> Callable[[Results], Found]:
    """Remember what was found for the last report, known by being the same object."""
    last: list[tuple[Results, Found]] = []

    @functools.wraps(work)
    def found(results: Results) -> Found:
        if not last or last[0][0] is not results:
            last[:] = [(results, work(results))]
        return last[0][1]

    return found
