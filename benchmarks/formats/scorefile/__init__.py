"""Score files: the scores of those who cannot share code, as CSV, TSV, JSON Lines, JSON or Parquet.

    dialogue_id,score
    persona-usr_00000|Natural,0.5        one quality of an item
    dstc10-task5.1_00000,0.5             an item, for every quality

That is the organisers' form, of their templates for the development and for the test sets. Where an item has both, the
score for the quality goes before that for all. Columns beside the two are ignored; the columns `annotations.*` of
the organisers' tables of results hold what people said, and are never read as scores. Higher is better.

    content       a plain file of bounded size              content.py
    rows          ids, numbers, and what is no number       rows.py, text.py, parquet.py
    Expected      what should be scored                     expected.py
    Joined        rows held against it: the problems        findings.py

A file is taken to be hostile. Whatever stands in it, `read` gives its problems and raises nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.formats.scorefile import text
from benchmarks.formats.scorefile.content import content, form
from benchmarks.formats.scorefile.expected import BAR, EVERY, Expected, expected
from benchmarks.formats.scorefile.findings import Joined
from benchmarks.formats.scorefile.problems import Kind, Problem, Unreadable, counts, shown, told
from benchmarks.formats.scorefile.rows import Rows

__all__ = ["BAR", "EVERY", "FORMS", "Expected", "Kind", "Problem", "Rows", "ScoreFile", "Unreadable", "counts",
           "expected", "opened", "read", "rows", "shown", "told"]

FORMS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
"""The endings of the files that are read."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """The scores by dataset and quality (EVERY where one stands for all), in the order of the items; NaN: missing.

    `unit` is what the problems' places count: lines, or rows, or records; `rows` is how many there are.
    """

    scores: Mapping[tuple[str, str], npt.NDArray[np.float64]]
    problems: tuple[Problem, ...]
    digest: str
    unit: str = "line"
    rows: int = 0

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of which any item is scored."""
        return tuple(dict.fromkeys(dataset for dataset, _ in self.scores))

    @property
    def fatal(self) -> tuple[Problem, ...]:
        """The problems for which the file cannot be taken."""
        return tuple(one for one in self.problems if one.fatal)

    def on(self, dataset: str, quality: str) -> npt.NDArray[np.float64] | None:
        """The scores for one quality, or else those for all; None where there are neither."""
        own = self.scores.get((dataset, quality))
        return self.scores.get((dataset, EVERY)) if own is None else own


def read(path: Path, wanted: Expected, *, whole: bool = True) -> ScoreFile:
    """Read a file of any form; every problem at once, never an exception for what stands in the file.

    Every dataset that is wanted should be scored, or, if not `whole`, those of which anything is.
    """
    digest = ""
    try:
        ending, found = opened(path)
        digest = hashlib.sha256(found).hexdigest()
        joined = Joined(rows(found, ending, wanted.limit), wanted, whole)
    except Unreadable as error:
        return ScoreFile({}, (error.problem,), digest)
    return ScoreFile(joined.scores, joined.problems(), digest, joined.rows.unit, len(joined.rows.ids))


def opened(path: Path) -> tuple[str, bytes]:
    """The form of a file, as its ending, and its content; Unreadable where it is none of ours or not safe to open."""
    return form(path, FORMS), content(path)


def rows(found: bytes, ending: str, limit: int) -> Rows:
    """The rows of a file's content; Unreadable with the line where it stops."""
    if ending == ".parquet":
        from benchmarks.formats.scorefile import parquet  # which imports pyarrow

        return parquet.table(found, limit)
    if ending == ".json":
        return text.json_whole(found, limit)
    if ending in {".jsonl", ".ndjson"}:
        return text.json_lines(found, limit)
    return text.table(found, "\t" if ending == ".tsv" else None, limit)
