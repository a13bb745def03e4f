"""In this process: one worker, at work while it is asked for events. It has no limits and cannot be lost."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.dataset import Dataset
from harness.scoring.executors.tasks import Event, Setup, Task
from harness.scoring.executors.worker import Worker
from metrics.models.service import Models


class Local:
    """The executor that needs nothing."""

    workers = 1
    device = ""

    def __init__(self, setup: Setup, models: Models) -> None:
        self._worker = Worker(setup, models)
        self._task: Task | None = None

    def hold(self, dataset: Dataset | None) -> None:
        """Take a dataset that the run has loaded, so that it is not loaded twice; None to let it go."""
        self._worker.dataset = dataset

    def send(self, worker: int, task: Task) -> None:  # noqa: ARG002  (there is one)
        """Take a task."""
        self._task = task

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:  # noqa: ARG002  (it never waits)
        """Do the task, until it is taken away."""
        task = self._task
        if task is not None:
            for event in self._worker.run(task):
                yield 0, event
                if self._task is not task:
                    return
            self._task = None

    def kill(self, worker: int) -> str:  # noqa: ARG002
        """Take the task away: what is being scored comes to its end, since nothing can stop it here."""
        self._task = None
        return ""

    def memory(self, worker: int) -> int:  # noqa: ARG002
        """Not looked at: the process is the run's own."""
        return 0

    def close(self) -> None:
        """Nothing to end: the models are the run's own."""
