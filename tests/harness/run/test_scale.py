"""A run holds one dataset at a time and no votes of another, and eight times the items take eight times as long."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Item, Rating
from benchmarks.storage import store
from harness.results import files
from harness.run import plan
from harness.run.correlate import TargetData
from harness.run.plan import Draws, Selection
from harness.run.run import run_with_data
from harness.run.workspace import Workers, open_workspace
from tests.bench.million import METRICS, grown

FEW, TIMES = 1000, 8
"""Items of the small dataset, and how many times as many the large one has."""
MOST = 1.5 * TIMES
"""How many times as long that may take; half of it is usual, for what does not grow, and the rest is room for noise."""


def kept(home: Path, name: str, items: int) -> None:
    """Keep a dataset of the sample, grown to so many items."""
    store.save(grown(registry.sample(registry.card(name)), items), home)


def ran(home: Path, out: Path, *names: str, executor: str = "local") -> tuple[TargetData, ...]:
    """Run five metrics on datasets, to the report on disk."""
    planned = plan.make(Selection(metrics=METRICS, datasets=names, data="real"), Draws(0, ranks=20), examples=6)
    results, targets = run_with_data(planned, open_workspace(planned, home, out, workers=Workers(executor)))
    files.write(results, out / "report")
    return targets


@pytest.mark.parametrize("executor", ["local", "local:1"])
def test_datasets_are_let_go_before_the_next_is_loaded(
    executor: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("persona-zhao", "convai2-grade", "dailydialog-grade")
    for name in names:
        kept(home, name, 90)
    gc.collect()
    before, held = alive(), []
    load = plan.load

    def watched(card: DatasetCard, place: Path, selection: Selection) -> Dataset | None:
        gc.collect()
        held.append({kind: number - before[kind] for kind, number in alive().items()})
        return load(card, place, selection)

    monkeypatch.setattr(plan, "load", watched)
    targets = ran(home, tmp_path, *names, executor=executor)
    assert len(held) >= len(names)
    assert all(one == {Item: 0, Rating: 0} for one in held), held
    assert [target.judged.votes for target in targets] == [()] * len(names)


def alive() -> dict[type, int]:
    """How many items and ratings there are in this process."""
    every = [type(one) for one in gc.get_objects()]
    return {kind: every.count(kind) for kind in (Item, Rating)}


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
        found = load(card, place, selection)
        return found and replace(found, items=tuple(replace(item, id=Counted(item.id)) for item in found.items))

    monkeypatch.setattr(plan, "load", counted)
    often = []
    for items in (50, 50 * TIMES):
        kept(home, "persona-zhao", items)
        Counted.times = 0
        ran(home, tmp_path / str(items), "persona-zhao")
        often.append(Counted.times / items)
    assert often[0] >= 1  # they were counted
    assert often[1] <= TIMES / 3 * often[0], often  # a search would take TIMES as many, a sort takes a few more


def test_time_grows_as_the_items_do(home: Path, tmp_path: Path) -> None:
    took = []
    for items in (100, FEW, FEW * TIMES):  # the first loads what is loaded once
        kept(home, "persona-zhao", items)
        start = time.process_time()
        ran(home, tmp_path / str(items), "persona-zhao")
        took.append(time.process_time() - start)
    assert took[2] <= MOST * took[1], took
