"""Train a metric or shared model: a request becomes a plan, and the plan a checkpoint with its card.

On a CPU, the same plan always gives the same weights, so a checkpoint with the plan's fingerprint on its card is not
trained again. An interrupted training run leaves its state in HOME/training, under that fingerprint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import json
import math
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import harness
from benchmarks.corpora.corpora import Corpus
from harness.errors import BadConfig
from harness.run.environment import commit, packages
from harness.run.settings import command_line
from harness.scoring.progress import LINE_SECONDS, LIVE_SECONDS, duration
from metrics import registry
from metrics.errors import MetricError, MissingResource
from metrics.metric import Dependent
from metrics.models import checkpoint, networks
from metrics.models.batches import out_of_memory
from metrics.models.checkpoint import Checkpoint, Evaluation
from metrics.models.device import single_threaded
from metrics.models.service import Choice, Models
from metrics.training import trainables
from metrics.training.recipe import Objective, Recipe, TrainingData
from metrics.training.trainables import Learner

if TYPE_CHECKING:
    from metrics.training.loop import Fitted

PACKAGES = ("numpy", "torch", "transformers")
"""Packages whose versions a card records."""


@dataclass(frozen=True, slots=True)
class Request:
    """The flags of `harness train`."""

    encoder: str = ""
    lm: str = ""
    corpora: tuple[str, ...] = ()
    device: str = "auto"
    precision: str = "auto"
    seed: int = 0
    steps: int | None = None
    offline: bool = False
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Training:
    """The inputs that determine the weights of a training run, and the folder of the weights."""

    learner: Learner
    recipe: Recipe
    corpora: Mapping[str, Corpus]
    models: Models
    seed: int
    encoder: str
    folder: Path
    command: str

    @property
    def encoder_name(self) -> str:
        """The name of the metric's encoder; empty for the encoder of the run."""
        return self.learner.trainable.encoder or ""

    @functools.cached_property
    def fingerprint(self) -> str:
        module, machine = inspect.getmodule(type(self.learner.trainable)), self.models.machine
        parts = [self.learner.label, self.encoder.rpartition("@")[2], self.models.choice.lm, self.seed,
                 self.recipe.settings, f"{machine.kind} {machine.precision}",
                 [f"{corpus.digest} {_digest(dialogue.id for dialogue in corpus.dialogues)}"
                  for corpus in self.corpora.values()], self.weights_read,
                 inspect.getsource(module) if module else ""]
        return _digest([json.dumps(parts)])

    @functools.cached_property
    def weights_read(self) -> dict[str, str]:
        """The identities of other weights, word vectors and resources that training uses, by name."""
        trainable = self.learner.trainable
        resources = trainable.depends(self.models) if isinstance(trainable, Dependent) else {}
        names = filter(None, (*self.learner.required_checkpoints, self.recipe.start))
        return {**resources, **{name: self.models.checkpoint(name, self.encoder and self.encoder_name).identity
                                for name in names}}

    @property
    def state(self) -> Path:
        """The state file of an interrupted training run, one per process."""
        rank = f"-{os.environ['RANK']}" if os.environ.get("RANK", "0") != "0" else ""
        return self.models.home / "training" / f"{self.learner.checkpoint_name}-{self.fingerprint[:16]}{rank}.state"

    def existing(self, eight_bits: bool = False) -> Checkpoint | None:
        """Return the checkpoint of an earlier, completed run of the same plan; the main process decides."""
        from metrics.training.loop import accelerator, from_main_process

        existing = None
        with contextlib.suppress(MissingResource):
            saved = checkpoint.read(self.learner.checkpoint_name, self.folder)
            made = {"complete": True, "fingerprint": self.fingerprint, "eight_bits": eight_bits}
            existing = saved if made.items() <= saved.card.items() and not self.state.exists() else None
        return from_main_process(accelerator(self.models.machine), existing)


def plan(name: str, request: Request, home: Path, load: Callable[[str], Corpus], out: Path | None = None,
         part: str = "", trained: Mapping[str, Path] = MappingProxyType({})) -> Training:
    """Turn a request into a plan; raise MissingResource if a corpus or model is missing.

    `trained` has the folders of other parts that the same command has trained into `out`.
    """
    learner = trainables.choose(name, part)
    recipe = learner.trainable.training.with_settings(request.settings, part)
    requested = request.corpora or recipe.corpora
    corpora = {corpus.card.name: corpus for corpus in map(load, requested)}
    if len(corpora) < len(requested):
        raise BadConfig(f"two corpora have the same name: {', '.join(corpora)}")
    recipe = dataclasses.replace(recipe, corpora=tuple(corpora), steps=request.steps or recipe.steps,
                                 epochs=0.0 if request.steps else recipe.epochs)
    models = Models(home, Choice(encoder=request.encoder, lm=request.lm, device=request.device,
                                 precision=request.precision, download=not request.offline), folders=trained)
    encoder = "" if learner.trainable.encoder is None else models.encoder(learner.trainable.encoder).weights.identity
    folder = out or checkpoint.user_folder(learner.checkpoint_name, encoder, home)
    checkpoint.check_replaceable(folder)
    flags = {{"corpora": "corpus", "settings": "set"}.get(field.name, field.name): value
             for field in dataclasses.fields(request) if (value := getattr(request, field.name)) != field.default}
    command = command_line("train", registry.without_folders(name), flags=flags)
    training = Training(learner, recipe, corpora, models, request.seed, encoder, folder, command)
    training.weights_read  # noqa: B018 - raises if one of them is missing
    return training


def train(plan: Training, log: Callable[[str], None], fresh: bool = False, eight_bits: bool = False,
          minutes: float | None = None) -> Checkpoint:
    """Train and save the checkpoint, resuming an interrupted run unless `fresh`.

    A run that stops after `minutes` keeps its state and can be resumed later.
    """
    from metrics.training.loop import accelerator

    start, label, processes = time.perf_counter(), plan.learner.label, accelerator(plan.models.machine)
    if fresh:
        plan.state.unlink(missing_ok=True)
    count = sum(len(corpus.dialogues) for corpus in plan.corpora.values())
    left_out = sum((Counter(corpus.left_out) for corpus in plan.corpora.values()), Counter[str]())
    log("; ".join((f"{label}: preparing {count:,} dialogues of {', '.join(plan.corpora)}",
                   *(f"{dialogues:,} left out, {reason}" for reason, dialogues in left_out.items()))))
    data = TrainingData(plan.corpora, plan.models, plan.seed, plan.encoder_name, _cached_vectors(plan, log),
                        plan.recipe, plan.learner.part)
    while True:
        try:
            objective, fitted, preparation_seconds = _fitted(plan, data, log, start, minutes)
            break
        except (MemoryError, RuntimeError) as error:
            batch, accumulate = data.recipe.batch // 2, 2 * data.recipe.accumulate
            if not out_of_memory(error) or batch < 2:
                raise
            if processes is not None:  # the other processes would keep the old batch size
                raise MetricError(f"{label}: a batch does not fit into memory; --set batch={batch} "
                                  f"--set accumulate={accumulate}") from error
            data = dataclasses.replace(data, untrained=None, recipe=dataclasses.replace(
                data.recipe, batch=batch, accumulate=accumulate))
            log(f"{label}: a batch does not fit into memory; restarting with {accumulate} batches of {batch} per step")
    card = _card(plan, data, objective, fitted) | {
        "preparation_seconds": round(preparation_seconds, 1), "eight_bits": eight_bits}
    if processes is None or processes.is_main_process:
        architecture = {"architecture": data.recipe.architecture} if data.recipe.architecture else {}
        config = {**architecture, "network": dict(objective.config), "encoder": {
            "name": plan.encoder.rpartition("@")[0], "identity": plan.encoder} if plan.encoder else None}
        checkpoint.save(plan.folder, fitted.weights, config, card, eight_bits)
    if processes is not None:
        processes.wait_for_everyone()
    if fitted.done:
        plan.state.unlink(missing_ok=True)
    return checkpoint.read(plan.learner.checkpoint_name, plan.folder)


def _fitted(plan: Training, data: TrainingData, log: Callable[[str], None], start: float,
            minutes: float | None) -> tuple[Objective, Fitted, float]:
    """Return the objective, the fitted weights, and the seconds of preparation."""
    from tqdm import tqdm

    from metrics.training.loop import accelerator, fit, seeded

    machine, label = plan.models.machine, plan.learner.label
    with seeded(plan.seed, machine):
        objective = plan.learner.trainable.objective(data)
    if plan.learner.trainable.encoder is None and any(kind == "encoder" for kind, _ in plan.models.requested):
        raise MetricError(f"{label} uses an encoder but has no option for it: add the field encoder: str = '' to its "
                          "class")  # otherwise the config of the weights would not record the encoder
    processes = accelerator(machine)
    recipe = data.recipe.over(math.ceil(objective.rows / (processes.num_processes if processes else 1)))
    if recipe.start:
        networks.initialise(objective.network, plan.models.checkpoint(recipe.start, plan.encoder_name))
    preparation_seconds = time.perf_counter() - start
    if plan.state.exists():
        log(f"{label}: resuming an interrupted training run")

    def report(evaluation: Evaluation) -> None:
        log(f"{label}: step {evaluation.step} of {recipe.steps}, loss {evaluation.loss:.4f}, "
            f"validation loss {evaluation.held_out:.4f}")

    until = math.inf if minutes is None else time.monotonic() + 60 * minutes
    threads = single_threaded() if data.frozen else contextlib.nullcontext()
    interval = LIVE_SECONDS if sys.stderr.isatty() else LINE_SECONDS
    with tqdm(total=recipe.steps, desc=label, unit=" steps", leave=False, mininterval=interval) as bar, threads:
        fitted = fit(objective, recipe, machine, plan.seed, plan.state, report, lambda step: bar.update(step - bar.n),
                     until)
    return objective, fitted, preparation_seconds


def _cached_vectors(plan: Training, log: Callable[[str], None]) -> Any:
    """Return a function that encodes texts and caches their vectors on disk; it loads the encoder on first use."""
    from metrics.models.text_table import PooledVectors

    def report(done: int, total: int, seconds: float) -> None:
        log(f"{plan.learner.label}: {done:,} of {total:,} texts encoded, about "
            f"{duration((total - done) * seconds / done)} left")

    vectors = functools.cache(lambda: PooledVectors(
        plan.models.home / "training", plan.models.encoder(plan.encoder_name), report))
    return lambda texts: vectors()(texts)


def _card(plan: Training, data: TrainingData, objective: Objective, fitted: Fitted) -> dict[str, Any]:
    machine, versions = plan.models.machine, packages()
    device = f"{machine.devices[0]}, {platform.machine()}"
    if machine.devices[0].startswith("cuda"):
        import torch

        device = str(torch.cuda.get_device_name(machine.devices[0]))
    return {
        "name": plan.learner.checkpoint_name, "trained": plan.learner.label, "command": plan.command, "seed": plan.seed,
        "recipe": data.recipe.settings, "steps": fitted.steps, "complete": fitted.done, "best_step": fitted.best.step,
        "held_out": round(fitted.best.held_out, 6), "told": dict(objective.notes(objective.network)),
        "corpora": [{
            "name": name, "title": corpus.card.title, "digest": corpus.digest, "licence": corpus.card.licence,
            "citation": corpus.card.citation, "training": len(data.dialogues(name)),
            "held_out": len(data.held_out(name)), "left_out": dict(corpus.left_out)}
            for name, corpus in plan.corpora.items()],
        "weights_read": plan.weights_read,
        "device": device, "precision": machine.precision, "seconds": round(fitted.seconds, 1),
        "curve": [[row.step, round(row.loss, 6), round(row.held_out, 6)] for row in fitted.curve],
        "version": harness.__version__, "commit": commit(), "python": platform.python_version(),
        "packages": {name: versions[name] for name in PACKAGES if name in versions}, "fingerprint": plan.fingerprint,
    }


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="replace")).hexdigest()


def say(line: str) -> None:
    """Print a line above the progress bar."""
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)
