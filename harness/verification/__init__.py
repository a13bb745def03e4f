"""Results of a folder or a bundle and the same computed here, to be compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.results.differences import COMPARED
from harness.results.rows import Results


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The part of some results that could be computed again, as it was and as it is here."""

    name: str
    before: Results
    after: Results
    notes: Sequence[str] = ()
    tables: Sequence[str] = COMPARED
    tolerance: float = 0.0
