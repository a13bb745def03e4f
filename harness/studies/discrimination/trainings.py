"""The trainings of the study of discrimination: a system, corpus and strategy, with several seeds.

What a training reaches is kept in the cache at once, so that a study that was stopped trains only what is left.

The parts are those of DynaEval's Table 2: the test parts of EmpatheticDialogues and DailyDialog, and ConvAI2's
validation part. Of each dialogue of 4 to 30 utterances twenty worse ones are made, the same for all systems and seeds;
replacements come from the other dialogues of the part.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import corpora, files
from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Utterance
from benchmarks.errors import BenchmarkError
from harness.results.cache import Cache
from metrics.graph.dynaeval.dialogues import PERTURBATIONS, Negatives, Turns, usable, worse
from metrics.models.cache import PooledVectors
from metrics.models.memory import Vectors
from metrics.models.service import Choice, Models
from metrics.models.text_table import TextTable
from metrics.training.recipe import Recipe, TrainingData

Scores = npt.NDArray[np.float64]
KINDS: tuple[Negatives, ...] = ("ur", "ss")
STRATEGIES: dict[Negatives, str] = {"ur": "utterance replacement (ur)", "ss": "speaker level utterance shuffling (ss)"}
"""The paper's names."""
SEEDS = 5
REVISION = 1
"""Raised when a worse dialogue is made otherwise; a metric has a revision of its own."""


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A corpus to train on, and the split of it on which systems are tried; `printed` is the paper's name of it.

    `steps` are those of a training in the study: fewer than of the weights that are shipped.
    """

    corpus: str
    title: str
    split: str
    printed: str
    window: int
    steps: int


PARTS = (CorpusPart("empatheticdialogues", "EmpatheticDialogues", "test", "empathetic", 4, 600),
         CorpusPart("personachat", "ConvAI2", "valid", "convai2", 2, 250),
         CorpusPart("dailydialog", "DailyDialog", "test", "dailydialog", 4, 500))


def dialogues(part: CorpusPart, home: Path, limit: int | None = None) -> list[Dialogue]:
    """The dialogues of the part, without those that are too short or too long; the first `limit` of them."""
    file = corpora.path(part.corpus, home)
    if not file.is_file():
        raise BenchmarkError(f"{part.corpus} is not in {home}; `harness fetch --corpora {part.corpus}`")
    rows = (row for row in files.read(file).rows if row["split"] == part.split)
    read = [Dialogue(row["dialogue_id"], part.corpus, part.split,
                     tuple(Utterance(turn["speaker"], turn["text"]) for turn in row["utterances"])) for row in rows]
    fitting = [dialogue for dialogue in read if all(usable(dialogue, kind) for kind in KINDS)][:limit]
    if not fitting:
        raise BenchmarkError(f"{file}: holds no dialogue of 4 to 30 utterances in the split {part.split}")
    return fitting


def share(better: Scores, less: Scores) -> float:
    """How often a dialogue scores above one of its worse ones, a tie being half; NaN where a score is missing."""
    gained = np.repeat(better, len(less) // len(better)) - less
    return float(((np.sign(gained) + 1) / 2).mean())


def adjacent(readings: Sequence[Turns], table: TextTable) -> Scores:
    """Return CoSim of dialogues in a table: the mean cosine of adjacent utterances, as `cosim` has it."""
    means = table.vectors[:, : table.width].astype(np.float64)
    units = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    rows = [table.rows(reading.texts) for reading in readings]
    return np.array([(units[row[1:]] * units[row[:-1]]).sum(1).mean() for row in rows])


@dataclass(frozen=True, slots=True)
class Training:
    """A system on a corpus with a strategy."""

    label: str
    metric: Any
    part: CorpusPart
    kind: Negatives
    seed: int
    limit: int | None
    home: Path
    cache: Path
    choice: Choice

    @property
    def learns(self) -> bool:
        """Whether the system is to be trained."""
        return hasattr(self.metric, "recipes")

    @property
    def reads(self) -> bool:
        """Whether the system reads the texts, and does not guess."""
        return "encoder" in self.metric.card.models


def accuracies(training: Training) -> list[float]:
    """The accuracy with each seed, from the cache where it is known."""
    work = Work(training)
    cache = Cache(training.cache)
    return [float(cache.get("discrimination", [*work.key, seed],
                            lambda seed=seed: work.accuracy(seed)))  # type: ignore[misc]
            for seed in range(training.seed, training.seed + SEEDS)]


class Work:
    """A training at work; what its seeds share is made when the first of them needs it."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.models = Models(training.home, training.choice)
        self.encoder: str = training.metric.encoder if training.reads else ""
        self._texts: Sequence[str] | None = None
        self._vectors: Vectors | None = None

    @property
    def key(self) -> list[Any]:
        """Everything an accuracy depends on besides the seed."""
        own = self.training
        file = corpora.path(own.part.corpus, own.home)
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        return [REVISION, own.label, own.metric.card.revision, own.part.corpus, own.part.split, own.kind, own.limit,
                own.seed, digest, dataclasses.asdict(self.recipe) if own.learns else "",
                self.models.identity("encoder", self.encoder)]

    @property
    def recipe(self) -> Recipe:
        """The metric's own, on one corpus and with fewer steps."""
        own: Recipe = self.training.metric.training
        steps = self.training.part.steps
        return dataclasses.replace(own, corpora=(self.training.part.corpus,), steps=steps, every=max(1, steps // 4))

    def read(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts; those of the last texts stay, since all seeds train on the same."""
        if self._vectors is None or self._texts != texts:
            features = PooledVectors(self.training.home / "training", self.models.encoder(self.encoder))
            self._texts, self._vectors = texts, features(texts)
        return self._vectors

    @cached_property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues to score above worse ones."""
        return dialogues(self.training.part, self.training.home, self.training.limit)

    @cached_property
    def trial(self) -> tuple[TextTable, list[Turns], list[Turns]]:
        """The texts, the dialogues, and for each so many worse ones that follow one another."""
        kind, rng = self.training.kind, np.random.default_rng([self.training.seed, KINDS.index(self.training.kind)])
        pool = [turn.text for dialogue in self.dialogues for turn in dialogue.utterances]
        table = TextTable(pool, self.read)
        changed = [worse(each.utterances, kind, pool, rng) for each in self.dialogues for _ in range(PERTURBATIONS)]
        window = self.training.part.window
        return (table, [Turns(each.utterances, window) for each in self.dialogues],
                [Turns(turns, window) for turns in changed])

    @cached_property
    def data(self) -> TrainingData:
        """The corpus to train on."""
        name = self.training.part.corpus
        return TrainingData({name: corpora.load(name, self.training.home)}, self.models, self.training.seed,
                            self.encoder, self.read, recipe=self.recipe)

    def accuracy(self, seed: int) -> float:
        """How often a dialogue scores above its worse ones; of a trained system after a training."""
        if not self.training.reads:
            count, rng = len(self.dialogues), np.random.default_rng(seed)
            return share(rng.random(count), rng.random(count * PERTURBATIONS))
        table, *both = self.trial
        if self.training.learns:
            return share(*map(self._fitted(seed, table), both))
        return share(*(adjacent(some, table) for some in both))

    def _fitted(self, seed: int, table: TextTable) -> Callable[[Any], Scores]:
        from metrics.training.loop import fit, randomness

        own: dict[str, Any] = {"negatives": self.training.kind}
        if hasattr(self.training.metric, "window"):
            own["window"] = self.training.part.window  # that of the paper for the corpus
        metric = dataclasses.replace(self.training.metric, **own)
        with randomness(seed, self.models.machine):
            objective = metric.objective(dataclasses.replace(self.data, seed=seed))
        fit(objective, self.recipe, self.models.machine, seed)
        network = objective.network.eval()

        def scores(readings: Sequence[Turns]) -> Scores:
            table.add(text for reading in readings for text in network.texts(reading))
            logits: Scores = network.logits(readings, table)
            return logits

        return scores
