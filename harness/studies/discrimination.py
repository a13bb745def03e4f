"""Accuracy of systems in scoring a dialogue above a perturbed version: DynaEval's Table 2 (Zhang et al. 2021).

Utterance replacement (UR) replaces one utterance by a random one of another dialogue. Speaker-level shuffling (SS)
reorders the utterances of one speaker. Systems that learn are trained on the corpus's training part with the same
strategy, with five seeds. The accuracy with each seed is cached immediately, so that an interrupted study resumes with
the remaining seeds.

The parts are those of the paper: the test parts of EmpatheticDialogues and DailyDialog, and ConvAI2's validation part.
Each dialogue of 4 to 30 utterances is perturbed in twenty ways, the same for all systems and seeds; replacements come
from the other dialogues of the part.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import corpora, files
from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Utterance
from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError
from harness.published import PrintedNumber, Tables
from harness.results.cache import Cache
from harness.results.exhibits import Grid
from harness.scoring.progress import Progress
from harness.statistics.panel import Vector
from harness.studies import Findings, StudyRequest
from metrics.errors import MetricError
from metrics.graph.dynaeval.dialogues import PERTURBATIONS, Negatives, Turns, perturb, usable
from metrics.metric import options
from metrics.models.service import Models
from metrics.models.text_table import PooledVectors, TextTable
from metrics.training.recipe import Recipe, Trainable, TrainingData

TITLE = "Dialogues against perturbed versions"
FLAGS = ("metric",)
PRINTED = {"random": "Random", "cosim": "CoSim", "s-dicoh": "S-DiCoh", "dynaeval": "DynaEval"}
SET_OPTIONS = {"random": (), "cosim": ("pooling",), "s-dicoh": ("negatives",), "dynaeval": ("negatives", "window")}
"""Options that the study sets itself: `negatives` to the strategy, `window` as in the paper, `pooling` to the mean."""
STRATEGIES: dict[Negatives, str] = {"ur": "utterance replacement (ur)", "ss": "speaker level utterance shuffling (ss)"}
KINDS = tuple(STRATEGIES)
SEEDS = 5
REVISION = 1  # increment this when the perturbation changes; metrics have their own revisions


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A corpus: its evaluation split, name in the paper, window, and training steps, fewer than for shipped weights."""

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
    in_split = (Dialogue(row["dialogue_id"], part.corpus, part.split,
                         tuple(Utterance(turn["speaker"], turn["text"]) for turn in row["utterances"])) for row in rows)
    fitting = [dialogue for dialogue in in_split if all(usable(dialogue, kind) for kind in KINDS)][:limit]
    if not fitting:
        raise BenchmarkError(f"{file} has no dialogue of 4 to 30 utterances in the split {part.split}")
    return fitting


def share_above(original: Vector, perturbed: Vector) -> float:
    """Return how often a dialogue scores above its perturbed versions, a tie counting half; NaN without a score."""
    difference = np.repeat(original, len(perturbed) // len(original)) - perturbed
    return float(((np.sign(difference) + 1) / 2).mean())


def adjacent_cosines(dialogues: Sequence[Turns], table: TextTable) -> Vector:
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
        return isinstance(self.metric, Trainable)

    @property
    def encoder(self) -> str | None:
        """The name of the metric's encoder, or None for a system that does not use texts."""
        return options(self.metric).get("encoder")

    @property
    def key(self) -> list[Any]:
        """The cache key of an accuracy: everything that it depends on except the training seed."""
        file = corpora.path(self.part.corpus, self.models.home)
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        return [REVISION, self.label, self.metric.card.revision, self.part.corpus, self.part.split, self.kind,
                self.limit, self.seed, digest, dataclasses.asdict(self.recipe) if self.learns else "",
                self.models.identity("encoder", self.encoder or "")]

    @property
    def recipe(self) -> Recipe:
        recipe: Recipe = self.metric.training
        steps = self.part.steps
        return dataclasses.replace(recipe, corpora=(self.part.corpus,), steps=steps, every=max(1, steps // 4))

    @cached_property
    def vectors(self) -> PooledVectors:
        return PooledVectors(self.models.home / "training", self.models.encoder(self.encoder or ""))

    @cached_property
    def dialogues(self) -> list[Dialogue]:
        return dialogues(self.part, self.models.home, self.limit)

    @cached_property
    def evaluation_data(self) -> tuple[TextTable, list[Turns], list[Turns]]:
        """The text table, the dialogues, and the perturbed versions of the first dialogue, the second, and so on."""
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
        """Return the accuracy with each seed, from the cache if possible."""
        return [float(self.cache.get("discrimination", [*self.key, seed], partial(self.accuracy, seed)))
                for seed in range(self.seed, self.seed + SEEDS)]

    def accuracy(self, seed: int) -> float:
        """Return how often a dialogue scores above its perturbed versions, after training if the system learns."""
        if self.encoder is None:
            count, rng = len(self.dialogues), np.random.default_rng(seed)
            return share_above(rng.random(count), rng.random(count * PERTURBATIONS))
        table, original, perturbed = self.evaluation_data
        score = self._fitted(seed, table) if self.learns else partial(adjacent_cosines, table=table)
        return share_above(score(original), score(perturbed))

    def _fitted(self, seed: int, table: TextTable) -> Callable[[Sequence[Turns]], Vector]:
        from metrics.training.loop import fit, seeded

        values = {"negatives": self.kind, "window": self.part.window}
        metric = dataclasses.replace(self.metric, **{
            name: values[name] for name in SET_OPTIONS[self.metric.card.name]})
        with seeded(seed, self.models.machine):
            objective = metric.objective(dataclasses.replace(self.data, seed=seed))
        fit(objective, self.recipe, self.models.machine, seed)
        network = objective.network.eval()

        def score(dialogues: Sequence[Turns]) -> Vector:
            table.add(text for dialogue in dialogues for text in network.texts(dialogue))
            return np.asarray(network.logits(dialogues, table))

        return score


def study(request: StudyRequest) -> Findings:
    systems = [chosen for name in PRINTED for chosen in request.plan.chosen if chosen.metric.card.name == name]
    if not systems:
        raise BadConfig(f"this study compares {', '.join(PRINTED)}; select one or more with --metric")
    for chosen in systems:
        requested, defaults = options(chosen.metric), options(type(chosen.metric)())
        for option in SET_OPTIONS[chosen.metric.card.name]:
            if requested[option] != defaults[option]:
                raise BadConfig(f"{chosen.label}: this study sets {option} itself; leave it out")
    parts = [part for part in PARTS if corpora.path(part.corpus, request.home).is_file()]
    if not parts:
        raise BadConfig(f"none of the corpora is available; run `harness fetch --corpora {PARTS[0].corpus}` to get one")
    workspace, settings = request.workspace, request.settings
    progress, start = Progress(), time.monotonic()
    accuracies: dict[Training, list[float]] = {}
    failures = list(request.broken)
    for part, kind, chosen in product(parts, KINDS, systems):
        training = Training(chosen.label, chosen.metric, part, kind, settings.seed, settings.limit, workspace.models,
                            workspace.cache)
        try:
            values = training.accuracies()
        except (BenchmarkError, MetricError, HarnessError) as error:
            failures.append(f"{chosen.label} on {part.title}, {kind}: {' '.join(str(error).split())}")
        else:
            accuracies[training] = values
            progress.line(f"{chosen.label:<12} {part.title:<20} {kind} {_percent(values):<14} "
                          f"{time.monotonic() - start:6.0f} s")
    return findings(accuracies, [part.title for part in PARTS if part not in parts], tuple(failures))


def findings(accuracies: Mapping[Training, Sequence[float]], absent: Sequence[str] = (),
             failures: tuple[str, ...] = ()) -> Findings:
    return Findings((_table(accuracies),), tuple(_remarks(absent)), {"accuracy": [{
        "system": training.label, "corpus": training.part.corpus, "split": training.part.split,
        "negatives": training.kind, "accuracy": float(np.mean(values)), "spread": spread(values), "accuracies": values,
        "paper": published.value if (published := paper(training)) else None}
        for training, values in accuracies.items()]}, failures=failures)


def spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(set(values)) > 1 else 0.0


def paper(training: Training) -> PrintedNumber | None:
    return Tables.of("dynaeval").first(
        table="Table 2", metric=PRINTED[training.metric.card.name], dataset=training.part.printed,
        quality=STRATEGIES[training.kind])


def _percent(values: Sequence[float]) -> str:
    return f"{100 * float(np.mean(values)):.2f}" + (f" ± {100 * spread(values):.2f}" if spread(values) else "")


def _quoted(published: PrintedNumber | None) -> str:
    """Format a published accuracy in per cent, with the standard deviation over seeds that its note states."""
    deviation = re.search(r"std ([\d.]+)", published.note) if published else None
    return (f"{100 * published.value:.2f}" if published else "") + (
        f" ± {100 * float(deviation[1]):.2f}" if deviation else "")


def _table(accuracies: Mapping[Training, Sequence[float]]) -> Grid:
    columns = list(dict.fromkeys((training.part, training.kind) for training in accuracies))
    texts = {(training.label, training.part, training.kind): (
        _percent(values), _quoted(paper(training))) for training, values in accuracies.items()}
    rows = tuple((label, *(text for column in columns for text in texts.get((label, *column), ("", ""))))
                 for label in dict.fromkeys(training.label for training in accuracies))
    return Grid("discrimination", "Dialogues scored above a perturbed version, in per cent",
                ("system", *(text for part, kind in columns for text in (f"{part.title} {kind.upper()}", "paper"))),
                rows, ", ".join(dict.fromkeys(f"{part.title} {part.split}" for part, _ in columns)))


def _remarks(absent: Sequence[str]) -> Iterator[str]:
    yield ("UR: one utterance is replaced by one of another dialogue; SS: one speaker's utterances are reordered. "
           "Each dialogue has twenty perturbed versions, the same for all systems; a tie counts half. ± is the "
           f"standard deviation over {SEEDS} seeds of the training run, or of random scores.")
    yield ("For ConvAI2, the validation part is used, as in the paper; systems are trained on the dialogues in the "
           "file of PersonaChat (17,878 in the paper). Evaluation dialogues are not used for training.")
    if absent:
        yield f"Not available and left out: {', '.join(absent)} (`harness fetch --corpora`)."
