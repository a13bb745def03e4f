"""Cosines between vectors; the zero vector is like nothing, itself included."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metrics.metric import Column

Vectors = npt.NDArray[np.float32]


def unit(vectors: Vectors) -> Vectors:
    """Each row at length 1; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=vectors.dtype)
    return scaled


def cosines(left: npt.NDArray[np.floating], right: npt.NDArray[np.floating]) -> Column:
    """The cosine of each row with the row beside it, −1 to 1."""
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    products: Column = (a * b).sum(axis=-1)
    return products / np.where(lengths > 0, lengths, 1)
