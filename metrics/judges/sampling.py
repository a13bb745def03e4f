"""Send a judge many questions concurrently, with retries.

Every question is sent `samples` times. A kept answer is not asked for again. A request that fails for a while is sent
again after a wait that doubles, with jitter, or that the server names; an answer that cannot be read is asked for anew,
as a further sample. Both happen at most `tries` times.

A question ends with its scores, or without: refused by the server (400), or never answered in a form that can be read.
What is no fault of the question stops the whole: a server that is gone, a key that is refused. Then there are no
scores, so that an outage never becomes a missing score; what was answered is kept, and the next run goes on.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from metrics.errors import CannotScore, MetricError, NoAnswer
from metrics.judges.answer import Answer, ReadScore, scores
from metrics.judges.archive import AnswerArchive, Usage, answer_key
from metrics.judges.endpoint import Again, Endpoint, Refused
from metrics.judges.prompt import Question

Reading = dict[str, ReadScore]
"""Scores of one sample by quality."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second attempt, and at most before any."""
ENOUGH = 24
"""Unreadable or refused answers in a row before the judge is given up."""
REPORT = 30.0
"""Seconds between lines of progress."""
GOES_ON = "what was answered is kept, and the same command goes on"


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Request fields and retry limits."""

    body: Mapping[str, Any]
    samples: int = 1
    tries: int = 6
    concurrency: int = 8
    seed: int = 0


class Stopped(Exception):
    """Another thread has given up."""


class Sampler:
    """Sends one judge's questions; `connect` is called for the first answer not in the archive."""

    def __init__(self, options: SamplingOptions, archive: AnswerArchive, connect: Callable[[], Endpoint], usage: Usage,
                 ) -> None:
        self.options, self.archive, self.usage = options, archive, usage
        self._connect = connect
        self._endpoint: Endpoint | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._quiet_until = 0.0
        self._jitter = random.Random(options.seed)  # noqa: S311  (spreads waits, hides nothing)
        self._failed_in_a_row = 0
        self._unanswered: list[str] = []
        self._refusal = ""

    def readings(self, questions: Sequence[Question]) -> list[list[Reading]]:
        """Return the scores of every sample of every question, in order."""
        samples = range(self.options.samples)
        with ThreadPoolExecutor(self.options.concurrency, "judge") as pool:
            futures = [pool.submit(self._reading, question, sample) for question in questions for sample in samples]
            try:
                self._wait(futures)
            except BaseException as error:
                self._end(pool)
                raise _cause(error, futures) from None
        if self._unanswered:
            raise NoAnswer(f"{len(self._unanswered)} of {len(futures)} requests got no answer "
                                  f"({self._unanswered[-1]}); {GOES_ON}")
        if self._refusal and not self.usage.counts["read"]:
            raise NoAnswer(f"every request was refused ({self._refusal})")
        results = iter(future.result() for future in futures)
        return [[next(results) for _ in samples] for _ in questions]

    def _wait(self, futures: Sequence[Future[Reading]]) -> None:
        """Wait for all threads, printing progress; raise the first exception."""
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, REPORT, FIRST_EXCEPTION)
            for future in done:
                future.result()
            if waiting:
                sys.stderr.write(f"{self.usage.judge}: {len(futures) - len(waiting)} of {len(futures)} answered\n")

    def _end(self, pool: ThreadPoolExecutor) -> None:
        """Stop every thread, including those waiting for an answer."""
        self._stop.set()
        if self._endpoint is not None:
            self._endpoint.cut()
        pool.shutdown(cancel_futures=True)

    def _reading(self, question: Question, sample: int) -> Reading:
        """Return the scores of one sample; missing qualities are taken from the next answer."""
        reading: Reading = {}
        for attempt in range(self.options.tries):
            try:
                answer = self._answer(question, sample, attempt)
            except Refused as error:
                self._count_refused(str(error))
                return reading
            except Again as error:
                with self._lock:
                    self._unanswered.append(str(error))
                return reading
            reading = scores(question, answer) | reading
            if len(reading) == len(question.qualities):
                self.usage.count("read", *(["weighted"] if any(score.weighted for score in reading.values()) else []))
                return reading
            self._count_unreadable(answer)
        self.usage.count("unread")
        return reading

    def _answer(self, question: Question, sample: int, attempt: int) -> Answer:
        body = {**self.options.body, "messages": question.messages}
        if body.get("temperature"):  # else every sample is the likeliest answer, whatever the seed
            body["seed"] = self.options.seed * 1_000_000 + sample * 1000 + attempt
        key = answer_key(body, sample, attempt)
        kept = self.archive.get(key)
        if kept is not None:
            self.usage.count("kept")
            return kept
        answer = self._send(body)
        self.usage.answered(answer)  # first: it is paid for, whatever becomes of it
        self.archive.put(key, answer)
        return answer

    def _send(self, body: Mapping[str, Any]) -> Answer:
        """Send a request with retries; Again if none succeeds."""
        failures: list[Again] = []
        for attempt in range(self.options.tries):
            if attempt:
                self._rest(self.back_off(attempt, failures[-1].after))
            server = self._server()  # first: making the client takes a moment
            self._rest(self._quiet_until - time.monotonic())
            self.usage.count("sent")
            try:
                answer = server.ask(body)
            except Again as error:
                failures.append(error)
                self._count_failed(error)
            else:
                self._failed_in_a_row = 0
                return answer
        if all(failure.status == 500 for failure in failures):  # the server works, but not for this request
            raise Refused(str(failures[-1]))
        raise failures[-1]

    def _server(self) -> Endpoint:
        with self._lock:
            if self._endpoint is None:
                self._endpoint = self._connect()
            return self._endpoint

    def _rest(self, seconds: float) -> None:
        """Sleep; raise Stopped if another thread has given up."""
        if self._stop.wait(seconds) if seconds > 0 else self._stop.is_set():
            raise Stopped

    def back_off(self, attempt: int, after: float) -> float:
        """Return the delay of an attempt: exponential with jitter, or as the server asks."""
        doubled = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * self._jitter.uniform(0.5, 1.0)
        return max(doubled, min(after, LONGEST_WAIT))

    def _count_failed(self, error: Again) -> None:
        """Count a failure; after too many in a row the server is considered gone."""
        if self._stop.is_set():
            raise Stopped
        self.usage.count("failed")
        if error.after:
            self._quiet_until = max(self._quiet_until, time.monotonic() + min(error.after, LONGEST_WAIT))
        with self._lock:
            self._failed_in_a_row += 1
            gone = self._failed_in_a_row >= self.options.tries * (self.options.concurrency + 1)
        if gone:
            self._stop.set()
            raise NoAnswer(f"{self._failed_in_a_row} requests in a row failed ({error}); {GOES_ON}")

    def _count_refused(self, words: str) -> None:
        self._refusal = words
        self.usage.count("refused")
        if not self.usage.counts["read"] and self.usage.counts["refused"] >= ENOUGH:
            self._stop.set()
            raise NoAnswer(f"every request was refused ({words})")

    def _count_unreadable(self, answer: Answer) -> None:
        self.usage.count("unreadable")
        if not self.usage.counts["read"] and self.usage.counts["unreadable"] >= ENOUGH:
            self._stop.set()
            cut = "; it was cut at max_tokens" if answer.finish == "length" else ""
            raise CannotScore(f"none of {self.usage.counts['unreadable']} answers could be read; the last was "
                              f"{json.dumps(answer.text)[:120]}{cut}")


def _cause(error: BaseException, futures: Sequence[Future[Reading]]) -> BaseException:
    """Return the exception that stopped the threads, rather than Stopped itself."""
    if not isinstance(error, Stopped):
        return error
    raised = (future.exception() for future in futures if future.done() and not future.cancelled())
    return next((each for each in raised if isinstance(each, MetricError)), error)
