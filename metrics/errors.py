"""What can go wrong with a metric, each with a message of one line.

    MetricError
    ├── UnknownMetric      no metric of that name
    ├── BrokenPlugin       a metric of another package that cannot be loaded
    ├── WorkerFailed       a metric in a process of its own crashed, hung or answered with garbage
    ├── BadOption          a metric has no such option, or not with that value
    ├── MissingResource    data or weights that must be fetched first: the dataset is skipped, with this reason
    │   └── NoAnswer       a server that was asked gave none: likewise, and the run's exit status says so
    └── CannotScore        the dataset lacks what the metric needs: the dataset is skipped, with this reason
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path


class MetricError(Exception):
    """Anything wrong with a metric that the user can mend, or that its card declares."""


class UnknownMetric(MetricError):
    """No metric of that name is registered."""


class BrokenPlugin(MetricError):
    """A metric of another package that cannot be loaded."""


class WorkerFailed(MetricError):
    """The process of a metric crashed, hung, grew too large or answered with garbage."""


class BadOption(MetricError):
    """A metric has no such option, or not with that value."""


class MissingResource(MetricError):
    """Data or weights that a metric needs are not on this machine."""


class NoAnswer(MissingResource):
    """A server that was asked gave no answer, or none that is of use."""


class CannotScore(MetricError):
    """A dataset has no item that the metric could score."""


def in_one_line(error: BaseException, longest: int = 160) -> str:
    """What foreign code raised, with its type, in one line of a bounded length."""
    return f"{type(error).__name__}: {' '.join(str(error).split()):.{longest}}"


def line_of(error: BaseException, metric: object) -> str:
    """Say which line of the metric's own file an error came through last; empty where none did."""
    own = getattr(sys.modules.get(type(metric).__module__), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    return f" in line {lines[-1]} of {Path(str(own)).name}" if lines else ""
