"""Read the score files of submissions, and refuse invalid ones with reasons."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.formats import scorefile
from benchmarks.formats.scorefile import Expected
from harness.challenge.ground import Ground
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused, Submission
from harness.run.correlate import TargetData
from harness.run.rank import Target
from harness.statistics.panel import Array, Vector
from harness.statistics.ranks import ranks

SIMILAR, IDENTICAL = 0.999, 1 - 1e-12
"""Minimum mean Spearman, over datasets, of two submissions that count as almost identical, and as identical."""

SHOWN_PAIRS = 20
SHOWN_PROBLEMS = 3
PARALLEL_BYTES = 1 << 25
OWN_CHECKS = frozenset({"missing", "constant", "extra column"})
"""Kinds of problems that this module checks for the targets of the challenge."""

Scores = Mapping[Target, Vector]


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A score file: its scores, the reasons to refuse it, remarks, and its digest."""

    scores: Scores
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Submissions and their scores on every target, named by team."""

    entries: tuple[Submission, ...]
    tables: tuple[TargetData, ...]

    def take(self, indices: Sequence[int]) -> Entries:
        return Entries(tuple(self.entries[index] for index in indices), tuple(
            replace(table, names=tuple(table.names[index] for index in indices), scores=table.scores[list(indices)])
            for table in self.tables))


def accepted(listed: Sequence[Submission | Refused], ground: Ground, rules: Rulebook,
             ) -> tuple[Entries, tuple[Refused, ...]]:
    """Return the submissions that may be ranked, and the refused ones."""
    submissions = [result for result in listed if isinstance(result, Submission)]
    refused = [result for result in listed if isinstance(result, Refused)]
    valid: list[tuple[Submission, Scores]] = []
    files = read([submission.path for submission in submissions], ground.expected,
                 [submission.about.column or rules.column for submission in submissions])
    for submission, file in zip(submissions, files, strict=True):
        receipt = submission.receipt
        reasons = file.reasons
        if not reasons and receipt and receipt.sha256 != file.sha256:
            reasons = (f"differs from the received file, whose sha256 begins with {receipt.sha256[:12]}",)
        scores = ground.aligned(file.scores)
        reasons = reasons or tuple(_constant(scores)) or tuple(_missing(scores, ground))
        if reasons:
            refused.append(Refused(submission.name, (*reasons, *file.remarks[:1]), file.sha256))
        else:
            valid.append((replace(submission, sha256=file.sha256, remarks=file.remarks), scores))
    tables = ground.tables([entry.team for entry, _ in valid], [scores for _, scores in valid])
    return Entries(tuple(entry for entry, _ in valid), tables), tuple(refused)


def similar_pairs(entries: Entries) -> tuple[str, ...]:
    """List pairs of submissions from different teams that rank all items identically, or almost so."""
    if len(entries.entries) < 2:
        return ()
    by_dataset: dict[str, list[Array]] = {}
    for table in entries.tables:
        by_dataset.setdefault(table.dataset, []).append(np.atleast_2d(np.corrcoef(ranks(np.nan_to_num(table.scores)))))
    similar = np.mean([np.mean(correlations, axis=0) for correlations in by_dataset.values()], axis=0)
    teams = np.array([entry.team for entry in entries.entries])
    pairs = np.argwhere(np.triu(similar >= SIMILAR, 1) & (teams[:, None] != teams)).tolist()
    lines = [f"{entries.entries[first].name} and {entries.entries[second].name} rank all items "
             + ("identically" if similar[first][second] > IDENTICAL else
                f"almost identically (Spearman {similar[first][second]:.4f})")
             for first, second in pairs[:SHOWN_PAIRS]]
    if len(pairs) > SHOWN_PAIRS:
        lines.append(f"and {len(pairs) - SHOWN_PAIRS} more similar pairs")
    return tuple(lines)


def read(paths: Sequence[Path], expected: Expected, columns: Iterable[str]) -> Iterator[ScoreFile]:
    """Read score files in order, each with the name of its score column; large ones in several processes."""
    processes, read_file = min(os.cpu_count() or 1, 8), partial(_read, expected)
    sizes = (path.stat().st_size for path in paths if path.exists())
    if processes == 1 or sum(sizes) < PARALLEL_BYTES:
        yield from map(read_file, paths, columns)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(read_file, paths, columns, chunksize=4)


def _read(expected: Expected, path: Path, column: str) -> ScoreFile:
    try:
        content = scorefile.read(path, expected, column=column)
    except Exception as error:  # a hostile file affects this submission only
        return ScoreFile({}, (f"cannot be read: {type(error).__name__}",), (), "")
    fatal, others = (tuple(scorefile.describe(
        [problem for problem in content.problems if problem.fatal is refused and problem.kind not in OWN_CHECKS],
        SHOWN_PROBLEMS)) for refused in (True, False))
    return ScoreFile({} if fatal else content.scores, fatal, others, content.digest)


def _constant(scores: Scores) -> Iterator[str]:
    for (dataset, quality), values in scores.items():
        numbers = values[np.isfinite(values)]
        if numbers.size > 1 and not np.ptp(numbers):
            yield f"every score for {quality} of {dataset} is {numbers[0]:g}; constant scores have no correlation"


def _missing(scores: Scores, ground: Ground) -> list[str]:
    """Return a single reason that lists the items without a score, if any."""
    parts = []
    for field in ground.fields:
        items = field.dataset.items
        values = [scores[field.name, judged.quality.name] for judged in field.judged]
        if ids := [items[index].id for index in np.flatnonzero(~np.isfinite(values).all(axis=0))]:
            parts.append(f"{len(ids)} of {field.name}: {scorefile.listed(ids)}")
    return [f"items without a score: {'; '.join(parts)}"] if parts else []
