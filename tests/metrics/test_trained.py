"""The metrics trained on frozen features: every objective learns, every score keeps the contract."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Item, Utterance
from metrics import evidence, registry
from metrics.models.service import Choice, Models
from metrics.training import checkpoint, trainables
from metrics.training.loop import Fitted
from tests import tiny_weights
from tests.conftest import make_item

pytest.importorskip("torch")

ASKED = tiny_weights.METRICS
SCOREABLE = Item("known", (Utterance("user", "do you like tea ?"),), Utterance("system", "i like tea"),
                 make_item("x", "", "tea is good", "the rain").references, ("your persona: i like the rain.",))


@pytest.fixture(scope="module")
def learned(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Models, dict[str, Fitted]]:
    """Everything, trained for 20 steps."""
    models = Models(tmp_path_factory.mktemp("trained"), Choice(encoder=str(tiny_encoder)))
    return models, tiny_weights.everything(models, 20)


@pytest.mark.parametrize("asked", ASKED)
def test_twenty_steps_bring_the_loss_down(asked: str, learned: tuple[Models, dict[str, Fitted]]) -> None:
    curve = learned[1][asked].curve
    assert curve[-1].loss < curve[0].loss


@pytest.mark.parametrize("asked", ASKED)
def test_scores_are_finite_for_what_can_be_scored_and_nan_without_what_is_needed(
        asked: str, learned: tuple[Models, dict[str, Fitted]]) -> None:
    metric = registry.choose(asked).metric
    bare = Item("bare", (), Utterance("system", "no context"))
    found = metric.score([SCOREABLE, bare], learned[0])
    assert tuple(found) == metric.card.columns
    assert all(np.isfinite(column[0]) for column in found.values())
    alone = {"mme-fm", "mme-em", "usl-h-vup", "usl-h-mlm", "usr-mlm"}  # the response is all they read
    assert {name for name, column in found.items() if np.isfinite(column[1])} == alone & set(metric.card.columns)


def test_what_is_shipped_stays_small() -> None:
    """Each checkpoint under 2 MB but the language model's, all of them under 12 MB."""
    sizes = {folder.name: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
             for folder in checkpoint.SHIPPED.iterdir()}
    weights = {name for name in sizes if (checkpoint.SHIPPED / name / checkpoint.WEIGHTS).exists()}
    assert weights == {trainables.choose(asked).weights for asked in trainables.shipped()}
    assert all((checkpoint.SHIPPED / name / evidence.FILE).exists() for name in set(sizes) - weights)
    assert all(size < 2_000_000 for name, size in sizes.items() if name != "lm")
    assert sum(sizes.values()) < 12_000_000
