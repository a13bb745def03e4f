"""The base class of trainable metrics, with the methods that `harness train` calls.

    metric.recipes                  by name: corpora, hyper-parameters, architecture, encoder
    metric.examples(data)           -> training and held-out examples
    metric.objective(data)          -> Objective: network, batches, loss           the recipe's losses on the examples
    fit(objective, recipe, ...)     -> the best weights and the curve              metrics/training/loop.py
    checkpoint.save(folder, ...)    -> model.safetensors, config.json, card.json   metrics/models/checkpoint.py

A metric scores with `self.scorer(models)`, by default by the probability that the network gives to the response in its
context. Its card names the checkpoint, so the signature contains the digest of the weights.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from metrics.errors import MissingResource
from metrics.metric import Columns, Dependent, Trained, variant
from metrics.models.checkpoint import command
from metrics.models.tokens import pairs
from metrics.training.data import Dialogues, Objective, Recipe, Split, TrainingData, check_split, recipes_of
from metrics.training.examples import response_contrasts

if TYPE_CHECKING:
    from benchmarks.dataset import Item
    from metrics.models.scorer import Scorer
    from metrics.models.service import Models

__all__ = ["Dialogues", "Objective", "Recipe", "Split", "Trainable", "TrainingData", "check_split", "recipes_of"]


class Trainable(Trained):
    """Base class of trainable metrics, and of models that metrics share.

    `variants` lists options for which weights are shipped, in addition to the defaults.
    """

    __slots__ = ()
    recipes: ClassVar[Mapping[str, Recipe]]
    variants: ClassVar[tuple[str, ...]] = ()
    recipe: str = ""

    @property
    def training(self) -> Recipe:
        """The recipe named by the option `recipe`, by default the first."""
        return self.recipes[self.recipe or next(iter(self.recipes))]

    @classmethod
    def for_options(cls, values: dict[str, Any]) -> Any:
        """Return the class with the card and default options of the recipe; add the recipe's encoder to `values`."""
        if "recipe" not in values:
            return cls
        recipe = cls.recipes[values["recipe"]]
        if not values.get("encoder") and recipe.encoder:
            values["encoder"] = recipe.encoder
        if recipe.departures is None:
            return cls
        expected = {**({"encoder": recipe.encoder} if recipe.encoder else {}), **recipe.options}
        changed = [f"{name.capitalize()} {values[name] or 'of the run'} in place of {value}."
                   for name, value in expected.items() if values.get(name, value) != value]
        departures, card = (*changed, *recipe.departures), cls.card
        checkpoint_count = len(next(iter(cls.recipes.values())).parts) or 1
        weights = ["-".join(filter(None, (card.name, values["recipe"], part))) for part in recipe.parts or ("",)]
        card = dataclasses.replace(
            card, system="same method, smaller model" if departures else "as published", departures=departures,
            trained_on=", ".join(recipe.corpora), checkpoints=(*weights, *card.checkpoints[checkpoint_count:]))
        types = cls.__annotations__
        return variant(cls, [(name, types[name], value) for name, value in recipe.options.items()], card=card)

    @property
    def weights_name(self) -> str:
        """The checkpoint's name: the metric's, the recipe unless it is the first, and a suffix per changed option."""
        is_default = self.recipe in ("", next(iter(self.recipes)))
        name = self.card.checkpoints[0] if is_default or self.training.parts else f"{self.card.name}-{self.recipe}"
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        changed = (text for option, text in self.weights_options().items()
                   if option in defaults and getattr(self, option) != defaults[option])
        return "-".join(filter(None, (name, *dict.fromkeys(changed))))

    def weights_options(self) -> Mapping[str, str]:
        """Return the options that affect the weights, each with its suffix for the checkpoint name when changed."""
        return {}

    def checkpoint_name(self, part: str = "") -> str:
        """Return the name of the checkpoint for these options, or for a part of the recipe."""
        return self.card.checkpoints[list(self.training.parts).index(part)] if part else self.weights_name

    def scorer(self, models: Models, part: str = "") -> Scorer:
        """Load the network for these options, or for a part of the recipe.

        Raises MissingResource if it was trained with other word vectors or resources.
        """
        name, encoder = self.checkpoint_name(part), self.encoder or ""
        if isinstance(self, Dependent) and (used := self.depends(models)):
            recorded = models.checkpoint(name, encoder).card.get("weights_read", {})
            for kind in used.keys() & recorded:
                if used[kind] != recorded[kind]:
                    raise MissingResource(f"weights {name} were trained with {kind} {recorded[kind]}, but the run uses "
                                          f"{used[kind]}; retrain with `{command(name)} --fresh`")
        return models.scorer(name, encoder)

    def readings(self, items: Sequence[Item]) -> Sequence[Any]:
        """Return the network's input for each item, by default context and response; None if they are missing."""
        return pairs(items)

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return probabilities, 0 to 1; NaN without a reading."""
        return {self.card.columns[0]: self.scorer(models).probabilities(self.readings(items))}

    def examples(self, data: TrainingData) -> Split:
        """Return training and held-out examples, by default every utterance as a response to those before it."""
        return data.split(response_contrasts)

    def network(self, data: TrainingData) -> Mapping[str, Any]:
        """Return the network arguments that depend on the data or the options."""
        return {}

    def objective(self, data: TrainingData) -> Objective:
        """Prepare the network and its batches."""
        from metrics.training import objectives

        return objectives.total(data, self.examples(data), self.network(data))
