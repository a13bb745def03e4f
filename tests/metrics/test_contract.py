"""The contract of a metric, checked on every metric that the registry finds, over a few items and tiny models."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from harness.contract import Trial, run_check
from harness.contract.checks import CHECKS
from metrics import evidence as evidences
from metrics import registry
from metrics.composition import Composite
from metrics.evidence import DatasetEvidence, Evidence, QualityEvidence
from metrics.metric import Metric, signature
from metrics.models.service import Choice, Models

pytestmark = pytest.mark.usefixtures("one_thread")
LEFT_OUT = ("speed", "direction")  # tiny models do not agree with people
"""Checks of `harness check` that measure."""
ITEMS = 12
"""Items of each sample, enough for batches of 7."""
FEW = {name: f"{name}[inputs=deb+cosine]" for name in ("regression", "weighted", "rank-average", "panel")}
"""Two inputs suffice."""


@functools.cache
def few(name: str) -> Dataset:
    dataset = datasets.sample(datasets.card(name))
    ids = {item.id for item in dataset.items[:ITEMS]}
    return dataclasses.replace(dataset, items=dataset.items[:ITEMS], fingerprint="",
                               ratings=tuple(rating for rating in dataset.ratings if rating.item in ids))


class Small(Trial):
    """A trial with fewer items."""

    sample = tuple(map(few, ("dailydialog-zhao", "fed-turn", "topical-usr", "fed-dial")))


@pytest.fixture(params=registry.names())
def metric(request: pytest.FixtureRequest) -> Metric:
    return registry.choose(FEW.get(request.param, request.param)).metric


@pytest.fixture
def models(home: Path, metric: Metric, request: pytest.FixtureRequest) -> Models:
    composed = isinstance(metric, Composite)
    if not (metric.card.models or composed):
        return Models(home)
    tiny = {"encoder": str(request.getfixturevalue("tiny_encoder")), "lm": str(request.getfixturevalue("tiny_lm"))}
    service = Models(request.getfixturevalue("tiny_weights") if metric.card.checkpoints or composed else home,
                     Choice(**tiny))
    if isinstance(metric, Composite):  # each input agrees a little with an invented dataset
        names = tuple(part.name for part in metric.made_of())
        values = np.linspace(0.1, 0.3, len(names))
        part = DatasetEvidence("made-up", "turn", "", "", 9, values, values, np.eye(len(names)),
                               (QualityEvidence("q", "q", 9, values, values),))
        evidence = Evidence(names, (part,))
        path = evidences.user_path(metric.card.name, evidence, service.home)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(evidences.text(metric.card.name, evidence))
    return service


def test_the_contract_is_kept(metric: Metric, models: Models) -> None:
    """Scores are equal bit for bit unless a network computes them."""
    networks = bool({*metric.card.checkpoints, *metric.card.models} - {"vectors"}) or isinstance(metric, Composite)
    trial = Small(metric, models, tolerance=1e-5 if networks else 0.0)
    findings = [run_check(name, trial) for name in CHECKS if name not in LEFT_OUT]
    assert [finding for finding in findings if finding.state == "BROKEN"] == []
    assert [finding.check for finding in findings if finding.state == "note"] == [*notes(metric)]
    assert set(metric.card.needs) <= {"references", "context", "facts"}
    assert signature(metric, models)["revision"] == str(metric.card.revision)


def notes(metric: Metric) -> Iterator[str]:
    """Return the checks that do not apply to a metric, by its card."""
    card = metric.card
    inputs = [part.chosen.metric for part in metric.made_of()] if isinstance(metric, Composite) else []
    if {"references", "context"} & {need for scored in (metric, *inputs) for need in scored.card.needs}:
        yield "nothing but a response"
    if "references" in card.needs:
        yield "whole dialogues"
    if not card.needs:
        yield "what is missing"
    if card.scope == "dataset":
        yield "batches of 1, 7 and 64"
