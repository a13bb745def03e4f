"""WMT25's rule: its two accuracies, which targets have which, and false findings."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from harness.statistics import pairwise, wmt25
from harness.statistics.estimates import STATISTICS, at_level
from harness.statistics.panel import Panel

SYSTEMS, CONTEXTS = 4, 30


def panel(human: np.ndarray, *, shared: bool = True) -> Panel:
    """Return a panel of ratings (contexts, systems)."""
    contexts, systems = human.shape
    context = np.repeat(np.arange(contexts), systems) if shared else np.arange(human.size)
    return Panel(human.ravel(), human.ravel(), np.tile(np.arange(systems), contexts), context)


def test_tasks_have_the_two_accuracies(rng: np.random.Generator) -> None:
    human = rng.integers(1, 6, size=(CONTEXTS, SYSTEMS)) + np.arange(SYSTEMS) / 2.0
    metrics = np.array([human + rng.normal(size=human.shape) / 2, rng.normal(size=human.shape), np.zeros(human.shape)])
    made = {task.kind: task for task in wmt25.tasks(panel(human), metrics.reshape(3, -1), 50, rng)}
    rows = [replace(panel(human), metric=metric.ravel()) for metric in metrics]
    with_ties = at_level("pairwise-accuracy", "within-contexts")
    assert made["ties"].values == pytest.approx([with_ties(part) for part in rows])
    assert made["soft"].values == pytest.approx([pairwise.soft_pairwise_accuracy(part) for part in rows])
    assert wmt25.mean([*made.values()]) == pytest.approx((made["ties"].values + made["soft"].values) / 2)
    assert wmt25.clusters([*made.values()], 2) == (1, 2, 0)


def test_systems_without_shared_contexts_have_no_ties_task(rng: np.random.Generator) -> None:
    human = rng.normal(size=(30, 3)) + np.array([0, 0, 2])
    metric = human + rng.normal(size=human.shape)
    metric[0, 0] = math.nan
    (task,) = wmt25.tasks(panel(human, shared=False), metric.reshape(1, -1), 50, rng)
    assert (task.kind, task.values[0] > 0.5) == ("soft", True)


def test_one_shared_context_does_not_decide(rng: np.random.Generator) -> None:
    human = rng.normal(size=(60, 3)) + np.array([0, 0.4, 0.8])
    metrics = np.array([human + rng.normal(size=human.shape) / 4, np.zeros(human.shape)])
    rows = panel(human, shared=False)
    rows.context[:3] = 0
    (soft_task, _) = wmt25.tasks(rows, metrics.reshape(2, -1), 50, rng)
    assert soft_task.values[0] > soft_task.values[1] + 0.2
    assert soft_task.differences(0, 1)[0] == pytest.approx(soft_task.values[0] - soft_task.values[1], abs=0.05)


def test_about_10_percent_of_equal_metrics_differ(rng: np.random.Generator) -> None:
    """The better of two equal metrics is tested at one-sided 5 %."""
    def differ() -> bool:
        quality = rng.normal(size=(40, 5)) + 0.3 * rng.normal(size=5)
        people = np.clip(np.round(3 + quality + rng.normal(size=quality.shape) / 2), 1, 5)
        scores = quality + 0.7 * rng.normal(size=(2, *quality.shape))
        made = wmt25.tasks(panel(people), scores.reshape(2, -1), 100, rng)
        return max(wmt25.clusters(made, 2)) == 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "DRAWS", 200)
        assert 0.03 <= np.mean([differ() for _ in range(150)]) <= 0.18


def test_pairwise_difference_pearson_by_definition(rng: np.random.Generator) -> None:
    human, metric = rng.integers(1, 6, size=30).astype(float), rng.normal(size=30)
    context = np.sort(rng.integers(6, size=30))
    pairs = [(i, j) for i in range(30) for j in range(30) if i != j and context[i] == context[j]]
    by_pairs = np.corrcoef([human[i] - human[j] for i, j in pairs], [metric[i] - metric[j] for i, j in pairs])[0, 1]
    value = STATISTICS["pairwise-difference-pearson"].value
    assert value(Panel(human, metric, context, context)) == pytest.approx(by_pairs)
    assert value(Panel(human, metric, context, 0 * context)) == pytest.approx(np.corrcoef(human, metric)[0, 1])
    assert math.isnan(value(Panel(human, metric, context, np.arange(30))))


def test_memory_is_that_of_pairs_within_contexts(rng: np.random.Generator) -> None:
    human = rng.integers(1, 6, size=(5000, 1)).astype(float)
    metric = np.append(human[1:], 0)
    people = panel(human)
    people = Panel(people.human, people.metric, people.system, rng.permutation(np.arange(5000) // 2))
    tracemalloc.start()
    tasks = wmt25.tasks(people, metric[None], 2, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [task.kind for task in tasks] == ["ties"]
    assert peak < 10e6, "all pairs of rows would take 300 MB"
