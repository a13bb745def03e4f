"""The scheduler: every part is scored once, what is lost with a worker is tried again, and limits hold."""

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from harness.errors import ScoringFailed, StoreError
from harness.scoring.executors.scheduler import Limits, Scheduler
from harness.scoring.executors.tasks import Began, Ended, Event, Lost, Task
from harness.scoring.pairs import Pair, shared
from harness.scoring.progress import Progress, RunProgress
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore, Span
from metrics import registry
from metrics.errors import CannotScore, MissingResource
from metrics.models.service import Models
from metrics.registry import Chosen

ITEMS = tuple(f"item-{number}" for number in range(300))
PRINT = "f" * 64
WHOLE = [float(number) for number in range(300)]


def pair(name: str, *, group: str = "", whole: bool = False, cost: float = 1.0) -> Pair:
    """With a cost of a second per item, a part has 64 items."""
    metric = SimpleNamespace(card=SimpleNamespace(name=name, scope="dataset" if whole else "item"))
    return Pair("toy", PRINT, ITEMS, Chosen(metric, "", name), f"{name}|r1", group, cost)  # type: ignore[arg-type]


class Log(RunProgress):
    """Remembers what was reported."""

    def __init__(self) -> None:
        super().__init__(terminal=Progress(stream=io.StringIO()))
        self.said: list[str] = []
        self.ended: list[tuple[int, str, Span, str]] = []

    def part(self, dataset: str, metric: str, span: Span, start: float, end: float, outcome: str, *,
             worker: int = 0, tokens: int = 0) -> None:
        assert start <= end
        self.ended.append((worker, metric, span, outcome))

    def say(self, text: str) -> None:
        self.said.append(text)


Answer = Callable[[int, Task, str], Event | None]


@dataclass
class Fake:
    """Workers that answer as they are told; None stands for one that hangs."""

    store: ScoreStore
    workers: int = 1
    device: str = ""
    answer: Answer = lambda worker, task, metric: Ended(metric)
    held: int = 0
    tasks: dict[int, list[str]] = field(default_factory=dict)
    assigned: dict[int, Task] = field(default_factory=dict)
    log: list[tuple[int, Task]] = field(default_factory=list)
    killed: list[int] = field(default_factory=list)
    begun: dict[int, tuple[Task, str]] = field(default_factory=dict)

    def send(self, worker: int, task: Task) -> None:
        assert worker not in self.assigned
        self.assigned[worker], self.tasks[worker] = task, list(task.metrics)
        self.log.append((worker, task))

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:
        """Each worker does one metric."""
        for worker, task in list(self.assigned.items()):
            metric = self.tasks[worker][0]
            if self.begun.get(worker) != (task, metric):
                self.begun[worker] = task, metric
                yield worker, Began(metric)
            event = self.answer(worker, task, metric)
            if event is None:
                time.sleep(min(seconds, 0.01))
                continue
            self.tasks[worker].pop(0)
            if isinstance(event, Ended) and event.error is None:
                part = ITEMS[slice(*task.span)]
                column = np.array([float(name[5:]) for name in part])
                self.store.put_part(PRINT, f"{metric}|r1", task.span, Scores(part, {"x": column}, 0.5))
            if isinstance(event, Lost) or not self.tasks[worker]:
                del self.assigned[worker], self.begun[worker]
            yield worker, event

    def kill(self, worker: int) -> str:
        self.killed.append(worker)
        self.begun.pop(worker, None)
        self.assigned.pop(worker, None)
        return "its last words"

    def memory(self, worker: int) -> int:
        return self.held

    def close(self) -> None:
        """Nothing to end."""


def run(tmp_path: Path, *pairs: Pair, limits: Limits | None = None, workers: int = 1,
        answer: Answer | None = None, held: int = 0) -> tuple[Scheduler, Fake, Log]:
    store, watch = ScoreStore(tmp_path), Log()
    fake = Fake(store, workers, held=held, **({"answer": answer} if answer else {}))
    scheduler = Scheduler(fake, store, limits or Limits(), watch)
    scheduler.run(pairs)
    return scheduler, fake, watch


def column(scheduler: Scheduler, metric: str) -> list[float]:
    found = scheduler.store.get(PRINT, f"{metric}|r1")
    assert found is not None
    assert found.items == ITEMS
    return found.columns["x"].tolist()


@pytest.mark.parametrize("workers", [1, 7])
def test_parts_are_joined_whoever_scored_them(tmp_path: Path, workers: int) -> None:
    scheduler, fake, _ = run(tmp_path, pair("a"), pair("b", group="m"), pair("c", group="m"), pair("d", whole=True),
                             workers=workers)
    for metric in "abcd":
        assert column(scheduler, metric) == WHOLE
    assert scheduler.errors == {}
    assert list(tmp_path.rglob("*.shard")) == []
    assert {task.span for _, task in fake.log if "a" in task.metrics} == {(0, 64), (64, 128), (128, 192), (192, 256),
                                                                          (256, 300)}
    assert {task.metrics for _, task in fake.log if task.group == "m"} == {("b", "c")}, "they share a model"
    assert [task.span for _, task in fake.log if "d" in task.metrics] == [(0, 300)], "it looks at all items"


def test_a_lost_part_is_tried_again_elsewhere(tmp_path: Path) -> None:
    lost: list[int] = []

    def answer(worker: int, task: Task, metric: str) -> Event:
        if metric == "b" and task.span[0] == 64 and len(lost) < 2:
            lost.append(worker)
            return Lost("killed by SIGKILL", "the end of its log")
        return Ended(metric)

    scheduler, fake, watch = run(tmp_path, pair("b", group="m"), pair("c", group="m"), workers=2, answer=answer)
    assert column(scheduler, "b") == column(scheduler, "c") == WHOLE
    assert scheduler.errors == {}
    assert len(lost) == 2
    again = [worker for worker, task in fake.log if task.metrics == ("b",) and task.span[0] == 64]
    assert again[0] != lost[0], "elsewhere"
    assert any("killed by SIGKILL; tried again" in text and "the end of its log" in text for text in watch.said)
    scored = [(metric, span) for _, metric, span, told in watch.ended if told == "scored"]
    assert len(scored) == len(set(scored)) == 10, "nothing is scored twice"


def test_what_costs_three_workers_is_assigned_up_and_costs_itself_alone(tmp_path: Path) -> None:
    def answer(worker: int, task: Task, metric: str) -> Event:
        return Lost("killed by SIGSEGV") if metric == "b" and task.span[0] == 64 else Ended(metric)

    scheduler, _, watch = run(tmp_path, pair("b", group="m"), pair("c", group="m"), answer=answer)
    error = scheduler.errors[PRINT, "b|r1"]
    assert isinstance(error, ScoringFailed)
    assert str(error) == "items 64 to 127 cost a worker 3 times: killed by SIGSEGV"
    assert [told for *_, told in watch.ended].count("lost") == 3
    assert column(scheduler, "c") == WHOLE
    assert len(scheduler.store.parts(PRINT, "b|r1")) == 4, "what it did well is kept"


@pytest.mark.parametrize(("limits", "held", "reason"), [
    (Limits(seconds=0.05), 0, "took longer than 0.05 s"),
    (Limits(memory=1 << 30), 2 << 30, "held more than 1 GiB"),
])
def test_limits_end_a_part(tmp_path: Path, limits: Limits, held: int, reason: str) -> None:
    scheduler, fake, _ = run(tmp_path, pair("a", whole=True), limits=limits, held=held, answer=lambda *_: None)
    assert str(scheduler.errors[PRINT, "a|r1"]) == f"items 0 to 299 cost a worker 3 times: {reason}"
    assert fake.killed == [0, 0, 0]


def test_a_pair_without_scores_has_the_error_of_its_first_part(tmp_path: Path) -> None:
    for kind in (ScoringFailed, MissingResource, CannotScore):
        def answer(worker: int, task: Task, metric: str, kind: type[Exception] = kind) -> Event:
            return Ended(metric, kind(f"at {task.span[0]}"))

        scheduler, *_ = run(tmp_path, pair("a"), workers=3, answer=answer)
        error = scheduler.errors[PRINT, "a|r1"]
        assert (type(error), str(error)) == (kind, "at 0")


def test_items_that_a_part_cannot_score_are_missing_where_others_can(tmp_path: Path) -> None:
    def answer(worker: int, task: Task, metric: str) -> Event:
        return Ended(metric, CannotScore("no references")) if task.span[0] == 64 else Ended(metric)

    scheduler, *_ = run(tmp_path, pair("a"), answer=answer)
    assert scheduler.errors == {}
    assert np.isnan(column(scheduler, "a")[64:128]).all()
    assert np.isfinite(column(scheduler, "a")[:64]).all()


def kept(tmp_path: Path, *spans: Span) -> None:
    """The parts that an earlier run has left."""
    for span in spans:
        column = np.array(WHOLE[slice(*span)])
        ScoreStore(tmp_path).put_part(PRINT, "a|r1", span, Scores(ITEMS[slice(*span)], {"x": column}, 1.0))


def test_a_second_run_goes_on_with_the_parts_of_the_first(tmp_path: Path) -> None:
    kept(tmp_path, (10, 200))
    scheduler, fake, _ = run(tmp_path, pair("a"))
    assert {task.span for _, task in fake.log} == {(0, 10), (200, 256), (256, 300)}
    assert column(scheduler, "a") == WHOLE


def test_a_damaged_part_is_scored_anew(tmp_path: Path) -> None:
    kept(tmp_path, (0, 64), (64, 128), (128, 192), (192, 256), (256, 300))
    damaged = sorted(tmp_path.rglob("*.shard"))[2]
    damaged.write_bytes(damaged.read_bytes()[:-7])
    scheduler, fake, _ = run(tmp_path, pair("a"))
    assert column(scheduler, "a") == WHOLE
    assert [task.span for _, task in fake.log] == [(128, 192)]
    assert len(scheduler.store.set_aside) == 1


def test_a_damaged_part_beside_one_that_cannot_be_scored_is_scored_anew(tmp_path: Path) -> None:
    damaged: list[Path] = []

    def answer(worker: int, task: Task, metric: str) -> Event:
        if task.span[0] != 256:
            return Ended(metric)
        if not damaged:
            damaged.extend(sorted(tmp_path.rglob("*.shard"))[:1])
            damaged[0].write_bytes(b"")
        return Ended(metric, CannotScore("no references"))

    scheduler, fake, _ = run(tmp_path, pair("a"), answer=answer)
    assert scheduler.errors == {}
    assert [task.span for _, task in fake.log].count((0, 64)) == 2
    assert column(scheduler, "a")[:256] == [float(number) for number in range(256)]
    assert np.isnan(column(scheduler, "a")[256:]).all()


def test_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No space left"):
        run(tmp_path, pair("a"), answer=lambda *_: StoreError("No space left on device"))


def test_a_stopped_scheduler_begins_nothing_more_and_leaves_what_is_lost(tmp_path: Path) -> None:
    for end in (Ended("a"), Lost("killed by SIGKILL")):
        store, watch = ScoreStore(tmp_path / type(end).__name__), Log()
        fake = Fake(store)
        scheduler = Scheduler(fake, store, Limits(), watch)

        def answer(worker: int, task: Task, metric: str, end: Event = end, own: Scheduler = scheduler) -> Event:
            own.stop()
            return end

        fake.answer = answer
        with pytest.raises(KeyboardInterrupt):
            scheduler.run([pair("a"), pair("b")])
        assert len(fake.log) == 1
    assert len(list(tmp_path.rglob("*.shard"))) == 1, "what was being scored is kept"
    assert watch.said[-1].endswith("killed by SIGKILL; left to the next run")


def test_a_model_that_is_not_here_shares_nothing(tmp_path: Path) -> None:
    class Without(Models):
        def identity(self, kind: str, name: str) -> str:
            raise MissingResource(f"{kind} {name}: torch is not installed")

    metric = registry.choose("cosine").metric
    assert shared(metric, Models(tmp_path)).startswith("encoder=")
    assert shared(metric, Without(tmp_path)) == ""
