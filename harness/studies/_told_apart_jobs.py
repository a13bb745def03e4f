"""The trainings of the study of discrimination: a system, corpus and strategy, with several seeds, in a process each.

What a training reaches is kept in the memo as soon as it is there, so that a study that was stopped trains what is
left.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import corpora
from benchmarks.corpora.corpora import Dialogue
from benchmarks.errors import BenchmarkError
from harness.errors import HarnessError
from harness.run.cache import Memo
from harness.studies._told_apart import Part, Trial, adjacent, dialogues, share, trial
from metrics.errors import MetricError
from metrics.graph.dialogues import dialogues as _dialogues
from metrics.graph.dialogues.perturbed import PERTURBATIONS, Negatives
from metrics.models.memory import Vectors
from metrics.models.service import Choice, Models
from metrics.training.features import Features
from metrics.training.recipe import Recipe, TrainingData

SEEDS = 5
REVISION = 1
"""Raised when a worse dialogue is made otherwise; a metric has a revision of its own."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one process does: everything it needs to know, as it is sent to it."""

    label: str
    metric: Any
    part: Part
    kind: Negatives
    seed: int
    limit: int | None
    home: Path
    memo: Path
    choice: Choice


def accuracies(job: Job) -> list[float]:
    """The accuracy with each seed, from the memo where it is there."""
    work = _Work(job)
    memo = Memo(job.memo)
    return [float(memo.get("discrimination", [*work.key, seed], lambda seed=seed: work.accuracy(seed)))  # type: ignore[misc]
            for seed in range(job.seed, job.seed + SEEDS)]


def all_of(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[float] | str]]:
    """The jobs as they are done, each worker on a core of its own; of one that fails, what was wrong."""
    if workers < 2:
        yield from ((job, _tried(job)) for job in jobs)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _alone) as pool:
        waiting = {pool.submit(_tried, job): job for job in jobs}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        except BrokenProcessPool as error:
            raise HarnessError("a training's process was killed, for want of memory perhaps; the same command goes on "
                               "with what is left") from error
        finally:
            pool.shutdown(cancel_futures=True)


def _tried(job: Job) -> list[float] | str:
    try:
        return accuracies(job)
    except (BenchmarkError, MetricError, HarnessError) as error:
        return " ".join(str(error).split())


def learns(metric: Any) -> bool:
    """Whether a system is to be trained."""
    return hasattr(metric, "recipe")


def reads(metric: Any) -> bool:
    """Whether a system reads the texts, and does not guess."""
    return "encoder" in metric.card.models


def read_all(models: Models, jobs: Sequence[Job]) -> None:
    """Have the encoder read what the jobs need, and keep what it read; else each would read it for itself."""
    for part, encoder in dict.fromkeys((job.part, job.metric.encoder) for job in jobs if reads(job.metric)):
        own = [job for job in jobs if job.part == part and reads(job.metric) and job.metric.encoder == encoder]
        some = dialogues(part, own[0].home, own[0].limit)
        if any(learns(job.metric) for job in own):
            some += corpora.load(part.corpus, own[0].home).dialogues
        features = Features(own[0].home / "training", models.encoder(encoder))
        features(list(dict.fromkeys(turn.text for one in some for turn in one.utterances)))


def _alone() -> None:
    """A worker computes with one thread, and ends at once when the study is stopped."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(1)


def workers() -> int:
    """How many trainings run side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Work:
    """A job, with what its seeds share made when the first of them is to be computed."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.models = Models(job.home, job.choice)
        self._trial: Trial | None = None
        self._data: TrainingData | None = None
        self._features: Features | None = None
        self._read: tuple[Sequence[str], Vectors] | None = None

    @property
    def key(self) -> list[Any]:
        """Everything an accuracy depends on besides the seed."""
        job = self.job
        file = corpora.path(job.part.corpus, job.home)
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        return [REVISION, job.label, job.metric.card.revision, job.part.corpus, job.part.split, job.kind, job.limit,
                job.seed, digest, dataclasses.asdict(self.recipe) if learns(job.metric) else "",
                self.models.identity("encoder", self.encoder)]

    @property
    def encoder(self) -> str:
        """The encoder that the metric asks for; empty for that of the run."""
        return self.job.metric.encoder if reads(self.job.metric) else ""

    @property
    def recipe(self) -> Recipe:
        """The metric's own, on one corpus and with fewer steps."""
        own: Recipe = self.job.metric.recipe
        return dataclasses.replace(own, corpora=(self.job.part.corpus,), steps=self.job.part.steps,
                                   every=max(1, self.job.part.steps // 4))

    @property
    def metric(self) -> Any:
        """The metric with the strategy of the job, and the window that the paper has for its corpus."""
        own: dict[str, Any] = {"negatives": self.job.kind}
        if hasattr(self.job.metric, "window"):
            own["window"] = self.job.part.window
        return dataclasses.replace(self.job.metric, **own)

    def read(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, kept on disk as for a training."""
        if self._features is None:
            self._features = Features(self.job.home / "training", self.models.encoder(self.encoder))
        if self._read is None or self._read[0] != texts:  # all seeds train on the same
            self._read = texts, self._features(texts)
        return self._read[1]

    @functools.cached_property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues that are to be told from worse ones."""
        return dialogues(self.job.part, self.job.home, self.job.limit)

    @property
    def trial(self) -> Trial:
        """The dialogues and their worse ones."""
        if self._trial is None:
            self._trial = trial(self.dialogues, self.job.kind, self.job.seed, self.read)
        return self._trial

    def accuracy(self, seed: int) -> float:
        """How often a dialogue scores above its worse ones; of a trained system after a training."""
        if not reads(self.job.metric):
            count, rng = len(self.dialogues), np.random.default_rng(seed)
            return share(rng.random(count), rng.random(count * PERTURBATIONS))
        both = self.trial.dialogues, self.trial.worse
        if learns(self.job.metric):
            return share(*map(self._fitted(seed), both))
        return share(*(adjacent(some, self.trial.table) for some in both))

    def _fitted(self, seed: int) -> Any:
        from metrics.training.loop import fit, randomness

        metric, name = self.metric, self.job.part.corpus
        if self._data is None:
            self._data = TrainingData({name: corpora.load(name, self.job.home)}, self.models, seed, read=self.read)
        self._data.seed = seed
        with randomness(seed, self.models.machine):
            objective = metric.objective(self._data)
        fit(objective, self.recipe, self.models.machine, seed)
        window, speakers = getattr(metric, "window", 0), getattr(metric, "speakers", _dialogues.SPEAKERS)
        return lambda some: _dialogues.judged(objective.network, some, self.trial.table, window, speakers, exact=False)
