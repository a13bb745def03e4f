"""Errors of metrics, each with a message of one line.

    MetricError
    ├── UnknownMetric      no metric of that name
    ├── BrokenPlugin       a metric of another package that cannot be loaded
    ├── WorkerFailed       the process of a metric crashed, hung, grew too large or answered with garbage
    ├── BadOption          a metric has no such option, or not with that value
    ├── MissingResource    data or weights that must be fetched first: the dataset is skipped with this reason
    │   └── NoAnswer       a server gave no usable answer: the metric fails on the dataset
    │       └── Unreadable    no answer could be read
    └── CannotScore        the dataset lacks what the metric needs: it is skipped with this reason
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path


class MetricError(Exception):
    """An error that the user can mend, or that a metric's card declares."""


class UnknownMetric(MetricError):
    """No metric of that name is registered."""


class BrokenPlugin(MetricError):
    """A plug-in cannot be loaded."""


class WorkerFailed(MetricError):
    """The process of a metric failed."""


class BadOption(MetricError):
    """An unknown option, or an invalid value."""


class MissingResource(MetricError):
    """Required data or weights are not on this machine."""


class NoAnswer(MissingResource):
    """A server gave no usable answer."""


class Unreadable(NoAnswer):
    """No answer of a server could be read."""


class CannotScore(MetricError):
    """No item of the dataset can be scored."""


def in_one_line(error: BaseException, longest: int = 160) -> str:
    """Return type and message of an error in one line of bounded length."""
    return f"{type(error).__name__}: {' '.join(str(error).split()):.{longest}}"


def line_of(error: BaseException, metric: object) -> str:
    """Return ` in line N of FILE` for the last line of the metric's own file on the way to an error, else nothing."""
    file = getattr(sys.modules.get(type(metric).__module__), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" in line {lines[-1]} of {Path(str(file)).name}" if lines else ""
