"""Cosines between vectors, and soft matches of texts by the cosines of their words; a zero vector has cosine 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metrics.metric import Column

Vectors = npt.NDArray[np.float32]
WeightedVectors = tuple[Vectors, Column]
"""The unit vectors of a text's words (words, width), and each word's weight in the mean."""


def unit(vectors: Vectors) -> Vectors:
    """Scale each row to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=vectors.dtype))


def cosines(left: npt.NDArray[np.floating], right: npt.NDArray[np.floating]) -> Column:
    """Return the cosine of each row of `left` with the same row of `right`, −1 to 1."""
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.asarray((a * b).sum(axis=-1) / np.where(lengths > 0, lengths, 1))


def soft_match(cosines: npt.NDArray[np.floating], response_weights: Column,
               reference_weights: Column) -> tuple[float, float]:
    """Return precision and recall: the mean cosine of words with their best match, 0 if either text has no weight.

    `cosines` is (words of the response, words of the reference). Precision is over the words of the response, recall
    over the words of the reference.
    """
    if not (response_weights.any() and reference_weights.any()):
        return 0.0, 0.0
    return float(response_weights @ cosines.max(axis=1)), float(cosines.max(axis=0) @ reference_weights)
