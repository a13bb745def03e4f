"""What a reader is, to the tests that feed it: a function of a folder, a form and bytes that may be anything at all.

It may refuse its input with an error of our own, in one line; whatever else it raises is a find. What it takes must be
sound: texts that can be written, votes and scores that are finite or missing.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError
from harness.errors import HarnessError
from metrics.errors import MetricError

OURS = (BenchmarkError, MetricError, HarnessError)
"""What a reader may raise."""


@dataclass(frozen=True)  # without slots, for the cached property
class FileReader:
    """A reader: valid files by form, what it does with any bytes of a form, and words that its files hold."""

    name: str
    make: Callable[[], Mapping[str, list[bytes]]]
    read: Callable[[Path, str, bytes], None]
    words: tuple[str, ...]

    @functools.cached_property
    def seeds(self) -> Mapping[str, list[bytes]]:
        """Valid files, by form."""
        return self.make()

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of the files."""
        return tuple(self.seeds)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Valid files, each with its form."""
        return ((form, content) for form, contents in self.seeds.items() for content in contents)

    def __call__(self, folder: Path, form: str, content: bytes) -> bool:
        """Read anything; whether it was taken. Raises what is a find."""
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
