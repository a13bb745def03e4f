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
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.errors import nearest
from benchmarks.formats.scorefile.expected import BAR, EVERY, Expected, expected, key, template
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
        read_rows = rows(content, ending, wanted.limit, column)
    except Unreadable as error:
        return ScoreFile({}, (error.problem,), digest)
    values, by_line = _joined(read_rows, wanted)
    scores = _by_target(values, wanted)
    notes = (Problem("extra column", 1, printable(name), "is ignored", fatal=False) for name in read_rows.extra)
    nothing = [] if any(map(math.isfinite, read_rows.numbers)) else [
        Problem("missing", 0, "", "the file has no score", count=0)]
    missing = sorted(_missing(values, wanted, wanted.items if whole else dict.fromkeys(name for name, _ in scores)),
                     key=lambda problem: -problem.count)  # what lacks most comes first
    problems = (*notes, *sorted(by_line, key=lambda problem: problem.line), *nothing, *missing, *_constants(scores))
    return ScoreFile(scores, problems, digest, len(read_rows.ids))


def _joined(rows: ScoreRows, wanted: Expected) -> tuple[dict[str, float], list[Problem]]:
    """The score of each id that is expected, NaN where it has none or several; and what is wrong, row by row."""
    problems = [error.problem for error in rows.broken]
    problems += [Problem(kind, rows.lines[row], printable(rows.ids[row]), text, fatal=kind != "missing")
                 for row, (kind, text) in rows.wrong.items()]
    values: dict[str, float] = {}
    first: dict[str, int] = {}
    foreign: list[tuple[str, int]] = []
    for name, number, line in zip(rows.ids, rows.numbers, rows.lines, strict=True):
        if name not in wanted.names:
            foreign.append((name, line))
        elif name in values:
            values[name] = math.nan
            problems.append(Problem("duplicate", line, printable(name), f"stands on line {first[name]} already"))
        else:
            values[name], first[name] = number, line
    return values, [*problems, *_unknown(foreign, wanted, len(foreign) == len(rows.ids))]


def _by_target(values: Mapping[str, float], wanted: Expected) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    """The scores by dataset and quality; a score for one quality goes before one for all."""
    scores: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
    named = {EVERY, *(name.rpartition(BAR)[2] for name in values if BAR in name)}  # mostly no quality is
    for dataset, ids in wanted.items.items():
        for quality in (EVERY, *wanted.qualities[dataset]):
            if quality in named and any(key(name, quality) in values for name in ids):
                own = np.array([values.get(key(name, quality), math.nan) for name in ids], dtype=np.float64)
                every = scores.get((dataset, EVERY))
                scores[dataset, quality] = own if every is None else np.where(np.isnan(own), every, own)
    return scores


def _unknown(foreign: Sequence[tuple[str, int]], wanted: Expected, all_of_it: bool) -> Iterator[Problem]:
    """The ids that are not expected, each with its line, but for those of items that are elsewhere."""
    others = {name: place for name, _ in foreign for item in (name, name.rpartition(BAR)[0])
              if (place := wanted.elsewhere.get(item))}
    if others and all_of_it:
        yield Problem("unknown", 0, "", f"its items are those of {'; '.join(dict.fromkeys(others.values()))}")
    unknown = [(name, line) for name, line in foreign if name not in others]
    for count, (name, line) in enumerate(unknown):
        text = _why_unknown(name, wanted, suggest=count < SUGGESTIONS)
        yield Problem("unknown", line, printable(name), text, fatal=not name)
    if unknown and all_of_it and not others:
        text = f"none of its {len(unknown):,} ids is an item of {listed(list(wanted.items))}"
        yield Problem("unknown", 0, "", text)


def _why_unknown(name: str, wanted: Expected, *, suggest: bool) -> str:
    if not name:
        return "has no id"
    item, _, quality = name.rpartition(BAR)
    if dataset := wanted.owners.get(item):
        known = f"; {nearest(quality[:80], wanted.qualities[dataset])}" if suggest else ""
        return f"{dataset} has no quality {printable(quality)!r}{known}"
    meant = wanted.nearest(item or name) if suggest else None
    return f"is no known item{f'; did you mean {printable(meant)!r}?' if meant else ''}"


def _missing(values: Collection[str], wanted: Expected, datasets: Iterable[str]) -> Iterator[Problem]:
    """The datasets, qualities and items without a score, of some datasets."""
    for dataset in datasets:
        ids, qualities = wanted.items[dataset], wanted.qualities[dataset]
        if all(name in values for name in ids):
            continue
        scored = {quality: {name for name in ids if name in values or key(name, quality) in values}
                  for quality in qualities}
        if not any(scored.values()):
            yield _lacks(dataset, f"none of its {len(ids):,} items has a score", len(ids))
            continue
        for quality in qualities:
            if not scored[quality]:
                yield _lacks(dataset, f"no item has a score for {printable(quality)}", len(ids))
        for name in ids:
            lacking = [quality for quality in qualities if scored[quality] and name not in scored[quality]
                       and name not in wanted.unrated.get((dataset, quality), ())]
            if lacking:
                which = "" if len(lacking) == len(qualities) else f" for {listed(lacking)}"
                yield _lacks(name, f"has no score{which}")


def _constants(scores: Mapping[tuple[str, str], npt.NDArray[np.float64]]) -> Iterator[Problem]:
    for (dataset, quality), values in scores.items():
        numbers = values[np.isfinite(values)]
        if numbers.size > 1 and not np.ptp(numbers):
            target = f"{dataset}, {quality}" if quality else dataset
            text = f"every score is {numbers[0]:g}, which correlates with nothing"
            yield Problem("constant", 0, printable(target), text, fatal=False)


def _lacks(name: str, text: str, count: int = 1) -> Problem:
    return Problem("missing", 0, printable(name), text, fatal=False, count=count)
