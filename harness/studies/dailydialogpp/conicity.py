"""Conicity: how narrow the cone is in which some vectors lie (Chandrahas et al., 2018; for DEB Sai et al., 2020).

    conicity(V) = mean over v in V of cos(v, mean of V)

1 where all point one way, lower the more they spread. V is, of one context, the relevant replies P, or these with the
random ones (P+R) or the adversarial ones (P+A); the result is the mean over the contexts. The vectors are those
that the last layer of a trained metric reads, where it offers them by a method `hidden(items, models)`; and the
encoder's sentence vectors of the replies alone, which know nothing of the context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from benchmarks.dataset import Item
from harness.studies.dailydialogpp.replies import Replies
from metrics.models.memory import Vectors
from metrics.models.service import Models

SETS = {"P": ("positive",), "P+R": ("positive", "random"), "P+A": ("positive", "adversarial")}


@runtime_checkable
class Hidden(Protocol):
    """A metric that shows what its last layer reads."""

    def hidden(self, items: Sequence[Item], models: Models) -> Vectors:
        """One vector per item (items, width)."""


@dataclass(frozen=True, slots=True)
class Conicity:
    """The conicity of each set, mean over contexts, in one space."""

    space: str
    values: Mapping[str, float]


def conicity(vectors: Vectors) -> float:
    """How narrow the cone is, −1 to 1; a vector of zeros points nowhere and counts 0."""
    wide = vectors.astype(np.float64)
    middle = wide.mean(axis=0)
    lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(middle)
    return float(np.mean(wide @ middle / np.where(lengths == 0, 1, lengths)))


def conicities(vectors: Vectors, replies: Replies) -> dict[str, float]:
    """The conicity of each set of replies of a context, mean over the contexts."""
    groups = np.split(np.arange(len(replies.contexts)), np.flatnonzero(np.diff(replies.contexts)) + 1)
    return {name: float(np.mean([conicity(vectors[group[np.isin(replies.kinds[group], kinds)]]) for group in groups]))
            for name, kinds in SETS.items()}


def sentences(models: Models, replies: Replies) -> Vectors:
    """The replies alone, as the run's encoder reads them."""
    return models.encoder().sentences([item.response.text for item in replies.dataset.items if item.response], "mean")
