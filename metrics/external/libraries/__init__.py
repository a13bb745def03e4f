"""Metrics of other libraries, named by a prefix and a name; no file is written for them.

    evaluate:PATH-or-ID[:FIELD]   a module of Hugging Face evaluate          evaluate.py
    judge:PROMPT                  a language model behind an endpoint        judge.py
    scores:FILE                   scores that were made elsewhere            scores.py

Each name becomes a class with a card of its own, and one column, both of that name.
"""

from __future__ import annotations

import importlib

from benchmarks.errors import nearest
from metrics.errors import UnknownMetric
from metrics.metric import Metric

PREFIXES = ("evaluate", "judge", "scores")
"""Each is a module here, whose `metric_class` makes the class."""


def metric_class(requested: str) -> type[Metric]:
    """The class for PREFIX:NAME; an unknown prefix is answered with the nearest."""
    prefix, _, name = requested.partition(":")
    if prefix not in PREFIXES:
        raise UnknownMetric(f"no metric {requested:.80}: before the colon stands {prefix[:80]!r}; "
                            f"{nearest(prefix[:80], PREFIXES)}")
    if not name:
        raise UnknownMetric(f"{prefix}: names nothing; {prefix}:NAME is asked for")
    made: type[Metric] = importlib.import_module(f"{__name__}.{prefix}").metric_class(name)
    return made
