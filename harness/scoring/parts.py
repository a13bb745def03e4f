"""The loop over parts: split the items into parts, have a function score and store each, and join the scores.

A killed run loses only the parts that were being scored; the next run scores the missing parts. A part that is damaged
or whose worker was lost is retried, with MAX_ATTEMPTS attempts in all; the scores of a refused part are NaN.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from benchmarks.dataset import Dataset
from harness.errors import HarnessError, ScoringFailed, StoreError
from harness.scoring.pairs import Pair
from harness.scoring.progress import RunProgress
from harness.scoring.score import score_part
from harness.scoring.store import ScoreStore, Span, split_span
from metrics.errors import BadScores, CannotScore, MetricError, MissingResource, line_of
from metrics.metric import Metric
from metrics.models.counters import COUNTERS
from metrics.models.service import Models

MIN_ITEMS, MAX_ITEMS = 64, 16_384
"""Minimum and maximum number of items of a part."""
MAX_ITEMS_WITH_LM = 256
"""Maximum number of items of a part for a language model, which can take seconds per item."""
TARGET_SECONDS = 60.0
"""Seconds that a part should take if several workers share the parts."""
MAX_ATTEMPTS = 3
"""Maximum number of attempts at a part that is damaged or whose worker is lost."""
Key = tuple[str, str]
"""Fingerprint of a dataset, signature of a metric."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive items of a dataset that one metric scores in one call."""

    pair: Pair
    span: Span

    @property
    def name(self) -> tuple[str, str, Span]:
        return self.pair.dataset, self.pair.label, self.span

    @property
    def estimated_seconds(self) -> float:
        return self.pair.cost * (self.span[1] - self.span[0])


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a part: scores in the store, the `error` that prevented them, or why its worker was `lost`.

    The time is not `measured` if a judge's answers were read from the store.
    """

    part: Part
    seconds: float
    error: Exception | None = None
    worker: int = 0
    lost: str = ""
    measured: bool = True


ScoreParts = Callable[[Sequence[Part], Callable[[], bool], RunProgress], Iterator[Result]]
"""Scores and stores parts in any order and yields each result; starts no part once the second argument returns True."""


def in_process(dataset: Dataset, models: Models, store: ScoreStore) -> ScoreParts:
    """Return a function that scores the parts of one dataset in this process, in order."""
    def score(parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress) -> Iterator[Result]:
        models.stopping = stopping
        for part in parts:
            if stopping():
                return
            progress.part_began(part.name)
            start = time.monotonic()
            error = score_span(part.pair.chosen.metric, dataset, part.span, part.pair.signature, models, store)
            yield Result(part, time.monotonic() - start, error, measured=not COUNTERS.stored_answers)

    return score


def cut_pairs(pairs: Iterable[Pair], store: ScoreStore, workers: int = 1,
              failed: Mapping[Key, Collection[Span]] | None = None) -> list[Part]:
    """Split the items without stored scores into parts; parts with the same models and items follow each other.

    With several workers, metrics that use the same models are split identically, so that together they take about
    TARGET_SECONDS for each span of items. The items of a metric whose scores depend on the dataset's other items are
    not split. Spans in `failed` are left out.
    """
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.dataset, pair.group or pair.label].append(pair)
    parts = []
    for group in groups.values():
        unsplit = {pair.signature for pair in group if pair.chosen.metric.card.scope == "dataset"}
        uses_lm = any("lm" in pair.chosen.metric.card.models for pair in group)
        largest = size = MAX_ITEMS_WITH_LM if uses_lm else MAX_ITEMS
        if workers > 1:
            cost = sum(pair.cost for pair in group if pair.signature not in unsplit)
            size = MIN_ITEMS
            while size < largest and 2 * size * cost <= TARGET_SECONDS:  # powers of two share boundaries
                size *= 2
        group_parts = [Part(pair, span) for pair in group
                       for gap in store.gaps(*pair.key, len(pair.items), (failed or {}).get(pair.key, ()))
                       for span in ([gap] if pair.signature in unsplit else split_span(gap, size))]
        parts += sorted(group_parts, key=lambda part: part.span) if workers > 1 else group_parts
    return parts


def score_pairs(pairs: Sequence[Pair], score_parts: ScoreParts, store: ScoreStore, progress: RunProgress, *,
                workers: int = 1, rescore: bool = False) -> dict[Key, Exception]:
    """Score pairs and store the scores; return the exceptions of the pairs that failed.

    After a first Ctrl-C, the parts in progress are still completed.
    """
    for pair in pairs if rescore else ():
        store.clear(*pair.key)
    progress.workers = workers
    errors: dict[Key, Exception] = {}
    failed: dict[Key, dict[Span, Exception]] = defaultdict(dict)
    complete: set[Key] = set()
    waiting = list(pairs)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        parts = cut_pairs(waiting, store, workers, failed)
        for part in parts:
            progress.plan(part.name)
        with stoppable(lambda: progress.say("stopping after the current parts; all scores are kept, and the same "
                                            "command resumes; press Ctrl-C again to stop at once")) as stopping:
            for result in score_parts(parts, stopping, progress):
                _report(result, attempt, progress)
                key, span, error = result.part.pair.key, result.part.span, result.error
                if result.lost and attempt == MAX_ATTEMPTS:
                    error = ScoringFailed(f"items {span[0]} to {span[1] - 1} killed {attempt} workers: {result.lost}")
                if error:
                    failed[key][span] = error
                elif span == (0, len(result.part.pair.items)) and not result.lost:
                    complete.add(key)
        waiting = [pair for pair in waiting
                   if pair.key not in complete and not _join(pair, failed[pair.key], store, errors)]
    if waiting:
        raise StoreError(f"{store.root}: parts of {waiting[0].label} on {waiting[0].dataset} cannot be read back")
    return errors


def _join(pair: Pair, failed: dict[Span, Exception], store: ScoreStore, errors: dict[Key, Exception]) -> bool:
    """Join the parts of a pair, or record why it has no scores; return False if a part is missing or damaged."""
    crashes = [error for _, error in sorted(failed.items()) if not isinstance(error, CannotScore)]
    if crashes or sum(stop - start for start, stop in failed) == len(pair.items):
        errors[pair.key] = crashes[0] if crashes else failed[min(failed)]
        return True
    scores = store.join_parts(*pair.key, pair.items, failed)
    if scores is not None:
        store.put(*pair.key, scores)
    return scores is not None


def score_span(metric: Metric, dataset: Dataset, span: Span, key: str, models: Models, store: ScoreStore,
               ) -> Exception | None:
    """Score and store a part of a dataset; return the error if the metric cannot score it or crashes."""
    part = Dataset(dataset.card, dataset.items[slice(*span)], (), dataset.origin, dataset.fingerprint)
    try:
        scores = score_part(metric, part, models)
    except (CannotScore, MissingResource) as error:
        return error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a metric is third-party code
        return failure(error, metric)
    if len(part.items) == len(dataset.items):
        store.put(dataset.fingerprint, key, scores)
    else:
        store.put_part(dataset.fingerprint, key, span, scores)
    return None


def _report(result: Result, attempt: int, progress: RunProgress) -> None:
    refused = isinstance(result.error, CannotScore | MissingResource)
    outcome = "refused" if refused else "crashed" if result.error else "lost" if result.lost else "scored"
    progress.part_ended(result.part.name, result.seconds, outcome, result.worker, measured=result.measured)
    if result.lost:
        dataset, metric, (first, last) = result.part.name
        progress.say(f"{dataset}: a worker was lost while scoring {metric}, items {first} to {last - 1}: "
                     f"{result.lost}; {'retrying' if attempt < MAX_ATTEMPTS else 'giving up'}")


def failure(error: BaseException, metric: Metric | None) -> ScoringFailed:
    """Convert a metric's exception to one with a printable one-line message, and the traceback if it is unexpected."""
    try:
        text = str(error)
    except Exception:  # __str__ is third-party code, too
        text = "its message cannot be printed"
    prefix = "" if isinstance(error, BadScores) else f"{type(error).__name__}{': ' * bool(text)}"
    message = f"{prefix}{text}{line_of(error, metric)}"
    line = message.encode(errors="backslashreplace").decode()
    return ScoringFailed(line, "" if isinstance(error, MetricError | HarnessError) else traceback.format_exc())


@contextlib.contextmanager
def stoppable(announce: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Defer the first Ctrl-C or SIGTERM: announce it, and raise KeyboardInterrupt after the block.

    Yield a function that returns whether a signal was received. A second signal takes effect at once.
    """
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped.is_set
        return
    previous_handlers = {number: signal.getsignal(number) or signal.SIG_DFL
                         for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()
        restore()
        announce()

    for number in previous_handlers:
        signal.signal(number, stop)
    try:
        yield stopped.is_set
    except BaseException as error:
        if stopped.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        restore()
    if stopped.is_set():
        raise KeyboardInterrupt
