"""Exceptions of the harness; each message is one line.

    HarnessError
    ├── BadConfig      input that the user must change: a flag, a file, a name or a selection
    ├── BadReport      a report that is missing or cannot be read
    ├── BadBundle      a bundle of results that is invalid or cannot be made
    ├── StoreError     the score store cannot be read or written
    └── ScoringFailed  a metric crashed on a dataset, or its workers died; the message is that of the exception
"""

from __future__ import annotations


class HarnessError(Exception):
    """Base class of errors that the user can fix."""


class BadConfig(HarnessError):
    """Input that the user must change; `problems` lists all reasons."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class BadReport(HarnessError):
    """A report that is missing or cannot be read."""


class BadBundle(HarnessError):
    """A bundle of results that is invalid or cannot be made."""


class StoreError(HarnessError):
    """The score store cannot be read or written."""


class ScoringFailed(HarnessError):
    """A metric crashed in a worker, or its workers died; `stack` is the traceback of an unexpected exception."""

    def __init__(self, message: str, stack: str = "") -> None:
        super().__init__(message)
        self.stack = stack
