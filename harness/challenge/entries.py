"""What the score files of submissions hold: who is taken, who is refused and why."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

from benchmarks.formats import scorefile
from benchmarks.formats.scorefile import EVERY, Expected
from harness.challenge.ground import Ground
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import ListedSubmissions, Refused, Submission
from harness.run.rank import Target
from harness.statistics.panel import Array, Vector
from harness.statistics.ranks import ranks

SIMILAR, EQUAL = 0.999, 1 - 1e-12
"""Spearman between two submissions, averaged over datasets, from which on they are nearly alike, and alike."""

ALIKE = 20
"""So many pairs of submissions that are alike are named."""

FIRST = 3
"""So many problems of a kind are said in full."""

SIDE_BY_SIDE = 1 << 25
"""From so many bytes on, files are read by several processes."""

COUNTED_HERE = frozenset({"missing", "constant", "extra column"})
"""Kinds of problems that are looked for here, on what the challenge ranks: its rules say what becomes of them."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A score file as it was read: its scores, the reasons to refuse it, what else was noticed, and its digest."""

    scores: Mapping[Target, Vector]
    reasons: tuple[str, ...]
    told: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission whose file was read."""

    submission: Submission
    sha256: str
    told: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """TEAM/N, as it is listed."""
        return self.submission.name


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries with their scores: of each target (entries, items), in the order of `entries`."""

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
    """The entries that may be ranked, and who is refused, now or at receipt."""

    whole: Entries
    refused: tuple[Refused, ...] = ()
    at_receipt: tuple[Refused, ...] = ()

    @property
    def digests(self) -> dict[str, str]:
        """The sha256 of every file whose scores were read, by TEAM/N."""
        return {entry.name: entry.sha256 for entry in self.whole.entries}


def taken(listed: ListedSubmissions, ground: Ground, rules: Rulebook) -> Taken:
    """Read the file of every submission; what is wrong with one costs it alone."""
    refused = list(listed.refused)
    whole: list[tuple[Entry, Mapping[Target, Vector]]] = []
    every = read([submission.path for submission in listed.submissions], ground.expected,
                 [submission.about.column or rules.column for submission in listed.submissions])
    for submission, file in zip(listed.submissions, every, strict=True):
        entry = Entry(submission, file.sha256, file.told)
        reasons = (file.reasons or tuple(_changed(submission, file.sha256)) or tuple(_constant(file.scores, ground))
                   or tuple(_missing(file.scores, ground)))
        if reasons:
            refused.append(Refused(entry.name, reasons, file.sha256))
        else:
            whole.append((entry, file.scores))
    return Taken(_stacked(whole, ground), tuple(refused))


def alike(entries: Entries) -> tuple[str, ...]:
    """Which submissions of two teams rank all items alike, or nearly; the first pairs, and how many more."""
    if len(entries.entries) < 2:
        return ()
    tables = {id(table): table for table in entries.scores.values()}.values()
    similar = np.mean([np.corrcoef(ranks(np.nan_to_num(table))) for table in tables], axis=0)
    teams = np.array([entry.submission.team for entry in entries.entries])
    pairs = np.argwhere(np.triu(similar >= SIMILAR, 1) & (teams[:, None] != teams)).tolist()
    lines = [f"{entries.entries[one].name} and {entries.entries[other].name} rank all items "
             + ("alike" if similar[one][other] > EQUAL else f"nearly alike (Spearman {similar[one][other]:.4f})")
             for one, other in pairs[:ALIKE]]
    return (*lines, f"and {len(pairs) - ALIKE} more pairs are alike") if len(pairs) > ALIKE else tuple(lines)


def read(paths: Sequence[Path], wanted: Expected, columns: Iterable[str]) -> Iterator[ScoreFile]:
    """Read score files in their order, several at once where they are large; each has its scores in its column."""
    processes = min(os.cpu_count() or 1, 8)
    if processes == 1 or sum(map(_size, paths)) < SIDE_BY_SIDE:
        yield from map(_read, paths, columns, repeat(wanted))
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _remember, (wanted,)) as pool:
        yield from pool.map(_read, paths, columns, chunksize=4)


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


def _read(path: Path, column: str, wanted: Expected | None = None) -> ScoreFile:
    try:
        content = scorefile.read(path, _REMEMBERED[0] if wanted is None else wanted, column=column)
    except Exception as error:  # whatever a stranger's file brings about costs that file alone
        return ScoreFile({}, (f"cannot be read: {type(error).__name__}",), (), "")
    fatal, others = (tuple(scorefile.describe(
        [each for each in content.problems if each.fatal is refused and each.kind not in COUNTED_HERE],
        FIRST)) for refused in (True, False))
    return ScoreFile(content.scores if not fatal else {}, fatal, others, content.digest)


def _changed(submission: Submission, sha256: str) -> Iterator[str]:
    """Whether a file is another than the one that came in."""
    if submission.receipt and submission.receipt.sha256 != sha256:
        yield f"is not the file that was received, whose sha256 begins with {submission.receipt.sha256[:12]}"


def _constant(scores: Mapping[Target, Vector], ground: Ground) -> Iterator[str]:
    """The targets on which every score is the same."""
    for dataset, quality in ground.targets:
        values = _of(scores, (dataset, quality), 0)
        numbers = values[np.isfinite(values)]
        if numbers.size > 1 and not np.ptp(numbers):
            yield f"every score is {numbers[0]:g} on {quality} of {dataset}: all the same correlate with nothing"


def _missing(scores: Mapping[Target, Vector], ground: Ground) -> Iterator[str]:
    """The items without a score."""
    every = []
    for field in ground.fields:
        lacking = np.zeros(len(field.dataset.items), dtype=np.bool_)
        for judged in field.judged:
            lacking |= ~np.isfinite(_of(scores, (field.name, judged.quality.name), len(lacking)))
        if lacking.any():
            ids = [field.dataset.items[place].id for place in np.flatnonzero(lacking)]
            every.append(f"{len(ids)} of {field.name}: {scorefile.listed(ids)}")
    if every:
        yield f"items without a score: {'; '.join(every)}"


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
