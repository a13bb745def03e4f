"""The texts that a bench reads: all utterances and references of real datasets where they are, else of the sample."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.formats import official

SIDE = {"dstc7": "dstc7-partial.json", "humod": "humod_text.json"}
"""Texts of two large datasets, in the folder `side` of HARNESS_REAL_DATA."""


@dataclass(frozen=True, slots=True)
class TextSet:
    """The texts of one dataset, in its order, repetitions included."""

    name: str
    texts: tuple[str, ...]

    @property
    def distinct(self) -> list[str]:
        """Each text once."""
        return list(dict.fromkeys(self.texts))


def text_sets() -> Iterator[TextSet]:
    """The sets, real ones where HARNESS_REAL_DATA names a folder that has them."""
    folder = Path(os.environ.get("HARNESS_REAL_DATA") or os.devnull) / "side"
    for name, file in SIDE.items():
        card, path = registry.card(name), folder / file
        if path.is_file():
            yield TextSet(path.stem, _texts(official.parse(path, card)))
        else:
            yield TextSet(f"{name}, sample", _texts(registry.sample(card)))


def part(texts: list[str], share: float) -> list[str]:
    """That share of the texts, evenly chosen, at least one; all of them from a share of 1 on."""
    many = max(1, int(len(texts) * min(1.0, share)))
    return [texts[place * len(texts) // many] for place in range(many)]


def _texts(dataset: Dataset) -> tuple[str, ...]:
    return tuple(text for item in dataset.items for text in (
        *(turn.text for turn in item.utterances), *(reference.text for reference in item.references)))
