"""Score files: scores computed elsewhere, as CSV or TSV, optionally gzipped.

    dialogue_id,score
    persona-usr_00000|Natural,0.5        one quality of an item
    dstc10-task5.1_00000,0.5             an item, for every quality

These are the organisers' formats for the development and the test sets. A score for one quality takes precedence over a
score for all. Other columns are ignored; the columns `annotations.*` of the organisers' result tables hold human
ratings and are never read as scores. Higher is better.

Files are untrusted: whatever they contain, `read` lists the problems and raises nothing.
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
from benchmarks.formats.rows import Unreadable
from benchmarks.formats.scorefile.expected import ALL_QUALITIES, SEPARATOR, Expected, expected, key, template
from benchmarks.formats.scorefile.rows import (
    Problem,
    ScoreRows,
    counts,
    describe,
    listed,
    printable,
    read_content,
    rows,
)

__all__ = ["ALL_QUALITIES", "SEPARATOR", "Expected", "Problem", "ScoreFile", "ScoreRows", "Unreadable", "constants",
           "counts", "describe", "expected", "hint_of_real_data", "listed", "printable", "read", "read_content", "rows",
           "template"]

MAX_SUGGESTIONS = 20  # maximum number of unknown ids for which the nearest known id is suggested

Scores = Mapping[tuple[str, str], npt.NDArray[np.float64]]
"""Scores by dataset and quality (ALL_QUALITIES: for all qualities), in the order of the items; NaN where missing."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """The scores of a file and its problems."""

    scores: Scores
    problems: tuple[Problem, ...]
    digest: str
    rows: int = 0

    @property
    def datasets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(dataset for dataset, _ in self.scores))

    @property
    def fatal(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.fatal)

    def on(self, dataset: str, quality: str) -> npt.NDArray[np.float64] | None:
        """Return the scores for a quality, or else the scores for all qualities."""
        return self.scores.get((dataset, quality), self.scores.get((dataset, ALL_QUALITIES)))


def read(path: Path, wanted: Expected, *, all_datasets: bool = True, column: str = "") -> ScoreFile:
    """Read a score file and list all its problems; nothing in the file raises an exception.

    Missing scores are problems in all wanted datasets, or without `all_datasets` only in those with at least one score.
    The scores are in `column` if the file has it, else in `score`.
    """
    digest = ""
    try:
        suffix, content = read_content(path)
        digest = hashlib.sha256(content).hexdigest()
        table = rows(content, suffix, wanted.max_rows, column)
    except Unreadable as error:
        return ScoreFile({}, (Problem("unreadable", error.line, "", error.text),), digest)
    values = {name: score for name, score in table.scores.items() if name in wanted.names}
    unknown_ids = [(name, line) for name, line in table.lines.items() if name not in wanted.names]
    row_problems = [*table.problems, *_unknown(unknown_ids, wanted, all_unknown=not values)]
    scores = _by_target(values, wanted)
    no_scores = [] if any(map(math.isfinite, table.scores.values())) else [
        Problem("missing", 0, "", "the file has no scores", count=0)]
    remarks = [problem for problem in row_problems if problem.is_remark]
    kinds = [problem.kind for problem in row_problems if not problem.is_remark]
    if table.rows and kinds == ["missing"] * table.rows:
        row_problems = remarks
        no_scores = [Problem("missing", 0, "", "every score is still empty", count=table.rows)]
    datasets = wanted.items if all_datasets else dict.fromkeys(name for name, _ in scores)
    missing = sorted(_missing(values, wanted, datasets), key=lambda problem: -problem.count)
    problems = (*sorted(row_problems, key=lambda problem: problem.line), *no_scores, *missing, *constants(scores))
    return ScoreFile(scores, problems, digest, table.rows)


def hint_of_real_data(unknown: int, rows: int) -> str:
    """Explain unknown ids in a file that is compared with the bundled sample; empty if most are known."""
    return (f"{unknown:,} of its {rows:,} rows name no item of the bundled sample: the file seems to be made for the "
            "real data, which are not installed; import them first (`harness import`)") if 2 * unknown > rows else ""


def _by_target(values: Mapping[str, float], wanted: Expected) -> Scores:
    scores: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
    named_qualities = {ALL_QUALITIES, *(name.rpartition(SEPARATOR)[2] for name in values if SEPARATOR in name)}
    for dataset, ids in wanted.items.items():
        for quality in (ALL_QUALITIES, *wanted.qualities[dataset]):
            if quality in named_qualities and any(key(name, quality) in values for name in ids):
                column = np.array([values.get(key(name, quality), math.nan) for name in ids], dtype=np.float64)
                for_all = scores.get((dataset, ALL_QUALITIES))
                scores[dataset, quality] = column if for_all is None else np.where(np.isnan(column), for_all, column)
    return scores


def _unknown(unknown_ids: Sequence[tuple[str, int]], wanted: Expected, *, all_unknown: bool) -> Iterator[Problem]:
    elsewhere = {name: where for name, _ in unknown_ids for item in (name, name.rpartition(SEPARATOR)[0])
                 if (where := wanted.elsewhere.get(item))}
    if elsewhere and all_unknown:
        yield Problem("unknown", 0, "", f"its items belong to {'; '.join(dict.fromkeys(elsewhere.values()))}")
    unknown = [(name, line) for name, line in unknown_ids if name not in elsewhere]
    for count, (name, line) in enumerate(unknown):
        text = _why_unknown(name, wanted, suggest=count < MAX_SUGGESTIONS)
        yield Problem("unknown", line, printable(name), text, fatal=not name)
    if unknown and all_unknown and not elsewhere:
        text = f"none of its {len(unknown):,} ids belongs to {listed(list(wanted.items))}"
        yield Problem("unknown", 0, "", text)


def _why_unknown(name: str, wanted: Expected, *, suggest: bool) -> str:
    if not name:
        return "has no id"
    item, _, quality = name.rpartition(SEPARATOR)
    if dataset := wanted.owners.get(item):
        known = f"; {nearest(quality[:80], wanted.qualities[dataset])}" if suggest else ""
        return f"{dataset} has no quality {printable(quality)!r}{known}"
    suggestion = wanted.nearest(item or name) if suggest else None
    return f"is not a known item{f'; did you mean {printable(suggestion)!r}?' if suggestion else ''}"


def _missing(values: Collection[str], wanted: Expected, datasets: Iterable[str]) -> Iterator[Problem]:
    def problem(name: str, text: str, count: int = 1) -> Problem:
        return Problem("missing", 0, printable(name), text, fatal=False, count=count)

    for dataset in datasets:
        ids, qualities = wanted.items[dataset], wanted.qualities[dataset]
        if all(name in values for name in ids):
            continue
        scored = {quality: {name for name in ids if name in values or key(name, quality) in values}
                  for quality in qualities}
        if not any(scored.values()):
            yield problem(dataset, f"none of its {len(ids):,} items has a score", len(ids))
            continue
        for quality in qualities:
            if not scored[quality]:
                yield problem(dataset, f"no item has a score for {printable(quality)}", len(ids))
        for name in ids:
            unscored = [quality for quality in qualities if scored[quality] and name not in scored[quality]
                        and name not in wanted.unrated.get((dataset, quality), ())]
            if unscored:
                yield problem(name, "has no score" + (
                    "" if len(unscored) == len(qualities) else f" for {listed(unscored)}"))


def constants(scores: Scores) -> Iterator[Problem]:
    for (dataset, quality), values in scores.items():
        numbers = values[np.isfinite(values)]
        if numbers.size > 1 and not np.ptp(numbers):
            target = f"{dataset}, {quality}" if quality else dataset
            text = f"every score is {numbers[0]:g}; a constant has no correlation"
            yield Problem("constant", 0, printable(target), text, fatal=False)
