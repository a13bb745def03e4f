"""Trainables by name, `NAME[option=value,...]`: metrics with their own weights, and models that metrics share."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass
from typing import Any

from benchmarks.errors import nearest
from metrics import registry
from metrics.errors import BadOption, BrokenPlugin, UnknownMetric
from metrics.training.recipe import Trainable

BACKBONES = {"lm": "CausalLanguageModel", "mlm": "MaskedLanguageModel", "dialogue": "DialogueEncoder"}
"""Classes of the models that metrics share, by the name of their module in training/backbones."""


@dataclass(frozen=True, slots=True)
class Learner:
    """A trainable with the name of its checkpoint; `label` is its name with its options."""

    label: str
    checkpoint_name: str
    trainable: Trainable
    part: str = ""

    @property
    def required_checkpoints(self) -> tuple[str, ...]:
        """The names of other checkpoints that training needs."""
        if self.checkpoint_name in BACKBONES:
            return ()
        recipe, names = self.trainable.training, self.trainable.card.checkpoints
        return (*(name for part, name in zip(recipe.parts, names, strict=False)
                  if part in recipe.of_part(self.part).reads), *names[len(recipe.parts) or 1:])


def names() -> tuple[str, ...]:
    """Return the names of all trainables, shared models first."""
    trained = []
    for name in registry.names():
        with contextlib.suppress(BrokenPlugin):  # `harness list metrics` reports it
            if issubclass(registry.metric_class(name), Trainable):
                trained.append(name)
    return (*BACKBONES, *sorted(trained, key=lambda name: len(registry.card(name).checkpoints)))


def shipped() -> tuple[str, ...]:
    """Return the names of all trainables and variants whose weights are shipped."""
    return tuple(label for name in names() for label in (name, *(
        f"{name}[{options}]" for options in _kind(name).variants)))


def parts(requested: str) -> tuple[str, ...]:
    """Return the names of the parts to train in turn; a single empty name if there are no parts."""
    return tuple(choose(requested).trainable.training.parts) or ("",)


def choose(requested: str, part: str = "") -> Learner:
    """Return the trainable `NAME` or `NAME[option=value,...]`, or a part of it."""
    name, rest = registry.split(requested)
    if name in BACKBONES:
        kind = _kind(name)
        return Learner(requested.strip(), name, kind(**registry.option_values(kind, name, requested, rest)))
    if name not in registry.names() and not registry.is_path(name):
        raise UnknownMetric(f"{name!r} is not a trainable metric or model; {nearest(name, names())}")
    chosen = registry.choose(requested)
    if not isinstance(chosen.metric, Trainable):
        raise UnknownMetric(f"{name} has nothing to train; {nearest(name, names())}")
    return Learner(f"{chosen.label} {part}".strip(), chosen.metric.checkpoint_name(part), chosen.metric, part)


def with_recipe(requested: str, recipe: str, encoder: str) -> str:
    """Add the options `recipe` and, if given, `encoder` to a request, except for no recipe or the default one."""
    if not recipe:
        return requested
    name, options = registry.split(requested)
    kind = _kind(name)
    recipes = kind.recipes if issubclass(kind, Trainable) else {}
    if recipe not in recipes:
        raise BadOption(f"{name} has no recipe {recipe!r}; {nearest(recipe, recipes)}")
    if recipe == next(iter(recipes)):
        return requested
    parts = [options, f"recipe={recipe}", f"encoder={encoder}" if encoder else ""]
    return f"{name}[{','.join(filter(None, parts))}]"


def _kind(name: str) -> Any:
    if name in BACKBONES:
        return getattr(importlib.import_module(f"{__package__}.backbones.{name}"), BACKBONES[name])
    return registry.metric_class(name)
