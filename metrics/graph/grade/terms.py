"""Vectors of the terms of a graph: the encoder's, kept in the home, or those of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metrics.models.memory import Vectors
from metrics.models.pooled import PooledVectors

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.service import Models


def of_encoder(models: Models, name: str) -> Callable[[Sequence[str]], Vectors]:
    """The encoder's mean vectors of terms at length 1; what was read once is kept in the home."""
    features = _features(models.home / "graphs", models.encoder(name))

    def read(texts: Sequence[str]) -> Vectors:
        width = features.encoder.width
        return _unit(features(texts)[:, :width])

    return read


_KEPT: dict[tuple[str, str, int], PooledVectors] = {}


def _features(root: Path, encoder: Encoder) -> PooledVectors:
    """The features of an encoder, opened once."""
    key = (str(root), encoder.weights.identity, id(encoder))
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = PooledVectors(root, encoder)
    return _KEPT[key]


def of_file(models: Models, name: str) -> Callable[[Sequence[str]], Vectors]:
    """Vectors of a file such as Numberbatch's; a term of several words is one with _, else the mean of its words."""
    vectors = models.vectors(name)

    def look_up(term: str) -> Vectors:
        whole = term.replace(" ", "_")
        known = vectors.of([whole] if whole in vectors else term.split())
        found: Vectors = known.mean(axis=0) if len(known) else np.zeros(vectors.width, np.float32)
        return found

    return lambda texts: _unit(np.stack([look_up(text) for text in texts]) if texts else
                               np.zeros((0, vectors.width), np.float32))


def _unit(vectors: Vectors) -> Vectors:
    dense: Vectors = vectors.astype(np.float32)
    length = np.sqrt(np.einsum("nw,nw->n", dense, dense))[:, None]
    found: Vectors = dense / np.maximum(length, np.float32(1e-6))
    return found
