"""What the score files of submissions hold: who is taken, who is refused and why."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

from benchmarks.formats import scorefile
from benchmarks.formats.scorefile import EVERY, Expected, Problem
from harness.challenge.ground import Ground
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import ListedSubmissions, Refused, Submission, shown
from harness.run.rank import Target
from harness.statistics.panel import Array, Vector

TOLD = 20
"""So many problems of a file are listed; of the others, how many there are."""

SIDE_BY_SIDE = 1 << 25
"""From so many bytes on, files are read by several processes."""

COUNTED_HERE = frozenset({"missing", "constant", "extra column"})
"""Kinds of problems that are no reason to refuse a file: the rules of the challenge say what becomes of them."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A score file as it was read: its scores, the reasons to refuse it, what else was noticed, and its digest."""

    scores: Mapping[Target, Vector]
    reasons: tuple[str, ...]
    told: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission whose file was read; `missing` counts the items without a score, by dataset."""

    submission: Submission
    sha256: str
    missing: Mapping[str, int]
    told: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """TEAM/N, as it is listed."""
        return self.submission.name


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries with their scores: of each target (entries, items), in the order of `entries`; NaN where missing."""

    entries: tuple[Entry, ...]
    scores: Mapping[Target, Array]

    def take(self, places: Sequence[int]) -> Entries:
        """Some of them."""
        made: dict[int, Array] = {}
        for table in self.scores.values():
            if id(table) not in made:
                made[id(table)] = table[list(places)]
        return Entries(tuple(self.entries[place] for place in places),
                       {target: made[id(table)] for target, table in self.scores.items()})


@dataclass(frozen=True, slots=True)
class Taken:
    """The entries that may be ranked, those whose only fault is missing scores, and who is refused."""

    whole: Entries
    incomplete: Entries
    refused: tuple[Refused, ...] = ()


def taken(listed: ListedSubmissions, ground: Ground, rules: Rulebook) -> Taken:
    """Read the file of every submission; what is wrong with one costs it alone."""
    refused = list(listed.refused)
    whole: list[tuple[Entry, Mapping[Target, Vector]]] = []
    incomplete: list[tuple[Entry, Mapping[Target, Vector]]] = []
    every = read([submission.path for submission in listed.submissions], ground.expected)
    for submission, file in zip(listed.submissions, every, strict=True):
        entry = Entry(submission, file.sha256, dict(_missing(file.scores, ground)), file.told)
        if file.reasons:
            refused.append(Refused(entry.name, file.reasons, file.sha256))
        elif entry.missing and rules.missing == "refuse":
            lacking = ", ".join(f"{count} of {name}" for name, count in entry.missing.items())
            refused.append(Refused(entry.name, (f"items without a score: {lacking}",), file.sha256))
            incomplete.append((entry, file.scores))
        else:
            whole.append((entry, file.scores))
    return Taken(_stacked(whole, ground), _stacked(incomplete, ground), tuple(refused))


def read(paths: Sequence[Path], wanted: Expected) -> Iterator[ScoreFile]:
    """Read score files in their order, several at once where they are large."""
    processes = min(os.cpu_count() or 1, 8)
    if processes == 1 or sum(map(_size, paths)) < SIDE_BY_SIDE:
        yield from map(_read, paths, repeat(wanted))
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _remember, (wanted,)) as pool:
        yield from pool.map(_read, paths, chunksize=4)


def _size(path: Path) -> int:
    """Bytes of a file; 0 of one that is gone by now, which reading it will tell."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


_REMEMBERED: list[Expected] = []


def _remember(wanted: Expected) -> None:
    """What every file of a process is held against, sent to it once."""
    _REMEMBERED[:] = [wanted]


def _read(path: Path, wanted: Expected | None = None) -> ScoreFile:
    try:
        content = scorefile.read(path, _REMEMBERED[0] if wanted is None else wanted)
    except Exception as error:  # whatever a stranger's file brings about costs that file alone
        return ScoreFile({}, (f"cannot be read: {type(error).__name__}",), (), "")
    fatal = [problem for problem in content.problems if problem.fatal and problem.kind not in COUNTED_HERE]
    others = [problem for problem in content.problems if not problem.fatal and problem.kind not in COUNTED_HERE]
    return ScoreFile(content.scores if not fatal else {}, _listed(fatal), _listed(others), content.digest)


def _listed(problems: Sequence[Problem]) -> tuple[str, ...]:
    lines = tuple(f"line {problem.line}: {shown_text(problem.text)}" if problem.line else shown_text(problem.text)
                  for problem in problems[:TOLD])
    return lines if len(problems) <= TOLD else (*lines, f"and {len(problems) - TOLD} more")


def shown_text(text: str) -> str:
    """A message that may hold what stood in a file: printable, and of bearable length."""
    return "".join(shown(text[start:start + 80]) for start in range(0, min(len(text), 320), 80))


def _missing(scores: Mapping[Target, Vector], ground: Ground) -> Iterator[tuple[str, int]]:
    for field in ground.fields:
        lacking = np.zeros(len(field.dataset.items), dtype=np.bool_)
        for judged in field.judged:
            lacking |= ~np.isfinite(_of(scores, (field.name, judged.quality.name), len(lacking)))
        if lacking.any():
            yield field.name, int(lacking.sum())


def _stacked(files: Sequence[tuple[Entry, Mapping[Target, Vector]]], ground: Ground) -> Entries:
    """The tables of all targets; those of a dataset are one where every file has one score an item."""
    tables: dict[Target, Array] = {}
    for field in ground.fields:
        size = len(field.dataset.items)
        alone = all((field.name, EVERY) in scores and not any((field.name, judged.quality.name) in scores
                    for judged in field.judged) for _, scores in files)
        for judged in field.judged:
            target = (field.name, judged.quality.name)
            first = tables.get((field.name, field.judged[0].quality.name))
            rows = [_of(scores, target, size) for _, scores in files] if first is None or not alone else []
            tables[target] = first if first is not None and alone else np.array(rows).reshape(len(files), size)
    return Entries(tuple(entry for entry, _ in files), tables)


def _of(scores: Mapping[Target, Vector], target: Target, size: int) -> Vector:
    """The scores for a quality: its own, else those for every quality, else none."""
    for name in (target[1], EVERY):
        if (target[0], name) in scores:
            return scores[target[0], name]
    return np.full(size, np.nan)
