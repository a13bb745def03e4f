"""Score files: the scores of those who cannot share code, as CSV or TSV.

    dialogue_id,score
    persona-usr_00000|Natural,0.5        one quality of an item
    dstc10-task5.1_00000,0.5             an item, for every quality

That is the organisers' form, of their templates for the development and for the test sets. Where an item has both, the
score for the quality goes before that for all. Columns beside the two are ignored; the columns `annotations.*` of
the organisers' tables of results hold what people said, and are never read as scores. Higher is better.

A file is taken to be hostile: whatever stands in it, `read` lists its problems and raises nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.errors import nearest
from benchmarks.formats.scorefile.expected import BAR, EVERY, Expected, expected, template
from benchmarks.formats.scorefile.problems import Problem, Unreadable, counts, describe, listed, printable
from benchmarks.formats.scorefile.rows import FORMS, ScoreRows, opened, rows

__all__ = ["BAR", "EVERY", "FORMS", "Expected", "Problem", "ScoreFile", "ScoreRows", "Unreadable", "counts",
           "describe", "expected", "listed", "opened", "printable", "read", "rows", "template"]

SUGGESTIONS = 20
"""Unknown ids for which the nearest known id is suggested."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """The scores by dataset and quality (EVERY: for all qualities), in the order of the items; NaN: missing."""

    scores: Mapping[tuple[str, str], npt.NDArray[np.float64]]
    problems: tuple[Problem, ...]
    digest: str
    rows: int = 0

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of which any item is scored."""
        return tuple(dict.fromkeys(dataset for dataset, _ in self.scores))

    @property
    def fatal(self) -> tuple[Problem, ...]:
        """The problems for which the file is refused."""
        return tuple(problem for problem in self.problems if problem.fatal)

    def on(self, dataset: str, quality: str) -> npt.NDArray[np.float64] | None:
        """The scores for one quality, or else those for all; None where there are neither."""
        own = self.scores.get((dataset, quality))
        return self.scores.get((dataset, EVERY)) if own is None else own


def read(path: Path, wanted: Expected, *, whole: bool = True, column: str = "") -> ScoreFile:
    """Read a file of any form; every problem at once, never an exception for what stands in the file.

    Every dataset that is wanted should be scored, or, if not `whole`, those of which anything is. The scores are in
    `column` where the file has it, else in `score`.
    """
    digest = ""
    try:
        ending, content = opened(path)
        digest = hashlib.sha256(content).hexdigest()
        joined = _Joined(rows(content, ending, wanted.limit, column), wanted, whole)
    except Unreadable as error:
        return ScoreFile({}, tuple(each.problem for each in (*error.before, error)), digest)
    return ScoreFile(joined.scores, joined.problems(), digest, len(joined.rows.ids))


@dataclass(frozen=True)  # without slots, for the cached properties
class _Joined:
    """The rows of a file joined by id to what is expected."""

    rows: ScoreRows
    wanted: Expected
    whole: bool

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The number of what each row scores; -1 where it is nothing that is expected."""
        numbers = self.wanted.numbers
        return np.array([numbers.get(name, -1) for name in self.rows.ids], dtype=np.int64)

    @cached_property
    def times(self) -> npt.NDArray[np.int64]:
        """How often each number is scored; the last entry stands for what is not expected, and stays 0."""
        return np.bincount(self.numbers[self.numbers >= 0], minlength=len(self.wanted.numbers) + 1)

    @cached_property
    def scored(self) -> tuple[str, ...]:
        """The datasets of which any item is scored."""
        return tuple(dataset for dataset in self.wanted.items
                     if any(self.times[self.wanted.positions[dataset, quality]].any()
                            for quality in (EVERY, *self.wanted.qualities[dataset])))

    @cached_property
    def scores(self) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
        """The scores by dataset and quality; a score for one quality goes before one for all."""
        values = np.full(len(self.wanted.numbers), np.nan)
        once = (self.numbers >= 0) & (self.times[self.numbers] == 1)
        values[self.numbers[once]] = self.rows.numbers[once]
        scores: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
        for dataset in self.scored:
            every = self.wanted.positions[dataset, EVERY]
            if self.times[every].any():
                scores[dataset, EVERY] = values[every]
            for quality in self.wanted.qualities[dataset]:
                own = self.wanted.positions[dataset, quality]
                if self.times[own].any():
                    scores[dataset, quality] = np.where(np.isnan(values[own]), values[every], values[own])
        return scores

    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, in the order of the lines; what is missing stands at the end."""
        rows = self.rows
        broken = (error.problem for error in rows.broken)
        wrong = (Problem(kind, rows.lines[row], printable(rows.ids[row]), text, fatal=kind != "missing")
                 for row, (kind, text) in rows.wrong.items())
        by_line = sorted([*broken, *wrong, *self._duplicates(), *self._unknown()],
                         key=lambda problem: problem.line)
        notes = (Problem("extra column", 1, printable(name), "is ignored", fatal=False) for name in rows.extra)
        empty = Problem("missing", 0, "", "the file has no score", count=0)
        nothing = () if np.isfinite(rows.numbers).any() else (empty,)
        missing = sorted(self._missing(), key=lambda problem: -problem.count)  # what lacks most comes first
        return (*notes, *by_line, *nothing, *missing, *self._constants())

    def _duplicates(self) -> Iterator[Problem]:
        first: dict[int, int] = {}
        for row in np.flatnonzero((self.numbers >= 0) & (self.times[self.numbers] > 1)).tolist():
            number = int(self.numbers[row])
            if number in first:
                text = f"stands on line {self.rows.lines[first[number]]} already"
                yield Problem("duplicate", self.rows.lines[row], printable(self.rows.ids[row]), text)
            else:
                first[number] = row

    def _unknown(self) -> Iterator[Problem]:
        foreign = np.flatnonzero(self.numbers < 0).tolist()
        others = {row: place for row in foreign for name in (self.rows.ids[row], self.rows.ids[row].rpartition(BAR)[0])
                  if (place := self.wanted.elsewhere.get(name))}
        unknown = [row for row in foreign if row not in others]
        if others and len(foreign) == len(self.rows.ids):
            yield Problem("unknown", 0, "", f"its items are those of {'; '.join(dict.fromkeys(others.values()))}")
        for count, row in enumerate(unknown):
            name = self.rows.ids[row]
            text, fatal = self._why_unknown(name, suggest=count < SUGGESTIONS)
            yield Problem("unknown", self.rows.lines[row], printable(name), text, fatal)
        if unknown and len(unknown) == len(self.rows.ids):
            text = f"none of its {len(unknown):,} ids is an item of {listed(list(self.wanted.items))}"
            yield Problem("unknown", 0, "", text)

    def _why_unknown(self, name: str, *, suggest: bool) -> tuple[str, bool]:
        """Why an id is not known, and whether the file is refused for it."""
        if not name:
            return "has no id", True
        if alike := self.wanted.lookalike(name):
            return f"is not {printable(alike)!r}, which it looks like, but {name[:80]!a}", True
        item, _, quality = name.rpartition(BAR)
        if dataset := self.wanted.owners.get(item):
            known = f"; {nearest(quality[:80], self.wanted.qualities[dataset])}" if suggest else ""
            return f"{dataset} has no quality {printable(quality)!r}{known}", False
        meant = self.wanted.nearest(item or name) if suggest else None
        return f"is no known item{f'; did you mean {printable(meant)!r}?' if meant else ''}", False

    def _missing(self) -> Iterator[Problem]:
        for dataset in self.wanted.items if self.whole else self.scored:
            ids, qualities = self.wanted.items[dataset], self.wanted.qualities[dataset]
            every = self.times[self.wanted.positions[dataset, EVERY]] > 0
            scored = {quality: every | (self.times[self.wanted.positions[dataset, quality]] > 0)
                      for quality in qualities}
            if not any(column.any() for column in scored.values()):
                yield _lacks(dataset, f"none of its {len(ids):,} items has a score", len(ids))
                continue
            lacking: dict[int, list[str]] = {}
            for quality, column in scored.items():
                if not column.any():
                    yield _lacks(dataset, f"no item has a score for {printable(quality)}", len(ids))
                    continue
                unrated = self.wanted.unrated.get((dataset, quality), frozenset())
                for row in np.flatnonzero(~column).tolist():
                    if ids[row] not in unrated:
                        lacking.setdefault(row, []).append(quality)
            for row, names in sorted(lacking.items()):
                which = "" if len(names) == len(qualities) else f" for {listed(names)}"
                yield _lacks(ids[row], f"has no score{which}")

    def _constants(self) -> Iterator[Problem]:
        for (dataset, quality), values in self.scores.items():
            numbers = values[np.isfinite(values)]
            if numbers.size > 1 and not np.ptp(numbers):
                target = f"{dataset}, {quality}" if quality else dataset
                text = f"every score is {numbers[0]:g}, which correlates with nothing"
                yield Problem("constant", 0, printable(target), text, fatal=False)


def _lacks(name: str, text: str, count: int = 1) -> Problem:
    return Problem("missing", 0, printable(name), text, fatal=False, count=count)
