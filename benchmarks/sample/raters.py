"""Simulated raters: vote = true level + item effect + rater bias + noise, on the scale of the quality.

All standard deviations are in units of the scale, whose ends are 0 and 1 before it is stretched.
A vote is rounded and clipped to the scale, as people's votes are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import registry

ITEM_SD = 0.09  # an item is better or worse than its construction, on every quality alike
QUALITY_SD = 0.05  # and a little more so on one quality than on another
BIAS_SD = 0.09  # a rater is strict or mild, on everything
NOISE_SD = 0.17  # what the same rater would not say twice
POOL = 16  # raters who share a dataset


@dataclass(frozen=True, slots=True)
class Scale:
    """A quality with the ends of its scale and the weights of the latent dimensions that make it up."""

    name: str
    low: float
    high: float
    weights: Mapping[str, float]

    def level(self, levels: Mapping[str, float]) -> float:
        """The weighted mean of the latent levels, from 0 to 1."""
        return sum(weight * levels[key] for key, weight in self.weights.items()) / sum(self.weights.values())


def scales(dataset: str, weights: Mapping[str, Mapping[str, float]]) -> tuple[Scale, ...]:
    """The qualities of a dataset as its card has them, from 1 to 5 where that says no scale."""
    return tuple(Scale(quality.name, 1 if quality.low is None else quality.low,
                       5 if quality.high is None else quality.high, weights[quality.name.casefold()])
                 for quality in registry.card(dataset).qualities)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The raters of one dataset: how mild each one is, and how many of them judge an item."""

    bias: tuple[float, ...]
    fewest: int
    most: int

    @classmethod
    def draw(cls, fewest: int, most: int, rng: np.random.Generator) -> Crowd:
        """A crowd of POOL raters with biases of their own."""
        return cls(tuple(float(bias) for bias in rng.normal(0.0, BIAS_SD, POOL)), fewest, most)

    def votes(self, scales: Sequence[Scale], levels: Mapping[str, float],
              rng: np.random.Generator) -> dict[str, list[int]]:
        """What each rater drawn for an item says on each scale: the step nearest to what they think."""
        count = int(rng.integers(self.fewest, self.most + 1))
        effect = rng.normal(0.0, ITEM_SD)
        thought = [scale.level(levels) + effect + rng.normal(0.0, QUALITY_SD) for scale in scales]
        votes: dict[str, list[int]] = {scale.name: [] for scale in scales}
        for rater in rng.permutation(POOL)[:count]:
            for scale, value in zip(scales, thought, strict=True):
                belief = value + self.bias[int(rater)] + rng.normal(0.0, NOISE_SD)
                step = np.floor(scale.low + belief * (scale.high - scale.low) + 0.5)
                votes[scale.name].append(int(np.clip(step, scale.low, scale.high)))
        return votes
