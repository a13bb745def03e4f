"""The faults of the suite: what is done, where, and what should come of it; and what did, written down as it is seen.

A test names its faults when its module is imported, so that docs/reliability.md can be held against them, and records
what it saw once all that it asserts has held. FAULTS_RECORD names the file that this is written to.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

RECORD = "FAULTS_RECORD"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong: what, where it is brought about, and what should come of it."""

    group: str
    what: str
    where: str
    expected: str

    def __str__(self) -> str:
        return self.what

    def seen(self, outcome: str, times: int = 1) -> None:
        """Write down what came of it, and how many times it was tried."""
        if path := os.environ.get(RECORD):
            row = {"group": self.group, "what": self.what, "outcome": outcome, "times": times}
            with Path(path).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")


KNOWN: dict[tuple[str, str], Fault] = {}


def fault(group: str, what: str, where: str, expected: str) -> Fault:
    """A fault of the suite; no two have one name."""
    made = Fault(group, what, where, expected)
    if KNOWN.setdefault((group, what), made) != made:
        raise ValueError(f"{group}: {what}: is there twice")
    return made
