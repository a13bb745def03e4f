"""What is wrong with the rows of a score file, held against what it should score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from benchmarks.errors import nearest
from benchmarks.formats.scorefile.expected import BAR, EVERY, Expected
from benchmarks.formats.scorefile.problems import Problem, shown
from benchmarks.formats.scorefile.rows import Rows

GUESSED = 20
"""Unknown ids beside which the nearest known one is named: so many are shown."""

Scores = dict[tuple[str, str], npt.NDArray[np.float64]]


@dataclass(frozen=True)  # without slots: what is worked out is kept
class Joined:
    """Rows joined to what is expected by their ids; `names` are the datasets that count."""

    rows: Rows
    wanted: Expected
    whole: bool

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """The number of what each row scores; -1 where it is nothing that is expected."""
        numbers = self.wanted.numbers
        return np.array([numbers.get(name, -1) for name in self.rows.ids], dtype=np.int64)

    @cached_property
    def times(self) -> npt.NDArray[np.int64]:
        """How often each number is scored; the last place stands for what is not expected, and stays 0."""
        return np.bincount(self.places[self.places >= 0], minlength=len(self.wanted.numbers) + 1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The datasets of which any item is scored."""
        return tuple(name for name in self.wanted.items if any(self.times[place].any() for place in self._of(name)))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The datasets that are looked at: all, or those of which any item is scored."""
        return tuple(self.wanted.items) if self.whole else self.names

    @cached_property
    def scores(self) -> Scores:
        """The scores by dataset and quality; a score for one quality goes before one for all."""
        values = np.full(len(self.wanted.numbers), np.nan)
        taken = (self.places >= 0) & (self.times[self.places] == 1)
        values[self.places[taken]] = self.rows.numbers[taken]
        found: Scores = {}
        for dataset in self.names:
            every = self.wanted.places[dataset, EVERY]
            if self.times[every].any():
                found[dataset, EVERY] = values[every]
            for quality in self.wanted.qualities[dataset]:
                own = self.wanted.places[dataset, quality]
                if self.times[own].any():
                    found[dataset, quality] = np.where(np.isnan(values[own]), values[every], values[own])
        return found

    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, in the order of the lines; what is missing stands at the end."""
        broken = (error.problem for error in self.rows.broken)
        by_line = sorted([*broken, *self._numbers(), *self._duplicates(), *self._unknown()], key=lambda one: one.line)
        notes = (Problem("extra column", 1, shown(name), "is ignored", fatal=False) for name in self.rows.extra)
        empty = Problem("missing", 0, "", "the file has no score", count=0)
        nothing = () if np.isfinite(self.rows.numbers).any() else (empty,)
        missing = sorted(self._missing(), key=lambda one: -one.count)  # what lacks most comes first
        return (*notes, *by_line, *nothing, *missing, *self._constants())

    def _of(self, dataset: str) -> Iterator[npt.NDArray[np.int64]]:
        return (self.wanted.places[dataset, quality] for quality in (EVERY, *self.wanted.qualities[dataset]))

    def _numbers(self) -> Iterator[Problem]:
        for row, (kind, text) in self.rows.wrong.items():
            yield Problem(kind, self.rows.lines[row], shown(self.rows.ids[row]), text, fatal=kind != "missing")

    def _duplicates(self) -> Iterator[Problem]:
        first: dict[int, int] = {}
        for row in np.flatnonzero((self.places >= 0) & (self.times[self.places] > 1)).tolist():
            number = int(self.places[row])
            if number in first:
                text = f"stands on {self.rows.unit} {self.rows.lines[first[number]]} already"
                yield Problem("duplicate", self.rows.lines[row], shown(self.rows.ids[row]), text)
            else:
                first[number] = row

    def _unknown(self) -> Iterator[Problem]:
        rows = np.flatnonzero(self.places < 0).tolist()
        for place, row in enumerate(rows):
            name = self.rows.ids[row]
            text, fatal = self._why_unknown(name, guess=place < GUESSED)
            yield Problem("unknown", self.rows.lines[row], shown(name), text, fatal)
        if rows and len(rows) == len(self.rows.ids):
            told = f"none of its {len(rows):,} ids is an item of {_listed(self.wanted.items)}"
            yield Problem("unknown", 0, "", told)

    def _why_unknown(self, name: str, *, guess: bool) -> tuple[str, bool]:
        """Why an id is not known, and whether the file cannot be taken for it."""
        if not name:
            return "has no id", True
        if alike := self.wanted.lookalike(name):
            return f"is not {shown(alike)!r}, which it looks like: other letters, or signs that are not seen", True
        item, _, quality = name.rpartition(BAR)
        if dataset := self.wanted.owners.get(item):
            known = f"; {nearest(quality[:80], self.wanted.qualities[dataset])}" if guess else ""
            return f"{dataset} has no quality {shown(quality)!r}{known}", False
        meant = self.wanted.nearest(item or name) if guess else None
        return f"is no known item{f'; did you mean {shown(meant)!r}?' if meant else ''}", False

    def _missing(self) -> Iterator[Problem]:
        for dataset in self.counted:
            ids, qualities = self.wanted.items[dataset], self.wanted.qualities[dataset]
            every = self.times[self.wanted.places[dataset, EVERY]] > 0
            there = {quality: every | (self.times[self.wanted.places[dataset, quality]] > 0) for quality in qualities}
            if not any(column.any() for column in there.values()):
                yield _absent(dataset, "", len(ids))
                continue
            lacking: dict[int, list[str]] = {}
            for quality, column in there.items():
                if not column.any():
                    yield _absent(dataset, quality, len(ids))
                    continue
                unrated = self.wanted.unrated.get((dataset, quality), frozenset())
                for row in np.flatnonzero(~column).tolist():
                    if ids[row] not in unrated:
                        lacking.setdefault(row, []).append(quality)
            yield from (_lacks(ids[row], lacking[row], qualities) for row in sorted(lacking))

    def _constants(self) -> Iterator[Problem]:
        for (dataset, quality), values in self.scores.items():
            there = values[np.isfinite(values)]
            if there.size > 1 and not np.ptp(there):
                where = f"{dataset}, {quality}" if quality else dataset
                told = f"every score is {there[0]:g}, which correlates with nothing"
                yield Problem("constant", 0, shown(where), told, fatal=False)


def _absent(dataset: str, quality: str, items: int) -> Problem:
    what = f"no item has a score for {shown(quality)}" if quality else f"none of its {items:,} items has a score"
    return Problem("missing", 0, shown(dataset), what, fatal=False, count=items)


def _lacks(item: str, lacking: Sequence[str], qualities: Sequence[str]) -> Problem:
    what = "" if len(lacking) == len(qualities) else f" for {', '.join(map(shown, lacking))}"
    return Problem("missing", 0, shown(item), f"has no score{what}", fatal=False)


def _listed(names: Mapping[str, object]) -> str:
    given = list(names)
    return ", ".join(given[:3]) + (f" and {len(given) - 3} more" if len(given) > 3 else "")
