"""Ask a judge many questions concurrently.

Every question is sent `samples` times, unless its answers are stored. An unreadable answer is replaced by another
sample, up to `tries` times; the endpoint retries requests that fail.

A question has no score if the server refuses it (400) or never answers it in a readable form. Faults unrelated to the
question, such as a lost server or a rejected key, stop everything without scores, so that an outage never becomes a
missing score. The requests in flight are completed; their answers are stored, and the next run continues from there.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.errors import plural
from metrics.errors import MetricError, NoAnswer, Unreadable
from metrics.judges.answer import Answer, AnswerArchive, ReadScore, answer_key, lacks_probabilities, scores
from metrics.judges.endpoint import Endpoint, Refused
from metrics.judges.prompt import Question
from metrics.judges.spending import Estimate, Spending, estimate
from metrics.models.counters import COUNTERS

SampleScores = dict[str, ReadScore]
"""Scores of one sample by quality."""

MAX_UNUSABLE = 24
"""Give up after unreadable answers to this many questions in a row; if no answer has been readable yet, after this many
unreadable answers and refused requests."""
REPORT_SECONDS = 30.0
"""Seconds between progress messages."""
NO_PROBABILITIES = ("the server returned no probabilities of Yes and No, from which the scores are computed; use a "
                    "prompt that works without (judge:g-eval, judge:llm-eval), or a server that supports logprobs")


@dataclass
class Sampler:
    """Sends the questions of `judge`; `connect` is called for the first answer that is not stored.

    `body` has the fields of every request. `counts` are requests `refused`, answers `stored` before or `unreadable`,
    questions `unread`, answers `read` and how many of these are `weighted` by probabilities.
    """

    judge: str
    body: Mapping[str, Any]
    archive: AnswerArchive
    connect: Callable[[], Endpoint]
    spending: Spending
    samples: range = range(1)
    tries: int = 6
    concurrency: int = 8
    seed: int = 0
    stopping: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._endpoint: Endpoint | None = None
        self._error: MetricError | None = None
        self._unusable: MetricError | None = None
        self._unusable_in_a_row = 0

    def sample_scores(self, questions: Sequence[Question]) -> list[list[SampleScores]]:
        """Return the scores of every sample of every question, in order, and print the usage."""
        from anyio.from_thread import start_blocking_portal

        start, spent_before = time.monotonic(), self.spending.totals
        try:
            with start_blocking_portal() as portal:  # in a thread, since a notebook has an event loop of its own
                scored = portal.call(self._sample_scores, questions)
        finally:
            if self.counts["stored"] or self.spending.totals != spent_before:
                sys.stderr.write(self._usage(self.spending.line(spent_before), time.monotonic() - start))
        if self.stopping():
            raise KeyboardInterrupt
        return scored

    async def _sample_scores(self, questions: Sequence[Question]) -> list[list[SampleScores]]:
        from tqdm import tqdm

        results: dict[tuple[int, int], SampleScores] = {}
        jobs = itertools.product(range(len(questions)), self.samples)
        with tqdm(desc=self.judge, total=len(questions) * len(self.samples), file=sys.stderr, leave=False,
                  mininterval=REPORT_SECONDS, delay=REPORT_SECONDS,
                  bar_format="{desc}: {n_fmt} of {total_fmt} done, {remaining} left\n") as progress:

            async def work() -> None:
                for row, sample in jobs:
                    if self._error or self.stopping():
                        return
                    try:
                        results[row, sample] = await self._score_sample(questions[row], sample)
                    except MetricError as error:
                        self._error = self._error or error
                    progress.update()

            await asyncio.gather(*(work() for _ in range(self.concurrency)))
        if error := self._error or (None if self.counts["read"] else self._unusable):
            raise error
        if self.stopping():
            return []
        return [[results[row, sample] for sample in self.samples] for row in range(len(questions))]

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Estimate the requests without a stored answer, assuming that each gets a readable answer."""
        bodies = (self._next_request(question, sample) for question in questions for sample in self.samples)
        return sum((estimate(body) for body in bodies if body), Estimate())

    def stored_answers(self, question: Question) -> list[Answer]:
        return [answer for sample in self.samples for body, key in self._requests(question, sample)
                if (answer := self.archive.get(key)) is not None]

    def _usage(self, spent: str, seconds: float) -> str:
        counts = self.counts
        parts = [spent, plural(counts["stored"], "stored answer"), plural(counts["unreadable"], "unreadable answer"),
                 f"{plural(counts['refused'], 'request')} refused", f"{plural(counts['unread'], 'question')} given up",
                 f"{seconds:.1f} s"]
        if self.body.get("logprobs"):
            parts.insert(-1, f"{counts['weighted']} of {counts['read']} weighted by probabilities")
        return f"{self.judge} ({self.body['model']}): {', '.join(parts)}\n"

    async def _score_sample(self, question: Question, sample: int) -> SampleScores:
        """Return the scores of one sample; qualities that an answer lacks are taken from the next attempt."""
        by_quality: SampleScores = {}
        for attempt, (body, key) in enumerate(self._requests(question, sample)):
            try:
                answer = await self._answer(question, body, key)
            except Refused as error:
                self.counts["refused"] += 1
                self._count_unusable(NoAnswer(f"requests were refused, and no answer was readable ({error})"))
                return by_quality
            if readable := scores(question, answer):
                self.counts.update(read=1, weighted=int(any(score.weighted for score in readable.values())))
                self._unusable_in_a_row = 0
            else:
                self.counts["unreadable"] += 1
                problem = (f"answers to {MAX_UNUSABLE} questions in a row could not be read" if self.counts["read"]
                           else "no answer could be read")
                truncated = "; it was truncated at max_tokens" if answer.finish == "length" else ""
                self._count_unusable(Unreadable(f"{problem}; the last was {json.dumps(answer.text)[:120]}{truncated}"),
                                     in_a_row=attempt == 0)
            by_quality = readable | by_quality
            if len(by_quality) == len(question.qualities):
                return by_quality
        self.counts["unread"] += 1
        return by_quality

    def _next_request(self, question: Question, sample: int) -> dict[str, Any] | None:
        """Return the first request about a question whose answer is needed but not stored."""
        by_quality: SampleScores = {}
        for body, key in self._requests(question, sample):
            if (answer := self.archive.get(key)) is None:
                return body
            by_quality |= scores(question, answer)
            if len(by_quality) == len(question.qualities):
                break
        return None

    def _requests(self, question: Question, sample: int) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the body and the key of each attempt at a sample."""
        for attempt in range(self.tries):
            body = {**self.body, "messages": question.messages}
            if body.get("temperature"):  # at 0, every sample is the likeliest answer
                body["seed"] = self.seed * 1_000_000 + sample * 1000 + attempt
            yield body, answer_key(body, sample, attempt)

    async def _answer(self, question: Question, body: Mapping[str, Any], key: str) -> Answer:
        """Return the stored answer, or send the request and store its answer."""
        if (answer := self.archive.get(key)) is not None:
            self.counts["stored"] += 1
            COUNTERS.stored_answers += 1
            return answer
        if self._error:
            raise self._error
        self._endpoint = self._endpoint or self.connect()
        answer = await self._endpoint.ask(body)
        if not self.counts["read"] and lacks_probabilities(question, answer):
            raise Unreadable(NO_PROBABILITIES)
        await asyncio.to_thread(self.archive.put, key, answer)  # a write that waits for the disk
        return answer

    def _count_unusable(self, error: MetricError, *, in_a_row: bool = False) -> None:
        """Count an unusable answer if it is one in a row or no answer was readable yet; raise `error` if too many."""
        self._unusable = error
        self._unusable_in_a_row += in_a_row or not self.counts["read"]
        if self._unusable_in_a_row >= MAX_UNUSABLE:
            raise error
