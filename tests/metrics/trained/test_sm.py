"""SM of MME-CRS: the three forms by hand, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics.trained.sm import Specificity
from tests.conftest import make_item

HALF, TENTH = np.log(0.5), np.log(0.1)
KNOWN = {"i know": [HALF, HALF], "quantum tea": [TENTH, HALF], "": [], "tea": [TENTH]}


class FakeMasked:
    """A masked model with known likelihoods."""

    def masked(self, encoder: str = "") -> FakeMasked:
        return self

    def log_likelihoods(self, pairs: Sequence[tuple[str, str]], copies: int) -> list[np.ndarray]:
        assert all(context == "" for context, _ in pairs)
        return [np.array(KNOWN[text], np.float32) for _, text in pairs]


def test_the_three_forms_by_hand() -> None:
    items = [make_item(str(row), text) for row, text in enumerate(KNOWN)]
    columns = Specificity().score(items, FakeMasked())  # type: ignore[arg-type]
    np.testing.assert_allclose(columns["sm-ll"], [-2 * HALF, -TENTH - HALF, np.nan, -TENTH], rtol=1e-6)
    np.testing.assert_allclose(columns["sm-nce"], [HALF, (TENTH + HALF) / 2, np.nan, TENTH], rtol=1e-6)
    np.testing.assert_allclose(columns["sm-ppl"], [2, 20 ** 0.5, np.nan, 10], rtol=1e-6)
