"""My metric: scores that a service gives over HTTP.

The address stands in the environment variable MY_METRIC_URL. Asked is `POST {"items": [{"context": [...],
"response": "...", "references": [...]}, ...]}`, and answered `{"scores": [0.5, null, ...]}`, null for no score.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.errors import CannotScore, MissingResource
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import reply

ADDRESS = "MY_METRIC_URL"
BATCH = 64
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class MyMetric:
    """What the service says."""

    card: ClassVar[MetricCard] = MetricCard(
        name="my-metric", title="My metric", columns=("my-metric",), family="plug-in",
        notes=f"Scores of a service, whose address is in {ADDRESS}.")
    version: str = "1"  # of the service: it is in the signature, so that another one is asked anew

    def depends(self, models: Models) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing but the options; without an address the metric is skipped before it is asked for a score."""
        _address()
        return ()

    def score(self, items: Sequence[Item], models: Models) -> Columns:  # noqa: ARG002
        """Whatever the service gives; NaN where it gives none. CannotScore where it fails: nothing is kept then."""
        column = np.full(len(items), np.nan)
        for start in range(0, len(items), BATCH):
            column[start : start + BATCH] = _asked(items[start : start + BATCH])
        return {"my-metric": column}


def _address() -> str:
    address = os.environ.get(ADDRESS, "")
    if not address.startswith(("http://", "https://")):
        raise MissingResource(f"set {ADDRESS} to the address of the service: http://HOST:PORT/PATH")
    return address


def _asked(items: Sequence[Item]) -> list[float]:
    """The scores of a batch."""
    told = [{"context": [turn.text for turn in item.context], "response": reply(item),
             "references": [reference.text for reference in item.references]} for item in items]
    request = urllib.request.Request(  # noqa: S310  (the address is one of http)
        _address(), json.dumps({"items": told}).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            scores = json.load(answer)["scores"]
    except (OSError, ValueError, KeyError, TypeError) as error:  # URLError and timeouts are OSErrors
        raise CannotScore(f"the service of {ADDRESS} fails: {type(error).__name__}: {error}") from error
    if not isinstance(scores, list) or len(scores) != len(items):
        raise CannotScore(f"the service of {ADDRESS} gives no list of {len(items)} scores")
    return [_number(score) for score in scores]


def _number(score: Any) -> float:
    """A score, NaN for null; infinities and texts are no scores."""
    if score is None:
        return float("nan")
    if isinstance(score, bool) or not isinstance(score, int | float) or not np.isfinite(score):
        raise CannotScore(f"the service of {ADDRESS} gives {score!r}, which is no number")
    return float(score)
