"""A run holds one dataset at a time and no votes of another."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Item, Rating
from benchmarks.storage import store
from harness.run import plan
from harness.run.plan import Draws, Selection
from harness.run.run import run_with_data
from harness.run.workspace import open_workspace
from tests.bench.million import grown


def alive() -> dict[type, int]:
    """How many items and ratings there are in this process."""
    every = [type(one) for one in gc.get_objects()]
    return {kind: every.count(kind) for kind in (Item, Rating)}


def test_datasets_are_let_go_before_the_next_is_loaded(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       ) -> None:
    names = ("persona-zhao", "convai2-grade", "dailydialog-grade")
    for name in names:
        store.save(grown(registry.sample(registry.card(name)), 90), home)
    gc.collect()
    before, held = alive(), []
    load = plan.load

    def watched(card: DatasetCard, place: Path, selection: Selection) -> Dataset | None:
        gc.collect()
        held.append({kind: number - before[kind] for kind, number in alive().items()})
        return load(card, place, selection)

    monkeypatch.setattr(plan, "load", watched)
    planned = plan.make(Selection(metrics=("length", "bleu"), datasets=names, data="real"), Draws(0, ranks=20),
                        examples=6)
    _, made = run_with_data(planned, open_workspace(planned, home, tmp_path))
    assert len(held) >= len(names)
    assert all(one == {Item: 0, Rating: 0} for one in held), held
    assert [target.judged.votes for target in made] == [()] * len(names)
