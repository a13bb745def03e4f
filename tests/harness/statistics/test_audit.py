"""Checks of simulated judges: fair ones are rarely flagged, and biased ones are caught by the check of their bias."""

from collections import Counter

import numpy as np
import pytest

from harness.statistics import audit
from harness.statistics.audit import Evidence

CONTEXTS, SYSTEMS, REPETITIONS = 60, 2, 100


def evidence(rng: np.random.Generator, *, skill: float = 0.6, long: float = 0.0, first: float = 0.0, own: float = 0.0,
             unread: float = 0.0) -> Evidence:
    """Return the evidence of a judge of 120 replies, two systems' replies to each of 60 contexts.

    Three people vote from 1 to 5. The judge sees the quality with an error. Biases are in standard deviations of its
    scores: `long` per standard deviation of length, `own` for a reply of its family. `first` is the share of pairs that
    it decides by position. The appended sentence is half a standard deviation of length; good replies are longer (.3).
    """
    n = CONTEXTS * SYSTEMS
    contexts = np.repeat(np.arange(CONTEXTS), SYSTEMS)
    quality = np.sqrt(0.2) * rng.normal(size=CONTEXTS)[contexts] + np.sqrt(0.8) * rng.normal(size=n)
    length = 0.3 * quality + np.sqrt(1 - 0.3**2) * rng.normal(size=n)
    votes = np.clip(np.round(3 + quality[:, None] + 0.8 * rng.normal(size=(n, 3))), 1, 5) / 4 - 0.25
    mine = np.arange(n) % SYSTEMS == 0
    view = skill * quality + np.sqrt(1 - skill**2) * rng.normal(size=n) + long * length + own * mine
    view /= view.std()

    def answer(bias: float = 0.0, noise: float = 0.6) -> np.ndarray:
        """Return answers from 1 to 5, averaged over their probabilities and scaled to 0 to 1."""
        return np.clip(0.5 + 0.2 * (view + bias + noise * rng.normal(size=n)), 0, 1)

    scores = answer(noise=0.1)
    scores[rng.random(n) < unread] = np.nan
    left, right = view[::2], view[1::2]
    orders = [np.where(rng.random(CONTEXTS) < first, 1.0, left + 0.6 * rng.normal(size=CONTEXTS) > right),
              np.where(rng.random(CONTEXTS) < first, 1.0, right + 0.6 * rng.normal(size=CONTEXTS) > left)]
    return Evidence(scores, votes.mean(axis=1), (votes**2).mean(axis=1), length, contexts, answer(noise=0.2), answer(),
                    answer(), answer(0.5 * long, noise=0.2), mine, np.mean(orders, axis=0), np.arange(CONTEXTS))


def at_random(rng: np.random.Generator) -> Evidence:
    """Return the evidence of a judge whose answers are all random."""
    fair = evidence(rng)
    drawn = (rng.random(len(fair.scores)) for _ in range(5))
    return Evidence(next(drawn), fair.ratings, fair.squares, fair.words, fair.contexts, *drawn, fair.family,
                    rng.integers(0, 3, CONTEXTS) / 2, fair.pairs)


def flagged(*judges: Evidence) -> Counter[str]:
    """Return how often each check was flagged; `any` counts judges with at least one flag."""
    counts: Counter[str] = Counter()
    for number, judge in enumerate(judges):
        names = [check.name for check in audit.card(judge, np.random.default_rng(number)) if check.flagged]
        counts.update(names + ["any"] * bool(names))
    return counts


def test_at_most_5_percent_of_fair_judges_are_flagged() -> None:
    rng = np.random.default_rng(1)
    assert flagged(*(evidence(rng) for _ in range(REPETITIONS)))["any"] <= 0.05 * REPETITIONS


@pytest.mark.parametrize(("bias", "names"), [
    ({"long": 1.0}, ("verbosity", "length")), ({"first": 0.5}, ("position",)), ({"own": 1.0}, ("family",)),
    ({"unread": 0.1}, ("unread",)), (None, ("retest", "options", "paraphrase", "agreement", "kappa"))])
def test_biased_and_random_judges_are_caught(bias: dict[str, float] | None, names: tuple[str, ...]) -> None:
    """The power is at least .9."""
    rng = np.random.default_rng(2)
    counts = flagged(*(at_random(rng) if bias is None else evidence(rng, **bias) for _ in range(60)))
    assert min(counts[name] for name in names) >= 54
