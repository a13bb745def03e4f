"""Read the score files of submissions, and refuse invalid ones with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.formats import scorefile
from harness.challenge.ground import Ground
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused, Submission
from harness.run.correlate import TargetData
from harness.run.rank import Target
from harness.statistics.panel import Vector

SHOWN_PROBLEMS = 3
CHECKED_HERE = frozenset({"missing", "constant", "extra column"})
"""Kinds of problems that this module checks itself, for the targets of the challenge."""

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


def accept(listed: Sequence[Submission | Refused], ground: Ground, rules: Rulebook,
           ) -> tuple[Entries, tuple[Refused, ...]]:
    refused = [result for result in listed if isinstance(result, Refused)]
    valid: list[tuple[Submission, Scores]] = []
    for submission in (result for result in listed if isinstance(result, Submission)):
        file, receipt = read(submission.path, ground, submission.about.column or rules.column), submission.receipt
        reasons = file.reasons
        if not reasons and receipt and receipt.sha256 != file.sha256:
            reasons = (f"differs from the received file, whose sha256 begins with {receipt.sha256[:12]}",)
        if reasons:
            refused.append(Refused(submission.name, (*reasons, *file.remarks[:1]), file.sha256))
        else:
            valid.append((replace(submission, sha256=file.sha256, remarks=file.remarks), file.scores))
    tables = ground.tables([entry.team for entry, _ in valid], [scores for _, scores in valid])
    return Entries(tuple(entry for entry, _ in valid), tables), tuple(refused)


def read(path: Path, ground: Ground, column: str) -> ScoreFile:
    try:
        content = scorefile.read(path, ground.expected, column=column)
    except Exception as error:  # a hostile file affects this submission only
        return ScoreFile({}, (f"cannot be read: {type(error).__name__}",), (), "")
    fatal, remarks = (tuple(scorefile.describe(
        [problem for problem in content.problems if problem.fatal is refused and problem.kind not in CHECKED_HERE],
        SHOWN_PROBLEMS)) for refused in (True, False))
    blank = {ranked.name: np.full(len(ranked.dataset.items), np.nan) for ranked in ground.datasets}
    scores = {(dataset, quality): blank[dataset] if (values := content.on(dataset, quality)) is None else values
              for dataset, quality in ground.targets}
    reasons = fatal or tuple(_constant(scores)) or tuple(_missing(scores, ground))
    return ScoreFile(scores, reasons, remarks, content.digest)


def _constant(scores: Scores) -> Iterator[str]:
    for (dataset, quality), values in scores.items():
        numbers = values[np.isfinite(values)]
        if numbers.size > 1 and not np.ptp(numbers):
            yield f"every score for {quality} of {dataset} is {numbers[0]:g}; constant scores have no correlation"


def _missing(scores: Scores, ground: Ground) -> list[str]:
    """Return a single reason that lists the items without a score, if any."""
    parts = []
    for ranked in ground.datasets:
        items = ranked.dataset.items
        values = [scores[ranked.name, judged.quality.name] for judged in ranked.judged]
        if ids := [items[index].id for index in np.flatnonzero(~np.isfinite(values).all(axis=0))]:
            parts.append(f"{len(ids)} of {ranked.name}: {scorefile.listed(ids)}")
    return [f"items without a score: {'; '.join(parts)}"] if parts else []
