"""Cosines between vectors, and soft matches of texts by the cosines of their words; a zero vector has cosine 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metrics.metric import Column

Vectors = npt.NDArray[np.float32]
Weighted = tuple[Vectors, Column]
"""The vectors of a text's words (words, width), at least one, and each word's weight in the mean."""


def unit(vectors: Vectors) -> Vectors:
    """Scale each row to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=vectors.dtype)
    return scaled


def cosines(left: npt.NDArray[np.floating], right: npt.NDArray[np.floating]) -> Column:
    """Return the cosine of each row of `left` with the same row of `right`, −1 to 1."""
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    products: Column = (a * b).sum(axis=-1)
    return products / np.where(lengths > 0, lengths, 1)


class SoftMatches:
    """References with their words in one matrix, so that a response is compared with all of them at once."""

    def __init__(self, references: Sequence[Weighted]) -> None:
        vectors, shares = zip(*references, strict=True)
        lengths = np.array(list(map(len, shares)))
        self._starts = np.cumsum(lengths) - lengths
        self._vectors, self._shares = unit(np.concatenate(vectors)), np.concatenate(shares)
        self._weighted = np.add.reduceat(self._shares, self._starts) > 0

    def of(self, response: Weighted, least: float = -1.0) -> tuple[Column, Column]:
        """Return precision and recall with each reference: the mean cosine of words with their best match.

        Precision is over the response's words, recall over the reference's. A cosine below `least` counts as `least`.
        Both are 0 if either text has no weight.
        """
        vectors, shares = response
        similar = np.maximum(self._vectors @ unit(vectors).T, least)  # (words of all references, words of the response)
        precisions: Column = np.maximum.reduceat(similar, self._starts, axis=0) @ shares
        recalls: Column = np.add.reduceat(similar.max(axis=1) * self._shares, self._starts)
        return precisions * self._weighted, recalls * bool(shares.any())
