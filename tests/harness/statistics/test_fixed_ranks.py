"""The kernel of challenges has the numbers of the boards' methods, up to rounding, with scores missing too."""

from __future__ import annotations

import numpy as np

from harness.statistics import fixed_ranks
from harness.statistics.coefficients import spearman
from harness.statistics.panel import codes, panel
from harness.statistics.williams import all_pairs_by_formula

TARGET = ("dataset", "quality")


def test_the_kernel_equals_single_panels_williams_and_itself(rng: np.random.Generator) -> None:
    """Five submissions, some scores and a rating missing; a draw of everything once has the values themselves."""
    human = rng.integers(1, 6, size=30).astype(float)
    scores = human + rng.normal(size=(5, 30))
    human[2] = scores[1, 4] = scores[3, 4] = scores[3, 5] = np.nan
    groups = fixed_ranks.grouped({TARGET: human}, {TARGET: scores})
    expected = all_pairs_by_formula(human, scores, "spearman")
    tests = fixed_ranks.williams_of_every_pair(groups[TARGET], scores)
    off = ~np.eye(5, dtype=bool)
    for name in ("delta", "value", "p", "r", "n"):
        np.testing.assert_allclose(getattr(tests, name)[off], getattr(expected, name)[off], atol=1e-10)
    none, values = codes([None] * 30), fixed_ranks.values(groups)[:, 0]
    np.testing.assert_allclose(values, [spearman(panel(row, human, none, none)) for row in scores], atol=1e-12)
    for group in groups[TARGET]:
        squares = {id(group.ranks): fixed_ranks._small(group.ranks) ** 2}
        (row,) = fixed_ranks._values(group, np.ones((1, len(group.people))), squares, {})
        np.testing.assert_allclose(row, values[group.members], atol=1e-12)
    first, again = (fixed_ranks.drawn(groups, 100, np.random.default_rng(3)).values(lambda datasets: datasets[0][0])
                    for _ in range(2))
    assert first.shape == (100, 5)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first.mean(axis=0), values, atol=0.1)
