"""What training is made of: a recipe, the data, an objective; `harness train` brings them together.

    metric.recipes                  by name: which corpora, how many steps, at which rate, on which encoder
    metric.objective(data)          -> Objective: network, batches, loss           in the metric's own file
    fit(objective, recipe, ...)     -> the best weights and the curve              metrics/training/loop.py
    checkpoint.save(folder, ...)    -> model.safetensors, config.json, card.json   metrics/models/checkpoint.py

A metric reads its trained network as `models.trained(NAME, Network, self.encoder)`; its card names the checkpoint, so
that the digest of the weights is in the signature.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from benchmarks.corpora.corpora import Corpus, Dialogue
from benchmarks.errors import nearest
from metrics.errors import BadOption, MetricError
from metrics.metric import Trained, variant
from metrics.models.memory import Vectors

if TYPE_CHECKING:
    from metrics.models.service import Models

HELD_OUT = 20
"""One dialogue of so many is held out, by the digest of its words."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides how a network is fitted: by AdamW, the best weights by the held-out loss.

    What stands below `patience` is for the recipes of papers. With `epochs` the steps are as many as these take, and
    the schedule can have the rate `halved` after each. `clip` 0 leaves gradients as long as they are. `margin` is by
    how much what is right should score above what is wrong. `rank` is that of the adapters, 0 trains the body itself;
    `body_rate` is the rate of either, 0 for the same as the head's. `start` names the checkpoint whose weights are the
    first; `architecture` names the network, `network` its arguments, `examples` settings of the examples. `masked`
    is the share of words that a transformer also predicts; `next_sentence` initialises its classifier from BERT's.
    `parts` are networks that are trained one after the other, each with a checkpoint of its own, and how their recipes
    differ; `reads` names the parts that one reads.
    """

    corpora: tuple[str, ...]
    steps: int
    rate: float = 1e-3
    warmup: float = 0.06
    decay: float = 0.01
    every: int = 100
    patience: int = 5
    schedule: Literal["linear", "constant", "halved"] = "linear"
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
    masked: float = 0.0
    next_sentence: bool = False
    network: Mapping[str, Any] = field(default_factory=dict)
    examples: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the metric that it has by this recipe, unless others are named."""
    departures: tuple[str, ...] | None = None
    """Where it differs from the paper's system; None where the metric's card says so."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that decide the weights, by name."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(self) if each.name != "departures"}

    def of_part(self, part: str) -> Recipe:
        """Return the recipe of one of its parts."""
        return dataclasses.replace(self, **self.parts[part]) if part else self

    def over(self, rows: int) -> Recipe:
        """Return the recipe with its epochs converted to steps over so many examples."""
        if not self.epochs:
            return self
        if not rows:
            raise MetricError(f"epochs={self.epochs:g}: this training draws at random and has steps alone")
        return dataclasses.replace(self, steps=max(1, round(self.epochs * rows / (self.batch * self.accumulate))))

    def with_settings(self, settings: Iterable[str]) -> Recipe:
        """Return the recipe with settings such as `rate=2e-5` or an argument of the network; steps replace epochs."""
        recipe = self
        for setting in settings:
            name, equals, value = setting.partition("=")
            known = {**recipe.settings, **recipe.network}
            for name_ in ("network", "corpora", "options", "parts", "examples", "reads"):
                known.pop(name_)
            if not equals or name not in known:
                raise BadOption(f"--set {setting}: unknown setting; {nearest(name, known)}")
            try:
                held = _read(value, Recipe((), 1).settings.get(name, known[name]))
            except ValueError:
                raise BadOption(f"--set {setting}: should be like {name}={known[name]}") from None
            changes: dict[str, Any] = {"network": {**recipe.network, name: held}} if name in recipe.network else {
                name: held, **({"epochs": 0.0} if name == "steps" else {})}
            recipe = dataclasses.replace(recipe, **changes)
        return recipe


def _read(value: str, like: Any) -> Any:
    """Return a setting's value in the type of its default."""
    if isinstance(like, bool):
        return {"true": True, "false": False}[value] if value in ("true", "false") else int("")
    return type(like)(value)


def of(trainable: Any) -> Recipe:
    """Return the recipe named by the option `recipe`, else the only one."""
    recipes: Mapping[str, Recipe] = trainable.recipes
    return recipes[getattr(trainable, "recipe", next(iter(recipes)))]


@dataclass(frozen=True, slots=True)
class Objective:
    """A loss to minimise: a fresh network, `type(network)(**config)`, its batches and the loss of a batch.

    A batch is a tensor, or a tuple, list or dict of tensors. Of the network the parameters that require a gradient are
    kept. `notes` go into the checkpoint's card: sizes, accuracies on what is held out, whatever is worth knowing.
    `rows` is how many examples an epoch has.
    """

    network: Any
    config: Mapping[str, Any]
    draw: Callable[[np.random.Generator], Any]
    held_out: Sequence[Any]
    loss: Callable[[Any, Any], Any]
    notes: Callable[[Any], Mapping[str, float | int | str]] = lambda network: {}
    rows: int = 0

    def __add__(self, other: Objective) -> Objective:
        """Return the objective whose loss is the sum of both, of the same network."""
        return Objective(
            self.network, self.config, lambda rng: (self.draw(rng), other.draw(rng)),
            list(zip(self.held_out, other.held_out, strict=True)),
            lambda network, batch: self.loss(network, batch[0]) + other.loss(network, batch[1]),
            lambda network: {**self.notes(network), **other.notes(network)}, max(self.rows, other.rows))


@dataclass
class TrainingData:
    """The inputs of a training: dialogues, their vectors, models, seed, recipe and part."""

    corpora: Mapping[str, Corpus]
    models: Models
    seed: int
    encoder: str = ""
    read: Callable[[Sequence[str]], Vectors] | None = None
    recipe: Recipe = Recipe((), 1)
    part: str = ""
    frozen: bool = False
    """Whether vectors were read, so that what is trained is a head on them."""
    built: Any = None
    _split: dict[str, tuple[list[Dialogue], list[Dialogue]]] = field(default_factory=dict)

    @property
    def rng(self) -> np.random.Generator:
        """Randomness for whatever is prepared before the first step; the same at every call."""
        return np.random.default_rng(self.seed)

    def dialogues(self, *names: str) -> list[Dialogue]:
        """Return the dialogues to train on, of the corpora named, or of all."""
        return [dialogue for name in names or self.corpora for dialogue in self._parts(name)[0]]

    def held_out(self, *names: str) -> list[Dialogue]:
        """Return the held-out dialogues, of the corpora named, or of all."""
        return [dialogue for name in names or self.corpora for dialogue in self._parts(name)[1]]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the mean and the maximum of each text's token states, side by side: (texts, 2 · width), float16.

        What was read of a text is kept on disk, so that all trainings with one encoder read it once.
        """
        self.frozen = True
        if self.read is None:
            encoder = self.models.encoder(self.encoder)
            return np.hstack([encoder.sentences(texts, "mean"), encoder.sentences(texts, "max")]).astype(np.float16)
        return self.read(texts)

    def _parts(self, name: str) -> tuple[list[Dialogue], list[Dialogue]]:
        if name not in self.corpora:
            raise MetricError(f"this training takes the corpus {name}; given are {', '.join(self.corpora) or 'none'}")
        if name not in self._split:
            parts: tuple[list[Dialogue], list[Dialogue]] = ([], [])
            for dialogue in self.corpora[name].dialogues:
                words = "\n".join(utterance.text for utterance in dialogue.utterances).encode(errors="replace")
                held_out = int.from_bytes(hashlib.sha256(words).digest()[:4]) % HELD_OUT == 0
                parts[held_out].append(dialogue)
            self._split[name] = parts
        return self._split[name]


def check_parts(what: str, training: Sized, held_out: Sized, take: str = "larger ones") -> None:
    """Raise MetricError for data with nothing to train on, or nothing held out."""
    if not len(training) or not len(held_out):
        raise MetricError(f"the corpora have {len(training)} {what} to train on and {len(held_out)} held out; take "
                          f"{take}")


class Trainable(Trained):
    """Base class of metrics, and of models that metrics share, whose weights are trained.

    `variants` are the options whose weights are shipped beside those of the defaults.
    """

    __slots__ = ()
    recipes: ClassVar[Mapping[str, Recipe]]
    variants: ClassVar[tuple[str, ...]] = ()
    recipe: str

    @classmethod
    def implied(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return cls.recipes[values["recipe"]].options if "recipe" in values else {}

    @classmethod
    def for_options(cls, values: dict[str, Any]) -> Any:
        """Return the class with the card of the recipe; add the recipe's encoder and options to `values`."""
        if "recipe" not in values:
            return cls
        recipe = cls.recipes[values["recipe"]]
        if not values.get("encoder") and recipe.encoder:
            values["encoder"] = recipe.encoder
        values |= {name: value for name, value in recipe.options.items() if name not in values}
        if recipe.departures is None:
            return cls
        expected = {**({"encoder": recipe.encoder} if recipe.encoder else {}), **recipe.options}
        changed = tuple(f"{name.capitalize()} {values.get(name) or 'of the run'} in place of {value}."
                        for name, value in expected.items() if values.get(name, "") != value)
        departures, card = (*changed, *recipe.departures), cls.card
        trained = len(next(iter(cls.recipes.values())).parts) or 1
        weights = ["-".join(filter(None, (card.name, values["recipe"], part))) for part in recipe.parts or ("",)]
        return variant(cls, card=dataclasses.replace(
            card, system="same method, smaller model" if departures else "as published", departures=departures,
            trained_on=", ".join(recipe.corpora), checkpoints=(*weights, *card.checkpoints[trained:])))

    def named(self, *changes: str) -> str:
        """Return the name of the checkpoint with these changes, after the recipe unless that is the first."""
        recipe = self.recipe if self.recipe != next(iter(self.recipes)) else ""
        return "-".join(filter(None, (self.card.name, recipe, *changes)))

    def objective(self, data: TrainingData) -> Objective:
        """Prepare the network and its batches."""
        raise NotImplementedError
