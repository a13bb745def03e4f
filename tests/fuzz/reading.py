"""What a reader is, to those who feed it: a function of a folder, a form and bytes that may be anything at all.

It may refuse what it is given with an error of our own, in one line; whatever else it raises is a find. What it takes
must be sound: texts that can be written, votes and scores that are finite or missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError
from harness.errors import HarnessError
from metrics.errors import MetricError

OURS = (BenchmarkError, MetricError, HarnessError)
"""What a reader may raise."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: valid files by form, what it does with any bytes of a form, and words that its files hold."""

    name: str
    seeds: Callable[[], Mapping[str, list[bytes]]]
    read: Callable[[Path, str, bytes], None]
    words: tuple[str, ...]

    def __call__(self, folder: Path, form: str, content: bytes) -> bool:
        """Read what may be anything; whether it was taken. Raises what is a find."""
        try:
            self.read(folder, form, content)
        except OURS as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} says nothing") from error
            return False
        return True


def sound(condition: object, what: str) -> None:
    """A find that is no exception: a reader took what it should not."""
    if not condition:
        raise AssertionError(f"taken: {what}")
