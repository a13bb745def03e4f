"""Simulated raters: vote = true level + item effect + rater bias + noise, on the scale of the quality.

Standard deviations are for a scale from 0 to 1, which is then stretched to that of the quality. Votes are rounded and
clipped to the scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Quality

ITEM_SD = 0.09  # how much an item differs from its construction, equally on all qualities
QUALITY_SD = 0.05  # how much an item differs on a single quality
BIAS_SD = 0.09  # how strict or lenient a rater is, equally on all qualities
NOISE_SD = 0.17  # how inconsistent a rater is
POOL = 16  # raters per dataset


@dataclass(frozen=True, slots=True)
class Crowd:
    """The raters of a dataset, of whom `fewest` to `most` judge each item."""

    qualities: tuple[Quality, ...]
    weights: Mapping[str, Mapping[str, float]]
    bias: tuple[float, ...]
    fewest: int
    most: int

    @classmethod
    def draw(cls, dataset: str, weights: Mapping[str, Mapping[str, float]], raters: tuple[int, int],
             rng: np.random.Generator) -> Crowd:
        """Draw the raters' biases; `weights` has the weights of the latent dimensions in each quality."""
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
