"""Trainables: the metrics with weights of their own, and the models that metrics share, by name.

A metric is trainable where its class has a `recipe` and a method `objective`. A model that metrics share is a module of
training/backbones, whose name is its file's: a class with `name`, `recipe` and `objective`. Both are named
`NAME[option=value,...]`. The checkpoint bears the first name of the metric's card, unless a property `weights_name`
gives that of a variant; `variants` are the options of those that are trained with all others. What has a field
`encoder` belongs to the encoder it was trained with.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from typing import Any

from benchmarks.errors import nearest
from metrics import registry
from metrics.errors import BadOption, BrokenPlugin, UnknownMetric
from metrics.training.recipe import Trainable

PACKAGE = f"{__package__}.backbones"


@dataclass(frozen=True, slots=True)
class Learner:
    """What is to be trained, and the name of its checkpoint; `label` is its name with the options set."""

    label: str
    weights: str
    trainable: Trainable

    @property
    def encoder(self) -> str | None:
        """The encoder it names, empty for the one of the run, or None where it takes none."""
        named = getattr(self.trainable, "encoder", None)
        return None if named is None else str(named)


def names() -> tuple[str, ...]:
    """All that can be trained: what others are made of comes first."""
    return (*_backbones(), *sorted(_metrics(), key=lambda name: len(registry.card(name).checkpoints)))


def shipped() -> tuple[str, ...]:
    """All that the project has weights of: everything, and the variants that a class names with it."""
    return tuple(label for name in names() for label in (name, *_variants(name)))


def _variants(name: str) -> tuple[str, ...]:
    if name in _backbones():
        return ()
    return tuple(f"{name}[{options}]" for options in getattr(registry.metric_class(name), "variants", ()))


def choose(requested: str) -> Learner:
    """What `NAME` or `NAME[option=value,...]` is; an unknown name is answered with the nearest."""
    name, rest = registry.split(requested)
    if name in _backbones():
        shared = _backbone(name, requested, rest)
        return Learner(requested.strip(), str(getattr(shared, "weights_name", name)), shared)
    if name not in registry.names() and not registry.is_path(name):
        raise UnknownMetric(f"nothing that can be trained is called {name!r}; {nearest(name, names())}")
    chosen = registry.choose(requested)
    if not _trains(chosen.metric):
        raise UnknownMetric(f"{name} has nothing to train; {nearest(name, names())}")
    first = (*chosen.metric.card.checkpoints, chosen.metric.card.name)[0]
    trainable: Any = chosen.metric
    return Learner(chosen.label, str(getattr(trainable, "weights_name", first)), trainable)


@functools.cache
def _backbones() -> tuple[str, ...]:
    package = importlib.import_module(PACKAGE)
    return tuple(sorted(module.name for module in pkgutil.iter_modules(package.__path__)
                        if not module.name.startswith("_")))


def _metrics() -> list[str]:
    trained = []
    for name in registry.names():
        try:
            kind = registry.metric_class(name)
        except BrokenPlugin:  # `harness list metrics` tells what is wrong with it
            continue
        if _trains(kind):
            trained.append(name)
    return trained


def _trains(thing: Any) -> bool:
    return hasattr(thing, "recipe") and callable(getattr(thing, "objective", None))


def _backbone(name: str, requested: str, rest: str) -> Any:
    module = importlib.import_module(f"{PACKAGE}.{name}")
    for kind in vars(module).values():
        if inspect.isclass(kind) and _trains(kind) and getattr(kind, "name", None) == name:
            if not dataclasses.is_dataclass(kind):
                if rest:
                    raise BadOption(f"{requested!r}: {name} has no options")
                return kind()
            return kind(**registry.option_values(kind, name, requested, rest))
    raise BrokenPlugin(f"{module.__name__} holds no class with a recipe and an objective that is named {name!r}")
