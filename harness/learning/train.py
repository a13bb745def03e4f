"""Training one metric or shared model: a request becomes a plan, a plan becomes a checkpoint with its card.

The same plan trained twice gives the same weights on the processor, so a checkpoint whose card bears the plan's
fingerprint is not trained again. A training that was cut has left its state in HOME/training, under that fingerprint.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
from benchmarks.corpora.corpora import Corpus
from harness.errors import BadConfig
from harness.run.environment import commit, packages
from harness.run.settings import command_line
from harness.scoring.progress import EVERY, duration, repeated
from metrics import registry
from metrics.errors import MetricError, MissingResource
from metrics.models import checkpoint, networks
from metrics.models.batches import out_of_memory
from metrics.models.checkpoint import Checkpoint
from metrics.models.device import on_one_core
from metrics.models.reading import READING
from metrics.models.service import Choice, Models
from metrics.training import trainables
from metrics.training.loop import Fitted, fit, randomness, together
from metrics.training.recipe import Objective, Recipe, TrainingData
from metrics.training.trainables import Learner

SHOWN = ("numpy", "torch", "transformers")
"""Packages whose versions a card records."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request of `harness train`."""

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
    """A definite training: everything that decides its weights, and their folder."""

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
        """The name of the encoder, empty for the one of the run."""
        return self.learner.trainable.encoder or ""

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return the digest of everything that decides the weights; the source is read once."""
        module = inspect.getmodule(type(self.learner.trainable))
        parts = [self.learner.label, self.encoder.rpartition("@")[2], self.models.choice.lm, self.seed,
                 self.recipe.settings, str(self.models.machine),
                 [f"{corpus.digest} {_digest(dialogue.id for dialogue in corpus.dialogues)}"
                  for corpus in self.corpora.values()], self.others,
                 inspect.getsource(module) if module else ""]
        return _digest([json.dumps(parts)])

    @functools.cached_property
    def others(self) -> dict[str, str]:
        """Return other weights that it reads, by name, such as the masked language model."""
        return {name: self.models.checkpoint(name, self.encoder and self.encoder_name).identity
                for name in (*self.learner.reads, *filter(None, [self.recipe.start]))}

    @property
    def state(self) -> Path:
        """Return the state file of an interrupted training; one for each process."""
        rank = f"-{os.environ['RANK']}" if os.environ.get("RANK", "0") != "0" else ""
        return self.models.home / "training" / f"{self.learner.weights}-{self.fingerprint[:16]}{rank}.state"

    def there(self) -> Checkpoint | None:
        """Return the checkpoint that the same plan has made before."""
        try:
            existing = checkpoint.read(self.learner.weights, self.folder)
        except MissingResource:
            return None
        whole = existing.card.get("fingerprint") == self.fingerprint and not self.state.exists()
        return existing if whole else None


@dataclass(slots=True)
class Pace:
    """The progress of a training: time of preparation, then speed of steps."""

    label: str
    steps: int
    start: float = field(default_factory=time.monotonic)
    tokens: int = field(default_factory=lambda: READING.tokens)
    first: int = 0
    step: int = 0
    trained: int = 0

    def stepped(self, step: int) -> None:
        if not self.step:
            self.first, self.start, self.trained = step, time.monotonic(), READING.trained
        self.step = step

    def line(self) -> str:
        took = time.monotonic() - self.start
        if self.step > self.first:
            speed, read = (self.step - self.first) / took, READING.trained - self.trained
            return (f"{self.label}: step {self.step} of {self.steps}, {speed:.3g} steps/s, "
                    + (f"{read / took:,.0f} tokens/s, " if read else "")
                    + f"at most {duration((self.steps - self.step) / speed)} left")
        read = READING.tokens - self.tokens
        return (f"{self.label}: being prepared for {duration(took)}"
                + (f", {read:,} tokens read, {read / took:,.0f} tokens/s" if read else ""))


def plan(name: str, request: Request, home: Path, load: Callable[[str], Corpus], out: Path | None = None,
         part: str = "") -> Training:
    """Turn a request into a plan; MissingResource names a missing corpus or model."""
    learner = trainables.choose(name, part)
    recipe = learner.trainable.training.with_settings(request.settings).of_part(part)
    recipe = dataclasses.replace(recipe, corpora=request.corpora or recipe.corpora, steps=request.steps or recipe.steps,
                                 epochs=0.0 if request.steps else recipe.epochs)
    corpora = [load(name) for name in recipe.corpora]
    if len({corpus.card.name for corpus in corpora}) < len(corpora):
        raise BadConfig(f"two corpora have one name: {', '.join(corpus.card.name for corpus in corpora)}")
    recipe = dataclasses.replace(recipe, corpora=tuple(corpus.card.name for corpus in corpora))
    models = Models(home, Choice(encoder=request.encoder, lm=request.lm, device=request.device,
                                 precision=request.precision, download=not request.offline))
    encoder = "" if learner.trainable.encoder is None else models.encoder(learner.trainable.encoder).weights.identity
    folder = out or checkpoint.place(learner.weights, encoder, home)
    checkpoint.check_place(folder)
    training = Training(learner, recipe, {corpus.card.name: corpus for corpus in corpora}, models, request.seed,
                        encoder, folder, _command(name, request))
    training.others  # noqa: B018 - an error where one of them is not here
    return training


def train(plan: Training, tell: Callable[[str], None], fresh: bool = False, eight_bits: bool = False,
          minutes: float | None = None) -> Checkpoint:
    """Train and write the checkpoint; resume an interrupted training unless a fresh one is requested.

    One that ends after some `minutes` keeps its state, so that the same plan can go on later.
    """
    if fresh:
        plan.state.unlink(missing_ok=True)
    start = time.perf_counter()
    many = sum(len(corpus.dialogues) for corpus in plan.corpora.values())
    left_out = sum((Counter(corpus.left_out) for corpus in plan.corpora.values()), Counter[str]())
    tell("; ".join((f"{plan.learner.label}: {many:,} dialogues of {', '.join(plan.corpora)}, being prepared",
                    *(f"{some:,} left out, {reason}" for reason, some in left_out.items()))))
    data = TrainingData(plan.corpora, plan.models, plan.seed, plan.encoder_name, _reader(plan, tell),
                        plan.recipe, plan.learner.part)
    while True:
        try:
            objective, fitted, prepared = _fitted(plan, data, tell, start, minutes)
            break
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error) or data.recipe.batch < 4:
                raise
            if together(plan.models.machine) is not None:  # the others would go on with another batch
                raise MetricError(f"{plan.learner.label}: a batch does not fit into memory; --set batch="
                                  f"{data.recipe.batch // 2} --set accumulate={2 * data.recipe.accumulate}") from error
            data = dataclasses.replace(data, built=None, recipe=dataclasses.replace(
                data.recipe, batch=data.recipe.batch // 2, accumulate=2 * data.recipe.accumulate))
            tell(f"{plan.learner.label}: a batch does not fit into memory; begins anew with {data.recipe.batch} rows, "
                 f"{data.recipe.accumulate} times a step")
    card = _card(plan, data, objective, fitted) | {"preparation_seconds": round(prepared, 1)}
    if (all_ := together(plan.models.machine)) is not None and not all_.is_main_process:
        all_.wait_for_everyone()
        return checkpoint.read(plan.learner.weights, plan.folder)
    named = {"architecture": data.recipe.architecture} if data.recipe.architecture else {}
    config = {**named, "network": dict(objective.config), "encoder": {
        "name": plan.encoder.rpartition("@")[0], "identity": plan.encoder} if plan.encoder else None}
    saved = checkpoint.save(plan.folder, fitted.weights, config, card, eight_bits)
    if fitted.done:
        plan.state.unlink(missing_ok=True)
    if all_ is not None:
        all_.wait_for_everyone()
    return saved


def _fitted(plan: Training, data: TrainingData, tell: Callable[[str], None],
            start: float, minutes: float | None) -> tuple[Objective, Fitted, float]:
    """Return the objective, what was fitted, and the seconds of preparation."""
    machine, label = plan.models.machine, plan.learner.label
    pace = Pace(label, data.recipe.steps)
    with randomness(plan.seed, machine), repeated(lambda: tell(pace.line()), EVERY):
        objective = plan.learner.trainable.objective(data)
    if plan.learner.trainable.encoder is None and any(kind == "encoder" for kind, _ in plan.models.requested):
        raise MetricError(f"{label} reads an encoder and has no option for it: let its class have the "
                          "field encoder: str = ''")  # or the weights' config would not tell of it
    all_ = together(machine)
    recipe = data.recipe.over(-(-objective.rows // (all_.num_processes if all_ else 1)))
    if recipe.start:
        networks.begin(objective.network, plan.models.checkpoint(recipe.start, plan.encoder_name))
    prepared, pace.steps = time.perf_counter() - start, recipe.steps
    if plan.state.exists():
        tell(f"{label}: goes on where it was cut")
    with repeated(lambda: tell(pace.line()), EVERY), on_one_core() if data.frozen else contextlib.nullcontext():
        fitted = fit(objective, recipe, machine, plan.seed, plan.state,
                     lambda look: tell(f"{label}: step {look.step} of {recipe.steps}, loss "
                                       f"{look.loss:.4f}, held out {look.held_out:.4f}"), pace.stepped,
                     math.inf if minutes is None else time.monotonic() + 60 * minutes)
    return objective, fitted, prepared


def _reader(plan: Training, tell: Callable[[str], None]) -> Any:
    """Return the reader of texts, which keeps their vectors on disk; the encoder is loaded with the first text."""
    from metrics.models.cache import PooledVectors

    def report(done: int, total: int, seconds: float) -> None:
        tell(f"{plan.learner.label}: {done:,} of {total:,} texts read, about "
             f"{duration((total - done) * seconds / done)} left")

    vectors = functools.cache(lambda: PooledVectors(
        plan.models.home / "training", plan.models.encoder(plan.encoder_name), report))
    return lambda texts: vectors()(texts)


def _card(plan: Training, data: TrainingData, objective: Objective, fitted: Fitted) -> dict[str, Any]:
    """Return the card of the weights."""
    machine, versions = plan.models.machine, packages()
    device = f"{machine.devices[0]}, {platform.machine()}"
    if machine.devices[0].startswith("cuda"):
        import torch

        device = str(torch.cuda.get_device_name(machine.devices[0]))
    return {
        "name": plan.learner.weights, "trained": plan.learner.label, "command": plan.command, "seed": plan.seed,
        "recipe": data.recipe.settings, "steps": fitted.steps, "best_step": fitted.step,
        "held_out": round(fitted.held_out, 6), "told": dict(objective.notes(objective.network)),
        "corpora": [{
            "name": name, "title": corpus.card.title, "digest": corpus.digest, "licence": corpus.card.licence,
            "citation": corpus.card.citation, "training": len(data.dialogues(name)),
            "held_out": len(data.held_out(name)), "left_out": dict(corpus.left_out)}
            for name, corpus in plan.corpora.items()],
        "weights_read": plan.others,
        "device": device, "precision": machine.precision, "seconds": round(fitted.seconds, 1),
        "curve": [[look.step, round(look.loss, 6), round(look.held_out, 6)] for look in fitted.curve],
        "version": harness.__version__, "commit": commit(), "python": platform.python_version(),
        "packages": {name: versions[name] for name in SHOWN if name in versions}, "fingerprint": plan.fingerprint,
    }


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="replace")).hexdigest()


def _command(name: str, request: Request) -> str:
    flags = {{"corpora": "corpus", "settings": "set"}.get(field.name, field.name): value
             for field in dataclasses.fields(request) if (value := getattr(request, field.name)) != field.default}
    return command_line("train", registry.without_folders(name), flags=flags)


def say(line: str) -> None:
    """Print the progress of a training to stderr."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
