"""Simulated raters: vote = true level + item effect + rater bias + noise, on the scale of the quality.

Standard deviations are in units of the scale, from 0 to 1 before it is stretched. A vote is rounded and clipped to the
scale, as people's votes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Quality

ITEM_SD = 0.09  # an item is better or worse than its construction, on every quality alike
QUALITY_SD = 0.05  # and a little more so on one quality than on another
BIAS_SD = 0.09  # a rater is strict or mild, on everything
NOISE_SD = 0.17  # and inconsistent
POOL = 16  # raters who share a dataset


@dataclass(frozen=True, slots=True)
class Crowd:
    """The raters of a dataset: `fewest` to `most` of them judge each item."""

    qualities: tuple[Quality, ...]
    weights: Mapping[str, Mapping[str, float]]
    bias: tuple[float, ...]
    fewest: int
    most: int

    @classmethod
    def draw(cls, dataset: str, weights: Mapping[str, Mapping[str, float]], raters: tuple[int, int],
             rng: np.random.Generator) -> Crowd:
        """Draw the raters' biases; `weights` are those of the latent dimensions of each quality."""
        bias = tuple(float(bias) for bias in rng.normal(0.0, BIAS_SD, POOL))
        return cls(registry.card(dataset).qualities, weights, bias, *raters)

    def votes(self, levels: Mapping[str, float], rng: np.random.Generator) -> dict[str, list[int]]:
        """Return the votes on each quality of an item with these latent levels, from 0 to 1."""
        count = int(rng.integers(self.fewest, self.most + 1))
        effect = rng.normal(0.0, ITEM_SD)
        means = []
        for quality in self.qualities:
            weights = self.weights[quality.name.casefold()]
            level = sum(weight * levels[key] for key, weight in weights.items()) / sum(weights.values())
            means.append(level + effect + rng.normal(0.0, QUALITY_SD))
        votes: dict[str, list[int]] = {quality.name: [] for quality in self.qualities}
        for rater in rng.permutation(POOL)[:count]:
            for quality, mean in zip(self.qualities, means, strict=True):
                low, high = (1, 5) if quality.low is None or quality.high is None else (quality.low, quality.high)
                belief = mean + self.bias[int(rater)] + rng.normal(0.0, NOISE_SD)
                votes[quality.name].append(int(np.clip(np.floor(low + belief * (high - low) + 0.5), low, high)))
        return votes
