"""Which metric is scored how on DailyDialog++, and its scores, kept as those of a run are.

A metric without references is scored once. One that compares with references is scored with a single one, and with
several by the largest, the mean, and in the standard way of its paper; where the standard way is one of the others it
is not listed again, and a column that no reference moves is listed once. What a metric raises costs its own rows alone.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.errors import HarnessError, StoreError
from harness.scoring import score as scoring
from harness.scoring.progress import Progress
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore
from harness.studies._pp_items import Beside, Replies
from metrics.errors import CannotScore, MetricError, MissingResource
from metrics.metric import Metric, options, signature
from metrics.models.service import Models
from metrics.registry import Chosen

Way: TypeAlias = Literal["none", "single", "max", "avg", "standard"]
"""How references are used; `none` is no reference at all."""

OPTION: dict[Way, str] = {"max": "max", "avg": "mean", "standard": "standard"}
"""What the option `references` is called for each way of using several."""

WEIGHTED = ("delta-bleu",)
"""Metrics that read the weights of references: only they are given irrelevant ones."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A metric as it is scored; `main` is the one of its ways that stands for it where one must."""

    label: str
    metric: Metric
    way: Way
    beside: Beside
    main: bool

    @property
    def trained(self) -> bool:
        """Whether its scores are probabilities that were learnt, to be cut at 0.5."""
        return self.metric.card.family == "trained"


@dataclass
class Scorer:
    """Scores entries from the store or anew; what could not be scored is in `skips` and `failures`."""

    store: ScoreStore
    models: Models
    progress: Progress
    skips: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def score(self, entry: Entry, given: Replies) -> Scores | None:
        """The scores of the replies, in their order; None where there are none, with the reason noted."""
        dataset = given.dataset
        if entry.label in self.skips or entry.label in self.failures:
            return None
        self.progress.at(dataset.card.name, entry.label)
        try:
            key = signature(entry.metric, self.models)
            kept = self.store.get(dataset.fingerprint, key)
            scores = kept or scoring.score(entry.metric, dataset, self.models)
        except (MissingResource, CannotScore) as error:
            self.skips[entry.label] = str(error)
            return None
        except (StoreError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a metric is foreign code
            self._failed(entry, error)
            return None
        if kept is None:
            self.store.put(dataset.fingerprint, key, scores)
        return scores

    def _failed(self, entry: Entry, error: BaseException) -> None:
        told = f"{type(error).__name__}: {error}"
        self.failures[entry.label] = told
        if not isinstance(error, MetricError | HarnessError):
            self.progress.line(f"{entry.label} crashed: {told}\n{traceback.format_exc()}")


def entries(chosen: Chosen) -> Iterator[Entry]:
    """The ways in which a metric is scored, the main one last."""
    metric = chosen.metric
    if not compares(metric):
        yield Entry(chosen.label, metric, "none", "none", main=True)
        return
    if metric.card.name in WEIGHTED:
        yield Entry(chosen.label, metric, "standard", "weighted", main=True)
        return
    ways = _ways(chosen)
    yield Entry(chosen.label, metric, "single", "single", main=not ways)
    for way in ways:
        set_ = dataclasses.replace(metric, references=OPTION[way])  # type: ignore[type-var]
        yield Entry(chosen.label, set_, way, "several", main=way == ways[-1])


def compares(metric: Metric) -> bool:
    """Whether the metric compares the response with references, some of its columns at least."""
    has = options(metric)
    return ("references" in metric.card.needs or has.get("against") == "references"
            or ("references" in has and "against" not in has))


def _ways(chosen: Chosen) -> list[Way]:
    """The ways to use several references: the one that was asked for, else all that the metric has."""
    told = getattr(chosen.metric, "references", "")
    ways = [way for way, option in OPTION.items() if told in OPTION.values()]
    if "references=" in chosen.suffix:
        return [way for way in ways if OPTION[way] == told]
    return ways
