"""A run holds one dataset at a time and no votes of another, and looks ids up instead of searching for them."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Item, Rating
from benchmarks.storage import store
from harness.run import plan
from harness.run.correlate import TargetData
from harness.run.plan import Draws, Selection
from harness.run.run import run_with_data
from harness.run.workspace import open_workspace
from tests.bench.million import grown


def save(home: Path, name: str, items: int) -> None:
    """Store a dataset of the sample, grown to so many items."""
    store.save(grown(registry.sample(registry.card(name)), items), home)


def targets(home: Path, out: Path, *names: str) -> tuple[TargetData, ...]:
    """Run two metrics on datasets."""
    planned = plan.make(Selection(metrics=("length", "bleu"), datasets=names, data="real"), Draws(0, ranks=20),
                        examples=6)
    return run_with_data(planned, open_workspace(planned, home, out))[1]


def alive() -> dict[type, int]:
    """How many items and ratings there are in this process."""
    every = [type(one) for one in gc.get_objects()]
    return {kind: every.count(kind) for kind in (Item, Rating)}


def test_datasets_are_let_go_before_the_next_is_loaded(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       ) -> None:
    names = ("persona-zhao", "convai2-grade", "dailydialog-grade")
    for name in names:
        save(home, name, 90)
    gc.collect()
    before, held = alive(), []
    load = plan.load

    def watched(card: DatasetCard, place: Path, selection: Selection) -> Dataset | None:
        gc.collect()
        held.append({kind: number - before[kind] for kind, number in alive().items()})
        return load(card, place, selection)

    monkeypatch.setattr(plan, "load", watched)
    made = targets(home, tmp_path, *names)
    assert len(held) >= len(names)
    assert all(one == {Item: 0, Rating: 0} for one in held), held
    assert [target.judged.votes for target in made] == [()] * len(names)


class Counted(str):
    """The id of an item that counts how often it was compared."""

    __slots__ = ()
    __hash__ = str.__hash__
    times = 0

    def __eq__(self, other: object) -> bool:
        Counted.times += 1
        return str.__eq__(self, other)


def test_ids_are_looked_up_and_not_searched_for(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = plan.load

    def counted(card: DatasetCard, place: Path, selection: Selection) -> Dataset | None:
        dataset = load(card, place, selection)
        return dataset and replace(dataset, items=tuple(replace(item, id=Counted(item.id)) for item in dataset.items))

    monkeypatch.setattr(plan, "load", counted)
    per_item = []
    for items in (50, 400):
        save(home, "persona-zhao", items)
        Counted.times = 0
        targets(home, tmp_path / str(items), "persona-zhao")
        per_item.append(Counted.times / items)
    assert per_item[0] >= 1  # they were counted
    assert per_item[1] <= 8 / 3 * per_item[0], per_item  # a search would take 8 times as many, a sort a few more
