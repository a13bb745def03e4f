"""The inputs of a training run: a recipe, dialogues and a loss."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Corpus, Dialogue
from benchmarks.errors import nearest
from benchmarks.formats import records
from metrics.errors import BadOption, MetricError
from metrics.models.memory import Vectors
from metrics.models.scorer import find

if TYPE_CHECKING:
    from metrics.models.service import Models

Dialogues: TypeAlias = Sequence[Dialogue]
Split: TypeAlias = tuple[Sequence[Any], Sequence[Any]]
"""Training examples and held-out examples."""
BATCH = 128
"""Batch size of recipes without one."""
HELD_OUT = 20
"""One in this many dialogues is held out, chosen by the digest of its text."""
RECIPES = Path(__file__).with_name("recipes.toml")
LOOP_SETTINGS = ("steps", "epochs", "rate", "warmup", "decay", "every", "patience", "schedule", "clip", "accumulate",
                 "start")
"""Settings that apply to every network."""
POSITIVE_SETTINGS = {"steps", "every", "patience", "accumulate", "batch", "length"}
SHARE_SETTINGS = {"warmup", "masked", "dropout", "token_dropout"}
"""Settings that must be at least 1, and settings from 0 to 1; all others must be at least 0."""
Schedule: TypeAlias = Literal["linear", "constant", "halved"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of an AdamW training run, which keeps the weights with the lowest held-out loss.

    corpora, examples               names of the corpora; settings for building the metric's examples
    encoder, architecture, network  names, and the arguments of the network; `start` names the initial weights
    losses, margin                  see objectives.py; how far the right input should score above the wrong one
    steps or epochs, accumulate     length of the run, epochs taking precedence; batches per step
    rate, warmup, schedule, clip    learning rate, share of warm-up steps, `halved` to halve the rate after each epoch,
                                    maximum norm of the gradient (0: none)
    decay, every, patience          weight decay, steps between evaluations, evaluations without progress before the end
    length, rank, body_rate         of a transformer: tokens; adapter rank, 0 for none; learning rate, 0 for `rate`
    masked, next_sentence           share of words masked and predicted; use BERT's next-sentence head as the classifier
    parts, reads                    networks trained one after another, each with its changes to the recipe; names of
                                    earlier parts whose output a part uses
    options, departures             default options of the metric; None to keep the departures of the card
    """

    corpora: tuple[str, ...]
    steps: int
    rate: float = 1e-3
    warmup: float = 0.06
    decay: float = 0.01
    every: int = 100
    patience: int = 5
    schedule: Schedule = "linear"
    clip: float = 1.0
    encoder: str = ""
    batch: int = 0
    accumulate: int = 1
    epochs: float = 0.0
    length: int = 128
    rank: int = 0
    margin: float = 0.0
    body_rate: float = 0.0
    checkpointing: bool = False
    start: str = ""
    architecture: str = ""
    losses: tuple[str, ...] = ("contrast",)
    masked: float = 0.0
    next_sentence: bool = False
    network: Mapping[str, Any] = field(default_factory=dict)
    examples: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    departures: tuple[str, ...] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that affect the weights, by name."""
        return {row.name: getattr(self, row.name) for row in dataclasses.fields(self) if row.name != "departures"}

    def of_part(self, part: str) -> Recipe:
        return dataclasses.replace(self, **self.parts[part]) if part else self

    def over(self, rows: int) -> Recipe:
        """Return the recipe with epochs converted to steps for `rows` examples; if `halved`, steps to epochs."""
        halved, batch = self.schedule == "halved", (self.batch or BATCH) * self.accumulate
        if not rows and (self.epochs or halved):
            setting = f"epochs={self.epochs:g}" if self.epochs else "schedule=halved"
            raise MetricError(f"{setting}: this metric trains on random batches without epochs; set steps"
                              + " and another schedule" * halved)
        if not self.epochs:
            return dataclasses.replace(self, epochs=self.steps * batch / rows) if halved else self
        return dataclasses.replace(self, steps=max(1, round(self.epochs * rows / batch)))

    @property
    def adjustable(self) -> dict[str, Any]:
        """The settings that affect this training run and that `--set` can change, with their values.

        Without an architecture, these are the settings that the recipe gives, since the metric's own code uses them.
        """
        values, default = {**self.settings, **self.network}, Recipe((), 1)
        if self.architecture:
            used = {"architecture", *find(self.architecture).settings}
            used -= set() if "contrast" in self.losses else {"margin"}
        else:
            used = {name for name in ("batch", "length", "rank", "margin", "body_rate")
                    if values[name] != getattr(default, name)}
        return {name: values[name] for name in values if name in {*LOOP_SETTINGS, *self.network, *used}}

    def with_settings(self, settings: Iterable[str], part: str = "") -> Recipe:
        """Return the recipe, or a part's, with settings such as `rate=2e-5` and arguments of the network.

        Steps replace epochs. A part ignores the settings that only other parts use.
        """
        recipe = self.of_part(part)
        for setting in settings:
            name, equals, value = setting.partition("=")
            adjustable = recipe.adjustable
            if equals and name not in adjustable and any(
                    name in self.of_part(other).adjustable for other in self.parts):
                continue
            if not equals or name not in adjustable:
                unused = name in recipe.settings.keys() - adjustable
                problem = "has no effect on this training run" if unused else "unknown setting"
                raise BadOption(f"--set {setting}: {problem}; {nearest(name, adjustable)}")
            kind = type({**Recipe((), 1).settings, **recipe.network}[name])
            try:
                parsed = {"true": True, "false": False}[value] if kind is bool else kind(value)
            except (KeyError, ValueError):
                raise BadOption(f"--set {setting}: expected a value as in {name}={adjustable[name]}") from None
            recipe._check(name, parsed, kind)
            changes: dict[str, Any] = {"network": {**recipe.network, name: parsed}} if name in recipe.network else {
                name: parsed, **({"epochs": 0.0} if name == "steps" else {})}
            recipe = dataclasses.replace(recipe, **changes)
        return recipe

    def _check(self, name: str, value: Any, kind: type) -> None:
        """Raise BadOption if a value is not one of the setting's choices, or out of range."""
        hint: Any = Schedule if name == "schedule" else kind
        if name in self.network and self.architecture:
            for base in reversed(find(self.architecture).__mro__):
                hint = typing.get_type_hints(base.__init__).get(name, hint)  # type: ignore[misc]
        with records.refused_as(BadOption):
            records.value_of(hint, value, f"--set {name}")
        if kind in (int, float):
            valid = min(max(value, int(name in POSITIVE_SETTINGS)), 1 if name in SHARE_SETTINGS else math.inf)
            if value != valid:
                raise BadOption(f"--set {name}={value}: must be at {'least' if value < valid else 'most'} {valid:g}")


def recipes_of(trainable: str) -> dict[str, Recipe]:
    """Return the recipes in recipes.toml of a metric or model of this project, by name."""
    return {name: records.value_of(Recipe, table, f"{RECIPES.name}, {trainable}.{name}")
            for name, table in _tables()[trainable].items()}


@functools.cache
def _tables() -> dict[str, Any]:
    return records.toml(RECIPES.name, RECIPES.read_bytes())


@dataclass(frozen=True, slots=True)
class Objective:
    """A loss to minimise: an untrained network, built as `type(network)(**config)`, its batches and a batch's loss.

    A batch is a tensor, or a tuple, list or dict of tensors. Only parameters that require a gradient are saved.
    `notes`, such as accuracies, go into the checkpoint's card; `rows` is the number of examples in an epoch.
    """

    network: Any
    config: Mapping[str, Any]
    draw: Callable[[np.random.Generator], Any]
    held_out: Sequence[Any]
    loss: Callable[[Any, Any], Any]
    notes: Callable[[Any], Mapping[str, float | int | str]] = lambda network: {}
    rows: int = 0

    def __add__(self, other: Objective) -> Objective:
        """Return the sum of two objectives for the same network."""
        return Objective(
            self.network, self.config, lambda rng: (self.draw(rng), other.draw(rng)),
            list(zip(self.held_out, other.held_out, strict=True)),
            lambda network, batch: self.loss(network, batch[0]) + other.loss(network, batch[1]),
            lambda network: {**self.notes(network), **other.notes(network)}, max(self.rows, other.rows))


@dataclass
class TrainingData:
    """The inputs of a training run.

    `notes` on the examples go into the checkpoint's card. `frozen` is True once vectors of the frozen encoder are used:
    only a head on them is trained. `untrained` is the network before training (tuned.py).
    """

    corpora: Mapping[str, Corpus]
    models: Models
    seed: int
    encoder: str = ""
    read: Callable[[Sequence[str]], Vectors] | None = None
    recipe: Recipe = Recipe((), 1)
    part: str = ""
    notes: dict[str, float] = field(default_factory=dict)
    frozen: bool = False
    untrained: Any = None

    @property
    def rng(self) -> np.random.Generator:
        """A new generator for preparing the training run, always in the same initial state."""
        return np.random.default_rng(self.seed)

    def dialogues(self, *names: str, held_out: bool = False) -> list[Dialogue]:
        """Return the training (or held-out) dialogues of the named corpora, by default of all."""
        if unknown := set(names) - set(self.corpora):
            raise MetricError(f"this metric is trained on {', '.join(unknown)}, which is not among the corpora: "
                              f"{', '.join(self.corpora) or 'none'}")
        return [dialogue for name in names or self.corpora for dialogue in self.corpora[name].dialogues
                if _is_held_out(dialogue) == held_out]

    def held_out(self, *names: str) -> list[Dialogue]:
        return self.dialogues(*names, held_out=True)

    def split(self, examples: Callable[..., Sequence[Any]], *settings: tuple[Any, Any]) -> Split:
        """Build training and held-out examples; each setting is a pair of values, one for each set."""
        training, held_out = map(examples, (self.dialogues(), self.held_out()), *settings)
        return training, held_out

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the concatenated mean and maximum of each text's token states: (texts, 2 · width), float16."""
        self.frozen = True
        if self.read is not None:
            return self.read(texts)
        return self.models.encoder(self.encoder).means_and_maxima(texts).astype(np.float16)

    def means(self, texts: Sequence[str]) -> Vectors:
        """Return the mean of each text's token states: (texts, width), float16."""
        vectors = self.vectors(texts)
        return vectors[:, : vectors.shape[1] // 2]


def _is_held_out(dialogue: Dialogue) -> bool:
    words = "\n".join(turn.text for turn in dialogue.utterances).encode(errors="replace")
    return int.from_bytes(hashlib.sha256(words).digest()[:4]) % HELD_OUT == 0


def check_split(kind: str, training: Sized, held_out: Sized, remedy: str = "larger corpora") -> None:
    """Raise MetricError if there are no training or no held-out examples."""
    if not len(training) or not len(held_out):
        raise MetricError(f"the corpora have {len(training)} {kind} to train on and {len(held_out)} held out; use "
                          f"{remedy}")
