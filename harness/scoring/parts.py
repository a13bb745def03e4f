"""The loop over parts: what is to be scored is cut into parts, an executor scores and stores them, and they are joined.

A run that is killed loses the parts that were being scored; the next one scores what no stored part covers. A part that
is damaged is scored again, one that was refused has NaN for its scores.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from benchmarks.dataset import Dataset
from harness.errors import HarnessError, ScoringFailed, StoreError
from harness.scoring.pairs import Pair
from harness.scoring.progress import RunProgress
from harness.scoring.score import score_part
from harness.scoring.store import ScoreStore, Span, cut
from metrics.errors import CannotScore, MetricError, MissingResource, line_of
from metrics.metric import Metric
from metrics.models.reading import READING
from metrics.models.service import Models

SMALLEST, LARGEST = 64, 16_384
"""Items of a part, at least and at most."""

TARGET = 60.0
"""Seconds that a part should take where several workers share the parts."""

TRIES = 3
"""How often damaged parts are scored again."""

Key = tuple[str, str]
"""Fingerprint of a dataset, signature of a metric."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive items of a dataset that one metric scores in one call."""

    pair: Pair
    span: Span

    @property
    def seconds(self) -> float:
        """The estimated time."""
        return self.pair.cost * (self.span[1] - self.span[0])


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a part: its scores are in the store, or `error` says why there are none."""

    part: Part
    seconds: float
    error: Exception | None = None
    tokens: int = 0
    worker: int = 0


class Executor(Protocol):
    """Scores and stores parts, here or elsewhere."""

    workers: int
    device: str
    """The device of the workers; empty where it is that of this process."""

    def score(self, parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress) -> Iterator[Result]:
        """Score parts in any order and yield each result; begin no further part once `stopping`."""

    def close(self) -> None:
        """Release the workers."""


@dataclass(slots=True)
class Local:
    """Scores the parts of one dataset in this process."""

    dataset: Dataset
    models: Models
    store: ScoreStore
    workers: int = field(default=1, init=False)
    device: str = field(default="", init=False)

    def score(self, parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress) -> Iterator[Result]:
        """Score parts in their order."""
        for part in parts:
            if stopping():
                return
            start, read = time.monotonic(), READING.tokens
            progress.estimate.began((part.pair.dataset, part.pair.label, part.span), start)
            metric = part.pair.chosen.metric
            error = score_span(metric, self.dataset, part.span, part.pair.signature, self.models, self.store)
            seconds = time.monotonic() - start
            progress.reading_seconds += seconds if READING.tokens > read else 0.0
            yield Result(part, seconds, error)

    def close(self) -> None:
        """Nothing to release."""


def cut_pairs(pairs: Iterable[Pair], store: ScoreStore, workers: int = 1) -> list[Part]:
    """Cut what is not stored into parts; those of the same models and items follow each other.

    With several workers the metrics that read the same models are cut alike, into parts of about TARGET seconds.
    """
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.dataset, pair.group or pair.label].append(pair)
    parts = []
    for members in groups.values():
        size = _size(members) if workers > 1 else LARGEST
        together = [Part(pair, span) for pair in members for gap in store.gaps(*pair.key, len(pair.items))
                    for span in ([gap] if pair.whole else cut(gap, size))]
        parts += sorted(together, key=lambda part: part.span) if workers > 1 else together
    return parts


def _size(pairs: Sequence[Pair]) -> int:
    """A power of two, so that the grids of two sizes fit."""
    size, cost = SMALLEST, sum(pair.cost for pair in pairs if not pair.whole)
    while size < LARGEST and 2 * size * cost <= TARGET:
        size *= 2
    return size


def score_pairs(pairs: Sequence[Pair], executor: Executor, store: ScoreStore, progress: RunProgress, *,
                rescore: bool = False) -> dict[Key, Exception]:
    """Score pairs into the store; return why the others have no scores.

    The first Ctrl-C lets the parts that were begun come to their end.
    """
    if rescore:
        for pair in pairs:
            store.clear(*pair.key)
    progress.at_once = executor.workers
    errors: dict[Key, Exception] = {}
    failed: dict[Key, dict[Span, Exception]] = defaultdict(dict)
    waiting = list(pairs)
    for _ in range(TRIES):
        parts = [part for part in cut_pairs(waiting, store, executor.workers) if part.span not in failed[part.pair.key]]
        left = Counter(part.pair.key for part in parts)
        damaged = [pair for pair in waiting
                   if not left[pair.key] and not _complete(pair, failed[pair.key], store, errors)]
        for part in parts:
            progress.estimate.plan((part.pair.dataset, part.pair.label, part.span), *part.pair.expected(part.span))
        with stoppable(lambda: _announce(executor, progress)) as stopping:
            for result in executor.score(parts, stopping, progress):
                pair, span = result.part.pair, result.part.span
                _report(result, progress)
                if result.error:
                    failed[pair.key][span] = result.error
                left[pair.key] -= 1
                if not left[pair.key] and not _complete(pair, failed[pair.key], store, errors, span):
                    damaged.append(pair)
        waiting = damaged
        if not waiting:
            return errors
    raise StoreError(f"{store.root}: parts of {waiting[0].label} on {waiting[0].dataset} cannot be read back")


def _complete(pair: Pair, failed: dict[Span, Exception], store: ScoreStore, errors: dict[Key, Exception],
              last: Span = (0, 0)) -> bool:
    """Join the parts of a pair, unless it failed; return False where a part is damaged."""
    crashed = [error for _, error in sorted(failed.items()) if not isinstance(error, CannotScore)]
    if crashed or sum(stop - start for start, stop in failed) == len(pair.items):
        errors[pair.key] = crashed[0] if crashed else failed[min(failed)]
    elif last != (0, len(pair.items)):  # the whole is stored as such
        scores = store.joined(*pair.key, pair.items, failed)
        if scores is None:
            return False
        store.put(*pair.key, scores)
    return True


def score_span(metric: Metric, dataset: Dataset, span: Span, key: str, models: Models, store: ScoreStore,
               ) -> Exception | None:
    """Score and store a part of a dataset; return the error of a metric that refuses or crashes."""
    part = Dataset(dataset.card, dataset.items[slice(*span)], (), dataset.origin, dataset.fingerprint)
    try:
        scores = score_part(metric, part, models)
    except (CannotScore, MissingResource) as error:
        return error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a metric is foreign code
        return failure(error, metric)
    if len(part.items) == len(dataset.items):
        store.put(dataset.fingerprint, key, scores)
    else:
        store.put_part(dataset.fingerprint, key, span, scores)
    return None


def _report(result: Result, progress: RunProgress) -> None:
    refused = isinstance(result.error, CannotScore | MissingResource)
    outcome = "scored" if result.error is None else "refused" if refused else "crashed"
    pair, end = result.part.pair, time.monotonic()
    progress.part(pair.dataset, pair.label, result.part.span, end - result.seconds, end, outcome, worker=result.worker,
                  tokens=result.tokens)


def _announce(executor: Executor, progress: RunProgress) -> None:
    parts = "the current part" if executor.workers == 1 else "the current parts"
    progress.say(f"stopping after {parts}; all scores are kept, and the same command continues; Ctrl-C again stops at "
                 "once")


def failure(error: BaseException, metric: Metric | None) -> ScoringFailed:
    """Return the exception of a metric as one printable line; unexpected ones with their stack."""
    try:
        text = str(error)
    except Exception:  # foreign code as well
        text = "its message cannot be printed"
    message = f"{type(error).__name__}{': ' * bool(text)}{text}{line_of(error, metric)}"
    line = message.encode(errors="backslashreplace").decode()
    return ScoringFailed(line, "" if isinstance(error, MetricError | HarnessError) else traceback.format_exc())


@contextlib.contextmanager
def stoppable(announce: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C or SIGTERM only announce itself, and raise KeyboardInterrupt after the block.

    Yields a function that says whether it came. The second signal acts at once.
    """
    stopped = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: stopped
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}

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
        yield lambda: stopped
    except BaseException as error:
        if stopped:
            raise KeyboardInterrupt from error
        raise
    finally:
        restore()
    if stopped:
        raise KeyboardInterrupt
