"""Metrics from elsewhere, requested as PREFIX:NAME without writing a plug-in.

    evaluate:PATH-or-ID[:FIELD]   a module of Hugging Face evaluate          evaluate.py
    judge:PROMPT                  a language model as judge                  judge.py
    scores:FILE or DATASET.NAME   scores that were computed elsewhere        scores.py

Each name becomes a class with a card.
"""

from __future__ import annotations

import importlib

from benchmarks.errors import nearest
from metrics.errors import UnknownMetric
from metrics.metric import Metric

PREFIXES = ("evaluate", "judge", "scores")
"""Names of modules in this package, whose `metric_class` makes the class."""


def metric_class(requested: str) -> type[Metric]:
    """Return the class for PREFIX:NAME; raise UnknownMetric, with the nearest prefix, if there is no such prefix."""
    prefix, _, name = requested.partition(":")
    if prefix not in PREFIXES:
        raise UnknownMetric(f"no metric {requested:.80}: {prefix[:80]!r} is not a library; "
                            f"{nearest(prefix[:80], PREFIXES)}")
    if not name:
        raise UnknownMetric(f"{prefix}: missing name after the colon; write {prefix}:NAME")
    kind: type[Metric] = importlib.import_module(f"{__name__}.{prefix}").metric_class(name)
    return kind
