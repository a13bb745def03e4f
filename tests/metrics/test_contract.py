"""The contract of a metric, checked on every metric that the registry finds, over a few items and tiny models."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from harness.contract import Trial, checks, run_check
from harness.contract import trial as trials
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
ITEMS = 8
"""Items of each sample, enough for batches of 7."""
DIALOGUES = tuple(dataclasses.replace(item, context=item.context[:120]) for item in trials.hard_dialogues())
SHORTER = {"whole dialogues": functools.partial(checks.case, DIALOGUES, "dialogue")}
"""Dialogues long enough to be truncated by every model."""
HARD_CASES = trials.dataset_of([
    item for item in trials.hard_dataset().items if not item.id.startswith("very long texts")
    and (" as " not in item.id or " 1 as " in item.id or "repeated words" in item.id)])
"""The first hard text of each kind; the check of each kind has the others."""
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


def test_the_contract_is_kept(metric: Metric, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are equal bit for bit unless a network computes them."""
    networks = bool({*metric.card.checkpoints, *metric.card.models} - {"vectors"}) or isinstance(metric, Composite)
    for module in (trials, checks):
        monkeypatch.setattr(module, "hard_dataset", lambda: HARD_CASES)
    trial = Small(metric, models, tolerance=1e-5 if networks else 0.0)
    findings = [run_check(name, trial, SHORTER.get(name)) for name in CHECKS if name not in LEFT_OUT]
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
