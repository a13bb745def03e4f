"""Ridge regression of the ranks of human ratings on standardised inputs, from correlations alone.

    w = (A + λ I)^-1 r

A holds the inputs' correlations with each other, r those with the ranks of the ratings, both the mean over datasets.
Few datasets share a quality, so that those of one quality are shrunk: the mean over all qualities counts as one more
dataset beside those of its kin, and that mean as one more beside those of the quality itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metrics.evidence import KIN, Evidence, Vector

Means: TypeAlias = tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.floating[Any]], int]
"""Mean correlations of the inputs with each other and with people, and over how many datasets."""


def weights(evidence: Evidence, dimension: str, ridge: float) -> Vector:
    """The weights of a quality."""
    found = _means(evidence, lambda _: True)
    kin = next((some for some in KIN if dimension in some), frozenset[str]())
    for wanted in (kin, {dimension}):
        found = _shrunk(_means(evidence, _among(wanted)), found)
    alike, agree, _ = found
    return np.asarray(np.linalg.solve(alike + ridge * np.eye(len(agree)), agree), dtype=np.float64)


def _among(wanted: Collection[str]) -> Callable[[str], bool]:
    return lambda dimension: dimension in wanted


def _means(evidence: Evidence, wanted: Callable[[str], bool]) -> Means:
    """The mean correlations over the datasets that have a wanted quality, and how many do."""
    alike, agree = [], []
    for witness in evidence.witnesses:
        if rows := [np.nan_to_num(rated.ranked) for rated in witness.qualities if wanted(rated.dimension)]:
            alike.append(np.nan_to_num(witness.alike))
            agree.append(np.mean(rows, axis=0))
    if not agree:
        return np.eye(len(evidence.inputs)), np.zeros(len(evidence.inputs)), 0
    return np.mean(alike, axis=0), np.mean(agree, axis=0), len(agree)


def _shrunk(own: Means, wide: Means) -> Means:
    """What was found of few, with what was found of more counting as one of them."""
    count = own[2]
    return (own[0] * count + wide[0]) / (count + 1), (own[1] * count + wide[1]) / (count + 1), count + 1
