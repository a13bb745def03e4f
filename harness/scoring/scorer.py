"""The one way to the scores of a dataset: taken from the store, or scored now and stored.

    metric -> score.score -> store -> Scores

A run, the studies, calibration, `harness.score` and bundles ask a `Scorer`. A composition takes the scores of its
inputs from the same scorer, so nothing is scored twice. Datasets of more than PART items are scored and stored part by
part: a run that is killed loses one part at most, and a metric never holds more than that many items.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import FrameType

from benchmarks.dataset import Dataset, DatasetCard, Item
from harness.errors import BadConfig, HarnessError, ScoringFailed, StoreError
from harness.scoring import composites
from harness.scoring.locks import Locks
from harness.scoring.pairs import Pair
from harness.scoring.progress import RunProgress
from harness.scoring.score import Scores, score, score_part
from harness.scoring.store import ScoreStore, Span, cut, lock_name
from metrics.composition import Composite
from metrics.errors import CannotScore, MetricError, MissingResource, line_of
from metrics.metric import Metric
from metrics.models.reading import READING
from metrics.models.service import Models

PART = 16_384
"""Items that are scored at once, at most."""

TRIES = 3
"""How often damaged parts are scored again."""

WAIT = 1.0
"""Seconds between two looks at what another run is scoring."""


def dataset_of(items: Sequence[Item], name: str = "") -> Dataset:
    """Items of one level as a dataset that is not registered and has no ratings."""
    levels = {"dialogue" if item.response is None else "turn" for item in items}
    if len(levels) > 1:
        raise BadConfig("some items have a response and others are whole dialogues; score them apart")
    if repeated := len(items) - len({item.id for item in items}):
        raise BadConfig(f"{repeated} items have the id of another one; ids are optional, or each its own")
    card = DatasetCard(name=name, title=name, split="dev", level="dialogue" if "dialogue" in levels else "turn",
                       qualities=(), size=len(items), sources=(), licence="", citation="")
    return Dataset(card, tuple(items), (), "imported")


def unwatched(span: Span) -> AbstractContextManager[None]:  # noqa: ARG001
    """Nobody watches the scoring of a part."""
    return contextlib.nullcontext()


@dataclass(slots=True)
class Scorer:
    """The scores of one dataset, registered or not; without a store they are kept in memory alone.

    `fresh` holds the keys of scores that were made in this run; `rescore` takes no other from the store.
    """

    dataset: Dataset
    models: Models
    store: ScoreStore | None = None
    rescore: bool = False
    fresh: set[str] = field(default_factory=set)
    known: dict[str, Scores | BaseException] = field(default_factory=dict)
    unit: Callable[[Span], AbstractContextManager[None]] = unwatched
    """What is entered around the scoring of each part, until it is stored."""

    def scores(self, metric: Metric) -> Scores:
        """The scores of a metric; an exception of the first call is raised again by later ones."""
        key = composites.key(metric, self.dataset, self.models)
        if key not in self.known:
            try:
                usable = self.store if key in self.fresh or not self.rescore else None
                stored = usable.get(self.dataset.fingerprint, key) if usable else None
                self.known[key] = stored or self._scored(key, metric)
            except (KeyboardInterrupt, StoreError):
                raise
            except BaseException as error:  # a metric is foreign code
                self.known[key] = error
        scores = self.known[key]
        if isinstance(scores, BaseException):
            raise scores
        return scores

    def attempt(self, metric: Metric) -> Scores | CannotScore | MissingResource | ScoringFailed:
        """The scores of a metric, or why there are none."""
        try:
            return self.scores(metric)
        except (MissingResource, CannotScore, ScoringFailed) as error:
            return error
        except (KeyboardInterrupt, StoreError):
            raise
        except BaseException as error:
            return failure(error, metric)

    def score_all(self, pairs: Sequence[Pair], locks: Locks, progress: RunProgress) -> None:
        """Score pairs in this process; those that another run is scoring come last, or are taken from it."""
        planned(pairs, progress)
        until_scored(pairs, lambda waiting: [pair for pair in waiting if not self._score_locked(pair, locks, progress)],
                     locks, progress)

    def _score_locked(self, pair: Pair, locks: Locks, progress: RunProgress) -> bool:
        """Score a pair; False where another run is at it. An exception of the metric is told by the next `attempt`."""
        name = lock_name(*pair.key)
        if not locks.take(name):
            return False
        self.unit = functools.partial(watched, pair, progress)
        try:
            self.attempt(pair.chosen.metric)
        finally:
            self.unit = unwatched
            locks.release(name)
            progress.estimate.settled(pair.dataset, pair.label)
        return True

    def _scored(self, key: str, metric: Metric) -> Scores:
        with contextlib.ExitStack() as part:  # of a metric that is scored at once, until its scores are stored
            if isinstance(metric, Composite):
                scores = composites.compose_scores(metric, self.dataset, self.models, self.scores)
            elif self.store is not None and metric.card.scope == "item" and self._in_parts(self.store, key):
                scores = self._by_parts(self.store, key, metric)
            else:
                part.enter_context(self.unit((0, len(self.dataset.items))))
                scores = score(metric, self.dataset, self.models)
            if self.store is not None:
                self.store.put(self.dataset.fingerprint, key, scores)
        self.fresh.add(key)
        return scores

    def _in_parts(self, store: ScoreStore, key: str) -> bool:
        """Whether the dataset is large, or a run that was killed has left parts of it."""
        if self.rescore:
            store.clear(self.dataset.fingerprint, key)
        return len(self.dataset.items) > PART or bool(store.parts(self.dataset.fingerprint, key))

    def _by_parts(self, store: ScoreStore, key: str, metric: Metric) -> Scores:
        """Score what no stored part covers, and join the parts; a part that is damaged is scored again."""
        whole, items = self.dataset, tuple(item.id for item in self.dataset.items)
        if lacking := composites.unmet(metric, whole):
            raise CannotScore(f"no item has {lacking}")
        refused: dict[Span, Exception] = {}
        for _ in range(TRIES):
            for gap in store.gaps(whole.fingerprint, key, len(items)):
                for span in cut(gap, PART):
                    if span not in refused:
                        self._score_part(store, key, metric, span, refused)
            if sum(stop - start for start, stop in refused) == len(items):
                raise refused[min(refused)]
            if (scores := store.joined(whole.fingerprint, key, items, refused)) is not None:
                return scores
        raise StoreError(f"{store.root}: parts of {metric.card.name} on {whole.card.name} do not read back")

    def _score_part(self, store: ScoreStore, key: str, metric: Metric, span: Span, refused: dict[Span, Exception],
                    ) -> None:
        whole = self.dataset
        part = Dataset(whole.card, whole.items[slice(*span)], (), whole.origin, whole.fingerprint)
        try:
            with self.unit(span):
                store.put_part(whole.fingerprint, key, span, score_part(metric, part, self.models))
        except CannotScore as error:
            refused[span] = error


def planned(pairs: Sequence[Pair], progress: RunProgress) -> None:
    """Count the parts that pairs are scored in by one process."""
    for pair in pairs:
        whole = (0, len(pair.items))
        for span in (whole,) if pair.whole else cut(whole, PART):
            progress.estimate.plan((pair.dataset, pair.label, span), *pair.expected(span))


@contextlib.contextmanager
def watched(pair: Pair, progress: RunProgress, span: Span) -> Iterator[None]:
    """Report the scoring of a part, and let the first Ctrl-C wait for its end."""
    start, outcome, before = time.monotonic(), "crashed", READING.tokens
    progress.estimate.began((pair.dataset, pair.label, span), start)
    with first_waits(lambda: progress.say("stopping: waiting for what is being scored to end; it is kept, and the same "
                                          "command goes on; Ctrl-C again does not wait")):
        try:
            yield
            outcome = "scored"
        except (MissingResource, CannotScore):
            outcome = "refused"
            raise
        finally:
            end = time.monotonic()
            progress.part(pair.dataset, pair.label, span, start, end, outcome)
            if READING.tokens > before:
                progress.reading_seconds += end - start


def until_scored(pairs: Sequence[Pair], attempt: Callable[[Sequence[Pair]], list[Pair]], locks: Locks,
                 progress: RunProgress) -> None:
    """Attempt pairs until none is left; `attempt` returns those that another run is scoring, which are waited for."""
    waiting, announced = list(pairs), False
    while waiting:
        busy = attempt(waiting)
        if len(busy) == len(waiting):
            if not announced:
                announced = True
                progress.say(f"{locks.files.root}: another run works on {len(busy)} pairs of metric and dataset; "
                             "waiting for its scores")
            time.sleep(WAIT)
        waiting = busy


def failure(error: BaseException, metric: Metric | None) -> ScoringFailed:
    """What a metric raised, as one printable line, with the stack of an exception that nobody expected."""
    try:
        text = str(error)
    except Exception:  # foreign code as well
        text = "its message cannot be printed"
    message = f"{type(error).__name__}{': ' * bool(text)}{text}{line_of(error, metric)}"
    line = message.encode(errors="backslashreplace").decode()
    return ScoringFailed(line, "" if isinstance(error, MetricError | HarnessError) else traceback.format_exc())


@contextlib.contextmanager
def first_waits(announce: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C once lets what is being scored come to its end; a second one does not wait. SIGTERM counts as Ctrl-C.

    The first signal calls `announce` and raises KeyboardInterrupt after the block; the second acts at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}
    stopped = False

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal stopped
        stopped = True
        restore()
        announce()

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    except BaseException as error:
        if stopped:
            raise KeyboardInterrupt from error
        raise
    finally:
        restore()
    if stopped:
        raise KeyboardInterrupt
