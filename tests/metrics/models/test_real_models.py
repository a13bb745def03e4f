"""Every neural metric on every real dataset: a column for every item that can be scored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Item
from benchmarks.formats import official
from benchmarks.registry import card
from harness.scoring.score import score, unmet
from metrics import registry
from metrics.models.service import Choice, Models

pytestmark = pytest.mark.slow

NEURAL = tuple(name for name in registry.names() if registry.card(name).models)
FEW = 20
"""Items of each dataset."""

SCORABLE: dict[str, Callable[[Item], bool]] = {
    "references": lambda item: any(reference.text.strip() for reference in item.references),
    "context": lambda item: bool(item.context and item.context[-1].text.strip()),
    "facts": lambda item: any(fact.strip() for fact in item.facts),
    "response": lambda item: item.response is None or bool(item.response.text.strip()),
}


@pytest.fixture(scope="module")
def datasets(real_data: Path) -> list[Dataset]:
    paths = sorted((real_data / "human_evaluation_data").glob("*.json"))
    return [official.parse(path, card(path.stem.removesuffix("_eval"))) for path in paths]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, tiny_lm: Path) -> Models:
    return Models(tmp_path_factory.mktemp("home"), Choice(lm=str(tiny_lm), device="cpu"))


def test_every_item_that_can_be_scored_has_every_column(datasets: list[Dataset], models: Models) -> None:
    assert len(datasets) == 10
    for name in NEURAL:
        check(name, datasets, models)


def check(name: str, datasets: list[Dataset], models: Models) -> None:
    metric = registry.choose(name).metric
    scored = 0
    for whole in datasets:
        dataset = Dataset(whole.card, whole.items[:FEW], (), "imported")
        if unmet(metric, dataset):
            continue
        for column, values in score(metric, dataset, models).columns.items():
            needs = {*metric.card.needs, "response", *needed(name, column.partition(":")[0])}
            there = np.array([all(SCORABLE[need](item) for need in needs) for item in dataset.items])
            if dataset.card.level == "dialogue":
                there[:] = not needs & {"references", "facts"}
            assert np.isfinite(values[there]).all(), f"{column} on {dataset.card.name}"
            scored += int(there.sum())
    assert scored >= FEW


def needed(name: str, column: str) -> set[str]:
    """What a column needs of an item besides what its card says."""
    found = {"context"} if name in {"cosine", "holistic"} or registry.card(name).family == "trained" else set()
    if column in {"ruber", "bert-ruber", "adem", "bert-regressor"} or column.endswith("-referenced"):
        found.add("references")
    return found | ({"facts"} if column == "usr-dr-f" else set())
