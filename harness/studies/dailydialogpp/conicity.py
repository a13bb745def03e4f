"""Conicity, the narrowness of the cone of a set of vectors (Chandrahas et al., 2018; for DEB Sai et al., 2020).

    conicity(V) = mean over v in V of cos(v, mean of V)

It is 1 if all vectors point the same way, and lower the more they spread. V holds the relevant replies P to one
context, alone or with the random (P+R) or adversarial ones (P+A); the result is the mean over contexts. The vectors are
the inputs of a trained metric's last layer, if it has a method `hidden(items, models)`, and the encoder's sentence
vectors of the replies, which do not depend on the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from harness.results.cache import Cache
from harness.studies.dailydialogpp.columns import ReplyScores
from harness.studies.dailydialogpp.replies import Replies
from metrics.errors import MissingResource
from metrics.metric import line, signature
from metrics.models.memory import Vectors
from metrics.registry import Chosen

SETS = {"P": ("positive",), "P+R": ("positive", "random"), "P+A": ("positive", "adversarial")}


def conicity(vectors: Vectors) -> float:
    """Return the conicity, −1 to 1; the cosine of a zero vector is 0."""
    vectors = vectors.astype(np.float64)
    middle = vectors.mean(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(middle)
    return float(np.mean(vectors @ middle / np.where(lengths == 0, 1, lengths)))


def conicities(vectors: Vectors, replies: Replies) -> dict[str, float]:
    """Return the mean conicity over the contexts of each set of replies."""
    groups = np.split(np.arange(len(replies.contexts)), np.flatnonzero(np.diff(replies.contexts)) + 1)
    return {name: float(np.mean([conicity(vectors[group[np.isin(replies.kinds[group], kinds)]]) for group in groups]))
            for name, kinds in SETS.items()}


def spaces(metrics: Sequence[Chosen], scores: ReplyScores, cache: Cache) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the conicities of the encoder's vectors if a metric uses it, and of trained metrics' last layers."""
    replies, models = scores.replies("test", "none"), scores.models
    items = replies.dataset.items

    def sentences() -> Vectors:
        return models.encoder().sentences([item.response.text for item in items if item.response], "mean")

    def cones(name: str, identity: Callable[[], str], vectors: Callable[[], Vectors],
              ) -> Iterator[tuple[str, dict[str, float]]]:
        try:
            key = [replies.dataset.fingerprint, identity()]
            yield name, cache.get("conicity", key, lambda: conicities(vectors(), replies))
        except MissingResource as error:
            scores.skips[f"conicity, {name}"] = str(error)

    if any("encoder" in chosen.metric.card.models for chosen in metrics):
        yield from cones("replies alone", partial(models.identity, "encoder"), sentences)
    for chosen in metrics:
        if (hidden := getattr(chosen.metric, "hidden", None)) and not scores.lacks(chosen.label):
            yield from cones(chosen.label, partial(lambda metric: line(signature(metric, models)), chosen.metric),
                             partial(hidden, items, models))
