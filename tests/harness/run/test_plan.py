"""A sample of a dataset: whole contexts, all systems alike, the same from the same seed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Item
from harness import cli
from harness.results import files
from harness.run.plan import Selection, load, sampled
from tests.conftest import make_item


def items(contexts: int, systems: tuple[str, ...], *, shared: bool) -> list[Item]:
    """Each context with one answer of every system, or every context with two of one system, system by system."""
    rows = ([(number, system) for number in range(contexts) for system in systems] if shared else
            [(number, systems[number * len(systems) // contexts]) for number in range(contexts) for _ in range(2)])
    return [dataclasses.replace(make_item(f"i_{place}", f"r{place}", context=(str(number),)), system=system)
            for place, (number, system) in enumerate(rows)]


def test_a_sample_holds_whole_contexts_of_all_systems() -> None:
    for shared, expected in ((True, {"a": 4, "b": 4, "c": 4}), (False, {"a": 4, "b": 4, "c": 4})):
        every = items(30, ("a", "b", "c"), shared=shared)
        chosen = sampled(every, 13, "0 toy")
        assert Counter(item.system for item in chosen) == expected
        whole = Counter(item.context for item in every)
        assert all(whole[context] == size for context, size in Counter(item.context for item in chosen).items())
        assert list(chosen) == [item for item in every if item in chosen]
        assert chosen == sampled(every, 13, "0 toy") != sampled(every, 13, "1 toy")
        assert set(chosen) < set(sampled(every, 30, "0 toy"))
    assert len(sampled(items(5, ("a", "b", "c"), shared=True), 1, "")) == 3, "one context at least"


def test_a_run_on_a_sample_is_repeated_and_joined_by_another_metric(tmp_path: Path, home: Path) -> None:
    argv = ["run", "--dataset", "fed-turn", "--metric", "length", "--sample", "20", "--out", str(tmp_path / "out")]
    assert cli.main([*argv, "--draws", "0"]) == 0
    results = files.read(tmp_path / "out" / "report")
    assert results.run.options["sample"] == 20
    assert "--sample 20" in results.run.command
    dataset = load(registry.card("fed-turn"), home, Selection(sample=20))
    assert dataset is not None
    assert results.datasets[0].fingerprint == dataset.fingerprint
    assert cli.main(["leaderboard", "--out", str(tmp_path / "out"), "--with", "distinct"]) == 0
    assert cli.main([*argv, "--limit", "3"]) == 2
