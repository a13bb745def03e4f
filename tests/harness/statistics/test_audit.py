"""Checks of simulated judges: fair ones are rarely flagged, and biased ones are caught by the check of their bias."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

from harness.statistics import audit
from harness.statistics.audit import Evidence

CONTEXTS, SYSTEMS, REPETITIONS = 60, 2, 100


def evidence(rng: np.random.Generator, *, skill: float = 0.6, long: float = 0.0, first: float = 0.0, own: float = 0.0,
             unread: float = 0.0, people: int = 3, lead: float = 0.0, longer: float = 0.3) -> Evidence:
    """Return the evidence of a judge of 120 replies, two systems' replies to each of 60 contexts.

    `people` vote from 1 to 5. The judge sees the quality with an error. Biases are in standard deviations of its
    scores: `long` per standard deviation of length, `own` for a reply of its family. `first` is the share of pairs that
    it decides by position. The appended sentence is half a standard deviation of length. Good replies are longer
    (they correlate `longer`), and those of the family better by `lead` standard deviations.
    """
    n = CONTEXTS * SYSTEMS
    contexts = np.repeat(np.arange(CONTEXTS), SYSTEMS)
    mine = np.arange(n) % SYSTEMS == 0
    quality = np.sqrt(0.2) * rng.normal(size=CONTEXTS)[contexts] + np.sqrt(0.8) * rng.normal(size=n)
    quality = (quality + lead * (mine - 0.5)) / np.sqrt(1 + lead**2 / 4)
    length = longer * quality + np.sqrt(1 - longer**2) * rng.normal(size=n)
    votes = np.clip(np.round(3 + quality[:, None] + 0.8 * rng.normal(size=(n, people))), 1, 5) / 4 - 0.25
    view = skill * quality + np.sqrt(1 - skill**2) * rng.normal(size=n) + long * length + own * mine
    view /= view.std()

    def answer(bias: float = 0.0, noise: float = 0.6) -> np.ndarray:
        """Return answers from 1 to 5, averaged over their probabilities and scaled to 0 to 1."""
        return np.clip(0.5 + 0.2 * (view + bias + noise * rng.normal(size=n)), 0, 1)

    scores = answer(noise=0.1)
    lost = rng.random(n) < unread
    scores[lost] = np.nan
    left, right = view[::2], view[1::2]
    orders = [np.where(rng.random(CONTEXTS) < first, 1.0, left + 0.6 * rng.normal(size=CONTEXTS) > right),
              np.where(rng.random(CONTEXTS) < first, 1.0, right + 0.6 * rng.normal(size=CONTEXTS) > left)]
    return Evidence(scores, lost.astype(float), votes.mean(axis=1), (votes**2).mean(axis=1), np.full(n, float(people)),
                    length, contexts, answer(noise=0.2), answer(), answer(), answer(0.5 * long, noise=0.2), mine,
                    np.mean(orders, axis=0), np.arange(CONTEXTS))


def at_random(rng: np.random.Generator) -> Evidence:
    fair = evidence(rng)
    drawn = (rng.random(len(fair.scores)) for _ in range(5))
    return Evidence(next(drawn), fair.unread, fair.ratings, fair.mean_squares, fair.vote_counts, fair.words,
                    fair.contexts, *drawn, fair.family, rng.integers(0, 3, CONTEXTS) / 2, fair.pair_contexts)


def flagged(*judges: Evidence, draws: int = 400) -> Counter[str]:
    """Return how often each check was flagged; `any` counts judges with at least one flag."""
    counts: Counter[str] = Counter()
    for number, judge in enumerate(judges):
        names = [check.name for check in audit.checks_of(judge, np.random.default_rng(number), draws) if check.flagged]
        counts.update(names + ["any"] * bool(names))
    return counts


def test_at_most_5_percent_of_fair_judges_are_flagged() -> None:
    rng = np.random.default_rng(1)
    assert flagged(*(evidence(rng) for _ in range(REPETITIONS)))["any"] <= 0.05 * REPETITIONS


@pytest.mark.parametrize(("people", "skill"), [(1, 0.999), (2, 0.6), (2, 0.999), (5, 0.6)])
def test_fair_judges_of_better_families_are_not_flagged(people: int, skill: float) -> None:
    """With single votes, the error of the ratings is unknown, and there is no verdict."""
    rng = np.random.default_rng(3)
    for lead in (0.5, 1.0):
        judges = [evidence(rng, skill=skill, people=people, lead=lead, longer=0.5) for _ in range(60)]
        counts = flagged(*judges, draws=200)
        assert max(counts["family"], counts["length"]) <= 3


def test_preference_is_the_coefficient_at_true_quality() -> None:
    """The judge sees the truth plus 0.3 for its family, which is better by 1; error-free scores have variance 1.25."""
    rng = np.random.default_rng(4)
    mine = np.arange(20_000) % 2
    truth = mine + rng.normal(size=20_000)
    votes = truth[:, None] + rng.normal(size=(20_000, 2))
    columns = (votes.mean(axis=1), (votes**2).mean(axis=1), np.full(20_000, 2.0))
    weights, trait = np.ones((1, 20_000)), mine.astype(float)
    assert audit.reliability(weights, *columns)[0] == pytest.approx(1.25 / 1.75, abs=0.02)
    scores = truth + 0.3 * trait
    assert audit.preference(weights, scores, trait, *columns)[0] == pytest.approx(0.3 / scores.std(), abs=0.03)


def test_a_constant_judge_does_not_agree_significantly_with_people() -> None:
    same = np.full(CONTEXTS * SYSTEMS, 0.5)
    judge = dataclasses.replace(evidence(np.random.default_rng(5)), scores=same, retest=same, options=same,
                                paraphrase=same, lengthened=same)
    checks = {check.name: check for check in audit.checks_of(judge, np.random.default_rng(0))}
    notes = {name: check.note for name, check in checks.items() if check.note}
    assert notes == dict.fromkeys(("retest", "options", "paraphrase", "verbosity", "length", "family", "agreement"),
                                  audit.CONSTANT)
    assert {name for name, check in checks.items() if check.flagged} == {"agreement", "kappa"}


def test_fewer_than_five_contexts_give_no_verdict() -> None:
    judge = evidence(np.random.default_rng(6), unread=0.5)
    pairs = np.arange(CONTEXTS) % 4
    checks = audit.checks_of(dataclasses.replace(judge, contexts=judge.contexts % 4, pair_contexts=pairs),
                        np.random.default_rng(0))
    assert {(check.note, check.flagged) for check in checks} == {(audit.TOO_FEW_CONTEXTS, False)}


@pytest.mark.parametrize(("bias", "names"), [
    ({"long": 1.0}, ("verbosity", "length")), ({"first": 0.5}, ("position",)), ({"own": 1.0}, ("family",)),
    ({"own": 1.0, "lead": 1.0}, ("family",)), ({"long": 0.5}, ("length",)),
    ({"unread": 0.1}, ("unread",)), (None, ("retest", "options", "paraphrase", "agreement", "kappa"))])
def test_biased_and_random_judges_are_caught(bias: dict[str, float] | None, names: tuple[str, ...]) -> None:
    """The power is at least .9."""
    rng = np.random.default_rng(2)
    counts = flagged(*(at_random(rng) if bias is None else evidence(rng, **bias) for _ in range(60)))
    assert min(counts[name] for name in names) >= 54
