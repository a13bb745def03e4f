"""The first step of a run: the scores of every metric on a dataset, from the store or a bundle, or newly computed."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.errors import BadStore
from benchmarks.redaction import redacted
from harness.errors import ScoringFailed
from harness.results.rows import Failure, Skip, Timing
from harness.run import plan as plans
from harness.run import unchanged
from harness.run.plan import Plan
from harness.run.prepare import Workspace
from harness.scoring.pairs import Pair, pairs, store_key
from harness.scoring.parts import Key, ScoreParts, cut_pairs, in_process, score_pairs
from harness.scoring.progress import SCORING
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer
from metrics.errors import MissingResource, NoAnswer
from metrics.registry import Chosen

Scored = Mapping[tuple[str, str], Scores]
"""Scores by the label and the column suffix of their metric."""


@dataclass(slots=True)
class Scoring:
    """The pairs of metric and dataset that were scored in this run, and the exceptions of the others."""

    plan: Plan
    work: Workspace
    scored: set[Key] = field(default_factory=set)
    errors: dict[Key, Exception] = field(default_factory=dict)

    def score_ahead(self) -> None:
        """Score all datasets with the workers of a cluster; without a cluster, only estimate the work."""
        work = self.work
        if work.executor is None and len(self.plan.cards) == 1:
            return
        with work.progress.stage("planning"):
            planned = [pair for card in self.plan.cards for pair in self._planned(card)]
        if work.executor is not None:
            with work.progress.stage(SCORING):
                self._score(planned, work.executor.score, work.executor.workers)
            return
        for part in cut_pairs(planned, work.store):
            work.progress.plan(part.name)

    def scores(self, dataset: Dataset, tables: Mapping[str, list[Any]]) -> Scored:
        """Return the scores of every metric on a dataset; an exception fails only its metric."""
        plan, work, name, fingerprint = self.plan, self.work, dataset.card.name, dataset.fingerprint
        if work.executor is None:
            with work.progress.stage(SCORING, name):
                self._score(to_score(plan, work, dataset), in_process(dataset, work.models, work.store))
        scorer = Scorer(
            dataset, work.models, work.store, plan.settings.rescore,
            fresh={key for scored_on, key in self.scored if scored_on == fingerprint},
            known={**plan.reused.inputs(dataset),
                   **{key: error for (failed_on, key), error in self.errors.items() if failed_on == fingerprint}})
        reused = plan.reused.scores(dataset)
        requested = {chosen.label for chosen in plan.chosen}
        tables["skips"] += [Skip(name, label, redacted(plan.reused.reason(dataset, label)))
                            for label in plan.reused.metrics if label not in reused and label not in requested]
        scored, newly_scored = {(label, ""): scores for label, scores in reused.items()}, 0
        with work.progress.stage("composing", name):
            for chosen in plan.chosen:
                if chosen.label not in reused and (scores := self._attempt(scorer, chosen, tables)):
                    scored[chosen.label, chosen.suffix] = scores
                    newly_scored += store_key(chosen.metric, dataset, work.models) in scorer.fresh
        work.progress.scored += newly_scored
        work.progress.terminal.line(
            f"{name:<18} {dataset.kind:<6} {len(dataset.items):>6} items  metrics: {newly_scored} scored, "
            f"{len(scored) - len(reused) - newly_scored} already stored"
            f"{f', {len(reused)} from {plan.reused.name}' if reused else ''}")
        return dict(sorted(scored.items()))

    def _planned(self, card: DatasetCard) -> list[Pair]:
        """Return the pairs to be scored on a dataset, without keeping the dataset in memory."""
        try:
            dataset = plans.load(card, self.work.home, self.plan.settings)
        except BadStore:  # reported when the run reaches the dataset
            return []
        return to_score(self.plan, self.work, dataset) if dataset else []

    def _score(self, planned: Sequence[Pair], score_parts: ScoreParts, workers: int = 1) -> None:
        errors = score_pairs(planned, score_parts, self.work.store, self.work.progress, workers=workers,
                             rescore=self.plan.settings.rescore)
        self.errors |= errors
        self.scored |= {pair.key for pair in planned} - errors.keys()

    def _attempt(self, scorer: Scorer, chosen: Chosen, tables: Mapping[str, list[Any]]) -> Scores | None:
        """Return the scores of a metric and record its time, or record why it has none and return None."""
        progress, name, scores = self.work.progress, scorer.dataset.card.name, scorer.attempt(chosen.metric)
        if isinstance(scores, ScoringFailed | NoAnswer):
            tables["failures"].append(Failure(name, chosen.label, self._reason(scores)))
            hints, state, stack = [f"see {progress.log}"] if progress.log else [], "failed", ""
            if isinstance(scores, ScoringFailed):
                hints, state, stack = [*hints, "`harness check` names the items"], "crashed", scores.stack
            progress.say("; ".join((f"{name}: {chosen.label} {state}", *hints)),
                         "\n".join(filter(None, (str(scores), stack))))
            return None
        if isinstance(scores, Exception):
            progress.lacking += isinstance(scores, MissingResource) and unchanged.is_signed(chosen, self.work)
            tables["skips"].append(Skip(name, chosen.label, self._reason(scores)))
            return None
        standalone = round(scores.standalone_seconds, 6) if math.isfinite(scores.standalone_seconds) else None
        items = 0 if standalone is None else len(scores.items)
        tables["timings"].append(
            Timing(name, chosen.label, items, round(scores.seconds, 6), standalone, scores.day))
        return scores

    def _reason(self, error: Exception) -> str:
        """Return the message of an error without secrets and without the path of the home folder."""
        return redacted(str(error)).replace(f"{self.work.home}{os.sep}", "")


def to_score(plan: Plan, work: Workspace, dataset: Dataset) -> list[Pair]:
    reused, size = plan.reused.scores(dataset), work.progress.size(dataset)
    return pairs(dataset, [chosen for chosen in plan.chosen if chosen.label not in reused], work.models, work.store,
                 {label: cost * size for label, cost in work.progress.costs.items()},
                 rescore=plan.settings.rescore, known=plan.reused.inputs(dataset))
