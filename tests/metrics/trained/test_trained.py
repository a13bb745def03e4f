"""The metrics trained on frozen features: every objective learns, every score keeps the contract."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Item, Utterance
from metrics import evidence, registry
from metrics.models.service import Choice, Models
from metrics.training import checkpoint, trainables
from tests.conftest import make_item
from tests.tiny_weights import METRICS

pytest.importorskip("torch")

ALONE = {"mme-fm", "mme-em", "usl-h-vup", "usl-h-mlm", "usr-mlm"}
"""The columns that read the response alone."""


def test_a_training_brings_the_loss_down_and_scores_what_can_be_scored(
        tiny_encoder: Path, tiny_weights: Path) -> None:
    models = Models(tiny_weights, Choice(encoder=str(tiny_encoder)))
    known = Item("known", (Utterance("user", "do you like tea ?"),), Utterance("system", "i like tea"),
                 make_item("x", "", "tea is good", "the rain").references, ("your persona: i like the rain.",))
    bare = Item("bare", (), Utterance("system", "no context"))
    for requested in METRICS:
        weights = checkpoint.find(trainables.choose(requested).weights, models.encoder().weights.identity, models.home)
        losses = weights.card["losses"]
        assert losses[-1] < losses[0], requested
        metric = registry.choose(requested).metric
        columns = metric.score([known, bare], models)
        assert tuple(columns) == metric.card.columns
        assert all(np.isfinite(column[0]) for column in columns.values()), requested
        assert {name for name, column in columns.items() if np.isfinite(column[1])} == ALONE & set(columns)


def test_what_is_shipped_stays_small() -> None:
    """Each checkpoint under 2 MB but the language model's and a large encoder's adapters, all under 16 MB."""
    sizes = {folder.name: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
             for folder in checkpoint.SHIPPED.iterdir()}
    weights = {name for name in sizes if (checkpoint.SHIPPED / name / checkpoint.WEIGHTS).exists()}
    assert weights == {trainables.choose(name).weights for name in trainables.shipped()}
    assert all((checkpoint.SHIPPED / name / evidence.FILE).exists() for name in set(sizes) - weights)
    assert all(size < 2_000_000 for name, size in sizes.items() if name not in ("lm", "dialogue"))
    assert sizes["dialogue"] < 6_000_000
    assert sum(sizes.values()) < 16_000_000


def test_what_is_trained_otherwise_has_weights_of_its_own() -> None:
    for requested, name in (
        ("deb[negatives=both]", "deb-both"), ("ruber[size=large]", "ruber-large"),
        ("mme-tcm[graph=conceptnet]", "mme-tcm-conceptnet"), ("s-dicoh[negatives=ss]", "s-dicoh-negatives-ss"),
        ("dynaeval[pooling=both]", "dynaeval-pooling-both"), ("dynaeval[speakers=3]", "dynaeval-speakers-3"),
        ("grade[branch=utterances]", "grade-utterances"), ("grade[khop=false]", "grade-no-khop"),
        ("grade[weighted=false]", "grade-unweighted"), ("grade[negatives=random]", "grade-random-negatives"),
        ("grade[first=3,second=0]", "grade-n3-0"), ("grade[graph=conceptnet]", "grade-conceptnet"),
    ):
        assert trainables.choose(requested).weights == name
