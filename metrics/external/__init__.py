"""Metrics from outside this package: in files or their own environments, or requested as PREFIX:NAME.

    evaluate:PATH-or-ID[:FIELD]   a module of Hugging Face evaluate          evaluate.py
    judge:PROMPT                  a language model as judge                  judge.py
    scores:FILE or DATASET.NAME   scores that were computed elsewhere        scores.py
"""

from __future__ import annotations

import importlib

from benchmarks.errors import nearest
from metrics.errors import UnknownMetric
from metrics.metric import Metric

PREFIXES = ("evaluate", "judge", "scores")
"""Names of modules in this package, each with a function `metric_class`."""


def metric_class(requested: str) -> type[Metric]:
    """Return the class for PREFIX:NAME."""
    prefix, _, name = requested.partition(":")
    if prefix not in PREFIXES:
        raise UnknownMetric(f"no metric {requested:.80}: {prefix[:80]!r} is not a library; "
                            f"{nearest(prefix[:80], PREFIXES)}")
    if not name:
        raise UnknownMetric(f"{prefix}: missing name after the colon; write {prefix}:NAME")
    kind: type[Metric] = importlib.import_module(f"{__name__}.{prefix}").metric_class(name)
    return kind
