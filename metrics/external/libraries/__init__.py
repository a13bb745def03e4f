"""Metrics of other libraries, named by a prefix and a name; no file is written for them.

    evaluate:PATH-or-ID[:FIELD]   a module of Hugging Face evaluate          evaluate.py
    judge:PROMPT                  a language model behind an endpoint        judge.py
    scores:FILE or DATASET.NAME   scores that were made elsewhere            scores.py

Each name becomes a class with a card and one column of that name.
"""

from __future__ import annotations

import importlib

from benchmarks.errors import nearest
from metrics.errors import UnknownMetric
from metrics.metric import Metric

PREFIXES = ("evaluate", "judge", "scores")
"""Each is a module here, whose `metric_class` makes the class."""


def metric_class(requested: str) -> type[Metric]:
    """Return the class for PREFIX:NAME; UnknownMetric names the nearest prefix."""
    prefix, _, name = requested.partition(":")
    if prefix not in PREFIXES:
        raise UnknownMetric(f"no metric {requested:.80}: {prefix[:80]!r} is not a library; "
                            f"{nearest(prefix[:80], PREFIXES)}")
    if not name:
        raise UnknownMetric(f"{prefix}: has no name after the colon; write {prefix}:NAME")
    kind: type[Metric] = importlib.import_module(f"{__name__}.{prefix}").metric_class(name)
    return kind
