"""Errors of metrics, each with a message of one line.

    MetricError
    ├── UnknownMetric      no metric of that name
    ├── BrokenPlugin       a third-party metric cannot be loaded
    ├── WorkerFailed       a metric's process crashed, hung, grew too large or sent an invalid answer
    ├── BadScores          a metric broke its contract: wrong columns, wrong length, infinities
    ├── BadOption          unknown option or invalid value
    ├── MissingResource    data or weights that must be fetched first: the dataset is skipped with this reason
    │   └── NoAnswer       a server gave no usable answer: the metric fails on the dataset
    │       └── Unreadable    answers cannot be read
    └── CannotScore        the dataset lacks what the metric needs: it is skipped with this reason
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path


class MetricError(Exception):
    """An error that the user can fix, or a dataset that the metric cannot score."""


class UnknownMetric(MetricError):
    """No metric of that name is registered."""


class BrokenPlugin(MetricError):
    """A third-party metric cannot be loaded."""


class WorkerFailed(MetricError):
    """A metric's process failed."""


class BadScores(MetricError):
    """A metric broke its contract."""


class BadOption(MetricError):
    """An unknown option, or an invalid value."""


class MissingResource(MetricError):
    """Required data or weights are not on this machine."""


class NoAnswer(MissingResource):
    """A server gave no usable answer."""


class Unreadable(NoAnswer):
    """A server's answers cannot be read."""


class CannotScore(MetricError):
    """No item of the dataset can be scored."""


def in_one_line(error: BaseException, longest: int = 160) -> str:
    """Format type and message of an error as one line of bounded length."""
    return f"{type(error).__name__}: {' '.join(str(error).split()):.{longest}}"


def line_of(error: BaseException, metric: object) -> str:
    """Return ` in line N of FILE` for the last traceback line in the metric's own file; empty if there is none."""
    module = type(metric).__module__
    if module.startswith("metrics.external."):  # adapters, whose lines do not help
        return ""
    file = getattr(sys.modules.get(module), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" in line {lines[-1]} of {Path(str(file)).name}" if lines else ""
