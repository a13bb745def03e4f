"""Send a judge many questions concurrently, with retries.

Every question is sent `samples` times, unless its answers are stored. Failed requests are retried with exponential
backoff and jitter, or after the delay that the server asks for; an unreadable answer is replaced by another sample.
Both stop after `tries` attempts.

A question has no score if the server refuses it (400) or never answers it in a readable form. Faults unrelated to the
question, such as a lost server or a rejected key, stop everything without scores, so that an outage never becomes a
missing score. The answers so far are stored, and the next run continues from there.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NoReturn

from benchmarks.errors import plural
from metrics.errors import MetricError, NoAnswer, Unreadable
from metrics.judges.answer import Answer, AnswerArchive, ReadScore, answer_key, lacks_probabilities, scores
from metrics.judges.endpoint import Endpoint, FieldRefused, Refused, RetryableError
from metrics.judges.prompt import Question
from metrics.judges.spending import Estimate, LimitReached, Spending, cost, estimate
from metrics.models.counters import COUNTERS

SampleScores = dict[str, ReadScore]
"""Scores of one sample by quality."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second attempt, and the maximum before any attempt."""
MAX_UNUSABLE = 24
"""Give up after unreadable answers to this many questions in a row; if no answer has been readable yet, after this many
unreadable answers or refused requests."""
REPORT_SECONDS = 30.0
"""Seconds between progress messages."""
NO_PROBABILITIES = ("the server returned no probabilities of Yes and No, from which the scores are computed; use a "
                    "prompt that works without (judge:g-eval, judge:llm-eval), or a server that supports logprobs")
CONTINUE = "answers so far are stored; run the same command to continue"


class Stopped(Exception):
    """Another thread has given up."""


@dataclass
class Sampler:
    """Sends the questions of `judge`; `connect` is called for the first answer that is not stored.

    `body` has the fields of every request. `counts` are requests `sent`, attempts `failed`, requests `refused`, answers
    `stored` before or `unreadable`, questions `unread`, answers `read` and how many of these are `weighted` by
    probabilities, and tokens of `prompt` and `completion`.
    """

    judge: str
    body: Mapping[str, Any]
    archive: AnswerArchive
    connect: Callable[[], Endpoint]
    spending: Spending
    samples: int = 1
    tries: int = 6
    concurrency: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._start = time.monotonic()
        self._endpoint: Endpoint | None = None
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._wait_until = 0.0
        self._jitter = random.Random(self.seed)  # noqa: S311  (not a secret)
        self._cause: MetricError | None = None
        self._failed_in_a_row = 0
        self._unreadable_in_a_row = 0
        self._unanswered: list[str] = []
        self._unusable: dict[str, MetricError] = {}

    def sample_scores(self, questions: Sequence[Question]) -> list[list[SampleScores]]:
        """Return the scores of every sample of every question, in order."""
        samples = range(self.samples)
        with ThreadPoolExecutor(self.concurrency, "judge") as pool:
            futures = [pool.submit(self._score_sample, question, sample)
                       for question in questions for sample in samples]
            try:
                self._wait(futures)
            except BaseException as error:
                self._stop.set()
                if self._endpoint is not None and not isinstance(self._cause or error, LimitReached):
                    self._endpoint.abort()  # but not at a limit: answers in flight are paid for and stored
                pool.shutdown(cancel_futures=True)
                raise self._cause or error from None
        if self._unanswered:
            raise NoAnswer(f"{len(self._unanswered)} of {len(futures)} requests got no answer "
                           f"({self._unanswered[-1]}); {CONTINUE}")
        if self._unusable and not self.counts["read"]:
            raise self._unusable.get("refused") or self._unusable["unreadable"]
        results = iter(future.result() for future in futures)
        return [[next(results) for _ in samples] for _ in questions]

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Estimate the requests without a stored answer, assuming that each gets a readable answer."""
        bodies = (self._next_request(question, sample) for question in questions for sample in range(self.samples))
        return sum((estimate(body) for body in bodies if body), Estimate())

    def stored_answers(self, question: Question) -> list[Answer]:
        keys = (answer_key(self._body(question, sample, attempt), sample, attempt)
                for sample in range(self.samples) for attempt in range(self.tries))
        return [answer for key in keys if (answer := self.archive.get(key)) is not None]

    def usage(self) -> str:
        counts = self.counts
        parts = [plural(counts["sent"], "request"), plural(counts["stored"], "stored answer"),
                 f"{plural(counts['failed'], 'attempt')} failed", plural(counts["unreadable"], "unreadable answer"),
                 f"{plural(counts['refused'], 'request')} refused", f"{plural(counts['unread'], 'question')} given up",
                 f"{counts['prompt']} + {counts['completion']} tokens", f"{time.monotonic() - self._start:.1f} s"]
        if self.body.get("logprobs"):
            parts.insert(-2, f"{counts['weighted']} of {counts['read']} weighted by probabilities")
        return f"{self.judge} ({self.body['model']}): {', '.join(parts)}"

    def _wait(self, futures: Sequence[Future[SampleScores]]) -> None:
        """Wait for all threads, printing progress; raise the first exception."""
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, REPORT_SECONDS, FIRST_EXCEPTION)
            for future in done:
                future.result()
            if waiting:
                sys.stderr.write(f"{self.judge}: {len(futures) - len(waiting)} of {len(futures)} done\n")

    def _score_sample(self, question: Question, sample: int) -> SampleScores:
        """Return the scores of one sample; qualities that an answer lacks are taken from the next attempt."""
        by_quality: SampleScores = {}
        was_unreadable = False
        for attempt in range(self.tries):
            try:
                answer = self._answer(question, sample, attempt)
            except Refused as error:
                self._count_unusable("refused", NoAnswer(
                    f"requests were refused, and no answer was readable ({error})"))
                return by_quality
            except RetryableError as error:
                with self._lock:
                    self._unanswered.append(str(error))
                return by_quality
            if readable := scores(question, answer):
                self._count(read=1, weighted=int(any(score.weighted for score in readable.values())))
                self._unreadable_in_a_row = 0
            else:
                problem = (f"answers to {MAX_UNUSABLE} questions in a row could not be read" if self.counts["read"]
                           else "no answer could be read")
                truncated = "; it was truncated at max_tokens" if answer.finish == "length" else ""
                self._count_unusable("unreadable", Unreadable(
                    f"{problem}; the last was {json.dumps(answer.text)[:120]}{truncated}"),
                    questions=int(not was_unreadable))
                was_unreadable = True
            by_quality = readable | by_quality
            if len(by_quality) == len(question.qualities):
                return by_quality
        self._count(unread=1)
        return by_quality

    def _next_request(self, question: Question, sample: int) -> dict[str, Any] | None:
        """Return the first request about a question whose answer is needed but not stored."""
        by_quality: SampleScores = {}
        for attempt in range(self.tries):
            body = self._body(question, sample, attempt)
            if (answer := self.archive.get(answer_key(body, sample, attempt))) is None:
                return body
            by_quality |= scores(question, answer)
            if len(by_quality) == len(question.qualities):
                break
        return None

    def _count_unusable(self, kind: str, error: MetricError, questions: int = 0) -> None:
        """Count a refused or unreadable answer, and its question if it is the first; raise `error` if too many."""
        self._unusable[kind] = error
        with self._lock:
            self.counts[kind] += 1
            self._unreadable_in_a_row += questions
            too_many = self._unreadable_in_a_row >= MAX_UNUSABLE or (
                self.counts[kind] >= MAX_UNUSABLE and not self.counts["read"])
        if too_many:
            self._give_up(error)

    def _count(self, **amounts: int) -> None:
        with self._lock:
            self.counts.update(amounts)

    def _answer(self, question: Question, sample: int, attempt: int) -> Answer:
        body = self._body(question, sample, attempt)
        key = answer_key(body, sample, attempt)
        if (answer := self.archive.get(key)) is not None:
            self._count(stored=1)
            COUNTERS.stored_answers += 1
            return answer
        answer = self._send(body)
        self._count(prompt=answer.prompt, completion=answer.completion)  # before storing, since it is paid for
        if not self.counts["read"] and lacks_probabilities(question, answer):
            self._give_up(Unreadable(NO_PROBABILITIES))
        self.archive.put(key, answer)
        return answer

    def _body(self, question: Question, sample: int, attempt: int) -> dict[str, Any]:
        body = {**self.body, "messages": question.messages}
        if body.get("temperature"):  # at 0, every sample is the likeliest answer
            body["seed"] = self.seed * 1_000_000 + sample * 1000 + attempt
        return body

    def _send(self, body: Mapping[str, Any]) -> Answer:
        """Send a request with retries; raise RetryableError if none succeeds."""
        failures: list[RetryableError] = []
        while len(failures) < self.tries:
            if failures:
                self._sleep(self.back_off(len(failures), failures[-1].after))
            with self._lock:
                self._endpoint = self._endpoint or self.connect()
            self._sleep(self._wait_until - time.monotonic())
            try:
                reserved = self.spending.reserve(body)
            except LimitReached as error:
                self._give_up(error)
            self._count(sent=1)
            tokens, spent = 0, reserved  # a server may charge for an answer that never arrives
            try:
                answer = self._endpoint.ask(body)
                estimated = estimate(body)
                tokens = answer.prompt + answer.completion
                spent = cost(self.spending.choice, answer.prompt or estimated.prompt,
                             answer.completion or estimated.completion)
            except RetryableError as error:
                spent *= not error.status
                failures.append(error)
                self._count_failed(error)
            except FieldRefused:
                spent = 0.0
            except Refused:
                spent = 0.0
                raise
            except MetricError as error:  # a lasting fault, which would also hit the other threads
                self._give_up(error)
            else:
                self._failed_in_a_row = 0
                return answer
            finally:
                self.spending.settle(reserved, spent, tokens)
        raise failures[-1]

    def _count_failed(self, error: RetryableError) -> None:
        """Count a failure; give up after too many in a row."""
        if self._stop.is_set():
            raise Stopped
        if error.after:
            self._wait_until = max(self._wait_until, time.monotonic() + min(error.after, LONGEST_WAIT))
        with self._lock:
            self.counts["failed"] += 1
            self._failed_in_a_row += 1
            is_first = self.counts["failed"] == 1
            server_lost = self._failed_in_a_row >= self.tries * (self.concurrency + 1)
        if is_first:
            sys.stderr.write(f"{self.judge}: {error}; retrying\n")
        if server_lost:
            self._give_up(NoAnswer(f"{self._failed_in_a_row} requests in a row failed ({error}); {CONTINUE}"))

    def _give_up(self, error: MetricError) -> NoReturn:
        self._cause = self._cause or error
        self._stop.set()
        raise error

    def _sleep(self, seconds: float) -> None:
        """Sleep; raise Stopped if another thread has given up."""
        if self._stop.wait(seconds) if seconds > 0 else self._stop.is_set():
            raise Stopped

    def back_off(self, attempt: int, after: float) -> float:
        """Return the delay before an attempt: exponential with jitter, or longer if the server asks for it."""
        doubled = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * self._jitter.uniform(0.5, 1.0)
        return max(doubled, min(after, LONGEST_WAIT))
