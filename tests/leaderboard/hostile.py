"""Results with hostile names, texts, notes and reasons.

Results with the names PLAIN differ only in their names, so any difference between the two sites is due to the names.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.results.rows import Failure, Results, Skip

LONG = "x" * 10_000
NAMES = (
    "<script>alert('x')</script>", "</script></title></style></svg><script>alert(2)</script>",
    "\"><img src=x onerror='alert(3)'>", "right\u202eto left\x07\x1b[31m\x00", "half\ud800", "__proto__", "A B", "a b",
    "a_b", LONG, "`code` **bold** | [x](javascript:alert(7))", "' onmouseover='alert(4)", "<!--<script>", "]]>",
    "<svg/onload=alert(5)>", "&lt;b&gt;", "{{ 7 * 7 }}", "${7 * 7}", "constructor", "toString", "javascript:alert(6)",
    "data:text/html,x", "//example.org/x", "../../etc/passwd", "..", "con", "index", "a-b", "\u2067isolated",
    "zero\u200bwidth", "\u05d0\u05d1\u05d2", "nel\x85", "line\nbreak\r\nand\ttab", "\u2028separated",
    "tag\U000e0041\U000e007f", "cafe\u0301", "caf\u00e9", "=1+1", "#main", "?q=1&r=2", "100%", "a\\b")
KEPT = {"split", "level", "origin", "statistic", "method", "test", "rule", "board", "kind", "letters", "has", "items",
        "digest", "fitted_on"}
"""Fields whose strings come from the harness."""


class Renamed(dict[str, str]):
    """Replacement names by original string: those of a list in order, then numbered ones."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = names

    def __missing__(self, text: str) -> str:
        position = len(self)
        name = self.names[position] if position < len(self.names) else f"{self.names[position % 6]} {position}"
        return self.setdefault(text, name)

    def of(self, value: Any, field: str = "") -> Any:
        if isinstance(value, str):
            return value if field in KEPT else self[value]
        if isinstance(value, tuple):
            return tuple(self.of(part, field) for part in value)
        if isinstance(value, Mapping):
            return {self.of(key, field): self.of(part, field) for key, part in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{part.name: self.of(getattr(value, part.name), part.name)
                                     for part in dataclasses.fields(value)})
        return value


PLAIN = tuple(f"name-{number:02d}" for number in range(len(NAMES)))


def make(results: Results, names: Sequence[str] = NAMES) -> Results:
    """Rename everything in results; datasets and metrics get names first."""
    renamed = Renamed(names)
    for entry in (*results.datasets, *results.metrics):
        renamed[entry.name]
    report: Results = renamed.of(results)
    first = report.datasets[0].name
    return replace(
        report, run=replace(report.run, options={name: name for name in names},
                            packages={name: name for name in names}),
        ranking=tuple(replace(row, board=":".join((whole, renamed[dimension])) if dimension else whole)
                      for row in report.ranking for whole, _, dimension in (row.board.partition(":"),)),
        metrics=tuple(replace(entry, paper=(entry.name, f"https://example.org/{entry.name}")[position % 2],
                              learned_on=(first,) * (position % 2)) for position, entry in enumerate(report.metrics)),
        correlations=tuple(row if position % 7 else replace(row, value=math.nan, note=names[position % len(names)])
                           for position, row in enumerate(report.correlations)),
        skips=tuple(Skip(names[position % 4], names[position % 5], text) for position, text in enumerate(names)),
        failures=tuple(Failure(names[position % 3], names[position % 5], text) for position, text in enumerate(names)))
