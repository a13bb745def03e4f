"""SM of MME-CRS: the three forms by hand, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metrics.trained.sm import Specificity
from tests.conftest import make_item

HALF, TENTH = np.log(0.5), np.log(0.1)
KNOWN = {"i know": [HALF, HALF], "quantum tea": [TENTH, HALF], "": [], "tea": [TENTH]}


class Told:
    """A masked model that was told its answers."""

    def __init__(self, known: dict[str, list[float]]) -> None:
        self.known = known

    def masked(self, encoder: str = "") -> Told:
        return self

    def log_likelihoods(self, pairs: Sequence[tuple[str, str]], copies: int) -> list[np.ndarray]:
        assert all(context == "" for context, _ in pairs)
        return [np.array(self.known[text], np.float32) for _, text in pairs]


def test_the_three_forms_by_hand() -> None:
    items = [make_item(str(row), text) for row, text in enumerate(KNOWN)]
    found = Specificity().score(items, Told(KNOWN))  # type: ignore[arg-type]
    np.testing.assert_allclose(found["sm-ll"], [-2 * HALF, -TENTH - HALF, np.nan, -TENTH], rtol=1e-6)
    np.testing.assert_allclose(found["sm-nce"], [HALF, (TENTH + HALF) / 2, np.nan, TENTH], rtol=1e-6)
    np.testing.assert_allclose(found["sm-ppl"], [2, 20 ** 0.5, np.nan, 10], rtol=1e-6)


@given(st.lists(st.floats(-30, 0, width=32), min_size=1, max_size=40), st.floats(-30, 0, width=32))
def test_one_more_token_adds_to_ll_and_moves_the_others_towards_it(values: list[float], more: float) -> None:
    items = [make_item("a", "before"), make_item("b", "after")]
    found = Specificity().score(items, Told({"before": values, "after": [*values, more]}))  # type: ignore[arg-type]
    ll, nce, ppl = (found[name] for name in Specificity.card.columns)
    assert ll[1] >= ll[0] - 1e-4
    assert min(nce[0], more) - 1e-4 <= nce[1] <= max(nce[0], more) + 1e-4
    np.testing.assert_allclose(ppl, np.exp(-nce))
