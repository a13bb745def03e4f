"""Everything that reads what the harness did not just write.

`test_readers.py` feeds the readers by hypothesis, in seconds; `atheris_run.py` by libFuzzer, for as long as it is told.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tests.fuzz import kept, results, sent
from tests.fuzz.reading import Reader

READERS: dict[str, Reader] = {reader.name: reader for reader in (*sent.READERS, *kept.READERS, *results.READERS)}


def corpus(reader: Reader) -> Iterator[bytes]:
    """Valid files; the first byte of an input says its form."""
    for number, every in enumerate(reader.seeds().values()):
        yield from (bytes([number]) + content for content in every)


def split(reader: Reader, given: bytes) -> tuple[str, bytes]:
    """The form and the content of an input."""
    known = forms(reader)
    return known[given[0] % len(known)] if given else known[0], given[1:]


@functools.cache
def forms(reader: Reader) -> tuple[str, ...]:
    """The forms of a reader's files."""
    return tuple(reader.seeds())
