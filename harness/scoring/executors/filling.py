"""Filling the store: what a run does before it measures anything.

An executor of one worker in this process is given each dataset when the run comes to it, so that one is in memory at a
time; one of many workers is given all that is to be scored at once. Beside another run in the same store either goes
through all datasets first, a little at a time: what the other has claimed is passed over, and waited for at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

from benchmarks.dataset import Dataset
from harness.scoring.executors import cutting
from harness.scoring.executors.cutting import Cell
from harness.scoring.executors.local import Local
from harness.scoring.executors.scheduler import Crew, Limits, Outcomes, Watcher
from harness.scoring.executors.tasks import Executor
from harness.scoring.locks import Claims
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore, stem
from metrics.models.service import Models
from metrics.registry import Chosen

WAIT = 1.0
"""Seconds between two looks at what another run works on."""


@dataclass(slots=True)
class Filling:
    """What fills the store of a run; `scored` holds what it has done, by fingerprint and signature."""

    executor: Executor
    store: ScoreStore
    models: Models
    claims: Claims
    watcher: Watcher
    limits: Limits
    costs: Mapping[str, float]
    rescore: bool = False
    outcomes: dict[tuple[str, str], Exception] = field(default_factory=dict)
    scored: set[tuple[str, str]] = field(default_factory=set)

    ahead: bool = False
    """Whether all datasets are filled before the first is measured."""

    def __enter__(self) -> Self:
        self.claims.__enter__()
        self.ahead = not isinstance(self.executor, Local) or self.claims.company()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.executor.close()
        self.claims.__exit__(*raised)

    def source(self, dataset: Dataset) -> Scorer:
        """Where the scores of a dataset come from, now that the store is filled."""
        here = dataset.fingerprint
        return Scorer(dataset, self.models, self.store, self.rescore,
                      {key for fingerprint, key in self.scored if fingerprint == here},
                      {key: error for (fingerprint, key), error in self.outcomes.items() if fingerprint == here})

    def cells(self, dataset: Dataset, chosen: Sequence[Chosen]) -> list[Cell]:
        """What is to be scored on a dataset."""
        if isinstance(self.executor, Local):
            self.executor.hold(dataset)
        known = self.outcomes.keys() | self.scored
        return [cell for cell in cutting.cells(dataset, chosen, self.models, self.store, self.costs,
                                               rescore=self.rescore)
                if (cell.fingerprint, cell.signature) not in known]

    def fill(self, cells: Iterable[Cell]) -> Outcomes:
        """Score cells, each by this run or by another that has claimed it."""
        waiting, told = list(cells), False
        while waiting:
            mine: list[Cell] = []
            others: list[Cell] = []
            for batch in self._batches(waiting):
                claimed, taken = self._claimed(batch)
                if claimed:
                    self._score(claimed)
                mine, others = mine + claimed, others + taken
            if others and not mine and not told:
                told = True
                self.watcher.say(f"{self.store.root}: another run works on {len(others)} pairs of metric and dataset; "
                                 "waiting for its scores")
            waiting = [cell for cell in others if not self.store.has(cell.fingerprint, cell.signature)]
            if waiting and not mine:
                time.sleep(WAIT)
        if isinstance(self.executor, Local):
            self.executor.hold(None)
        return self.outcomes

    def _batches(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """What is claimed at once: everything; beside another run a model for each worker, so that both find some."""
        if not self.claims.company():
            return [[*cells]]
        kinds: dict[tuple[str, str], list[Cell]] = {}
        for cell in cells:
            kinds.setdefault((cell.dataset, cell.group or cell.label), []).append(cell)
        some, at_once = list(kinds.values()), self.executor.workers
        return [[*chain(*some[start:start + at_once])] for start in range(0, len(some), at_once)]

    def _claimed(self, cells: Sequence[Cell]) -> tuple[list[Cell], list[Cell]]:
        mine: list[Cell] = []
        others: list[Cell] = []
        for cell in cells:
            name = stem(cell.fingerprint, cell.signature)
            if not self.claims.take(name):
                others.append(cell)
            elif self.rescore or not self.store.has(cell.fingerprint, cell.signature):
                mine.append(cell)
            else:  # another run has scored it since this one looked
                self.claims.release(name)
        return mine, others

    def _score(self, cells: Sequence[Cell]) -> None:
        if self.rescore:
            for cell in cells:
                self.store.clear(cell.fingerprint, cell.signature)
        crew = Crew(self.executor, self.store, self.limits, self.watcher)
        try:
            self.outcomes |= crew.run(cells)
        finally:
            for cell in cells:
                self.claims.release(stem(cell.fingerprint, cell.signature))
        self.scored |= {(cell.fingerprint, cell.signature) for cell in cells} - self.outcomes.keys()
