"""Batches of dialogues by length, and columns with missing scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from metrics.metric import Column


def by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield places of dialogues of similar length, up to `most` utterances with padding; none of fewer than two."""
    block: list[int] = []
    for place in sorted((place for place, length in enumerate(lengths) if length > 1), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[place] > most:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


def fill(available: npt.NDArray[np.bool_], score: Callable[[npt.NDArray[np.bool_]], Column]) -> Column:
    """Return the scores of the rows that can be scored, NaN for the others."""
    column = np.full(len(available), np.nan)
    if available.any():
        column[available] = score(available)
    return column
