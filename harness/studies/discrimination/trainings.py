"""Training runs of the study of discrimination: a system on a corpus with a strategy, for several seeds.

The accuracy with each seed is cached immediately, so that an interrupted study resumes with the remaining seeds.

The parts are those of DynaEval's Table 2: the test parts of EmpatheticDialogues and DailyDialog, and ConvAI2's
validation part. Each dialogue of 4 to 30 utterances is perturbed in twenty ways, the same for all systems and seeds;
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
from metrics.graph.dynaeval.dialogues import PERTURBATIONS, Negatives, Turns, perturb, usable
from metrics.models.service import Models
from metrics.models.text_table import PooledVectors, TextTable
from metrics.training.recipe import Recipe, TrainingData

Scores = npt.NDArray[np.float64]
STRATEGIES: dict[Negatives, str] = {"ur": "utterance replacement (ur)", "ss": "speaker level utterance shuffling (ss)"}
KINDS = tuple(STRATEGIES)
SEEDS = 5
REVISION = 1
"""Increment this when the perturbation changes; metrics have their own revisions."""


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A training corpus and the split on which systems are evaluated; `printed` is its name in the paper.

    `steps` is the number of training steps in the study, fewer than for the bundled weights.
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
    """Return the first `limit` dialogues of the part that are neither too short nor too long."""
    file = corpora.path(part.corpus, home)
    if not file.is_file():
        raise BenchmarkError(f"{part.corpus} is not in {home}; run `harness fetch --corpora {part.corpus}`")
    rows = (row for row in files.read(file) if row["split"] == part.split)
    read = (Dialogue(row["dialogue_id"], part.corpus, part.split,
                     tuple(Utterance(turn["speaker"], turn["text"]) for turn in row["utterances"])) for row in rows)
    fitting = [dialogue for dialogue in read if all(usable(dialogue, kind) for kind in KINDS)][:limit]
    if not fitting:
        raise BenchmarkError(f"{file} has no dialogue of 4 to 30 utterances in the split {part.split}")
    return fitting


def share(original: Scores, perturbed: Scores) -> float:
    """Return how often a dialogue scores above its perturbed versions, a tie counting half; NaN without a score."""
    difference = np.repeat(original, len(perturbed) // len(original)) - perturbed
    return float(((np.sign(difference) + 1) / 2).mean())


def adjacent(dialogues: Sequence[Turns], table: TextTable) -> Scores:
    """Return CoSim, the mean cosine of adjacent utterances, of dialogues in a table."""
    means = table.vectors[:, : table.width].astype(np.float64)
    units = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    rows = [table.rows(dialogue.texts) for dialogue in dialogues]
    return np.array([(units[row[1:]] * units[row[:-1]]).sum(1).mean() for row in rows])


@dataclass(eq=False)
class Training:
    """A system on a corpus with a strategy; data shared by all seeds are loaded on first use."""

    label: str
    metric: Any
    part: CorpusPart
    kind: Negatives
    seed: int
    limit: int | None
    models: Models
    cache: Cache

    @property
    def learns(self) -> bool:
        return hasattr(self.metric, "recipes")

    @property
    def encoder(self) -> str | None:
        """The name of the metric's encoder, or None for a system that does not use texts."""
        return self.metric.encoder if "encoder" in self.metric.card.models else None

    @property
    def key(self) -> list[Any]:
        """Return the key of an accuracy: all that it depends on except the seed of its training."""
        file = corpora.path(self.part.corpus, self.models.home)
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        return [REVISION, self.label, self.metric.card.revision, self.part.corpus, self.part.split, self.kind,
                self.limit, self.seed, digest, dataclasses.asdict(self.recipe) if self.learns else "",
                self.models.identity("encoder", self.encoder or "")]

    @property
    def recipe(self) -> Recipe:
        """The metric's recipe on one corpus and with fewer steps."""
        recipe: Recipe = self.metric.training
        steps = self.part.steps
        return dataclasses.replace(recipe, corpora=(self.part.corpus,), steps=steps, every=max(1, steps // 4))

    @cached_property
    def vectors(self) -> PooledVectors:
        """The encoder's vectors of texts."""
        return PooledVectors(self.models.home / "training", self.models.encoder(self.encoder or ""))

    @cached_property
    def dialogues(self) -> list[Dialogue]:
        return dialogues(self.part, self.models.home, self.limit)

    @cached_property
    def trial(self) -> tuple[TextTable, list[Turns], list[Turns]]:
        """The text table, the dialogues, and the perturbed versions of each dialogue in turn."""
        rng, window = np.random.default_rng([self.seed, KINDS.index(self.kind)]), self.part.window
        pool = [turn.text for dialogue in self.dialogues for turn in dialogue.utterances]
        perturbed = [Turns(perturb(dialogue.utterances, self.kind, pool, rng), window) for dialogue in self.dialogues
                     for _ in range(PERTURBATIONS)]
        return (TextTable(pool, self.vectors), [Turns(dialogue.utterances, window) for dialogue in self.dialogues],
                perturbed)

    @cached_property
    def data(self) -> TrainingData:
        loaded = {self.part.corpus: corpora.load(self.part.corpus, self.models.home)}
        return TrainingData(loaded, self.models, self.seed, self.encoder or "", self.vectors, recipe=self.recipe)

    def accuracies(self) -> list[float]:
        """Return the accuracy with each seed, from the cache if known."""
        return [float(self.cache.get("discrimination", [*self.key, seed],
                                     lambda seed=seed: self.accuracy(seed)))  # type: ignore[misc]
                for seed in range(self.seed, self.seed + SEEDS)]

    def accuracy(self, seed: int) -> float:
        """Return how often a dialogue scores above its perturbed versions, after training if the system learns."""
        if self.encoder is None:
            count, rng = len(self.dialogues), np.random.default_rng(seed)
            return share(rng.random(count), rng.random(count * PERTURBATIONS))
        table, original, perturbed = self.trial
        score = self._fitted(seed, table) if self.learns else lambda dialogues: adjacent(dialogues, table)
        return share(score(original), score(perturbed))

    def _fitted(self, seed: int, table: TextTable) -> Callable[[Sequence[Turns]], Scores]:
        from metrics.training.loop import fit, randomness

        options: dict[str, Any] = {"negatives": self.kind}
        if hasattr(self.metric, "window"):
            options["window"] = self.part.window  # the paper's for this corpus
        metric = dataclasses.replace(self.metric, **options)
        with randomness(seed, self.models.machine):
            objective = metric.objective(dataclasses.replace(self.data, seed=seed))
        fit(objective, self.recipe, self.models.machine, seed)
        network = objective.network.eval()

        def score(dialogues: Sequence[Turns]) -> Scores:
            table.add(text for dialogue in dialogues for text in network.texts(dialogue))
            logits: Scores = network.logits(dialogues, table)
            return logits

        return score
