"""How long the scoring that is left will take, over the whole run.

What a metric takes is measured as its parts end, in seconds per character of the items: the last one tells, since the
first also loads models. Before its first part has ended, how much has been read of what the part at hand is to read
tells, and before that an earlier run's time. A metric of which nothing is known is left out: "at least".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.scoring.store import Span
from metrics.models.reading import READING

Part = tuple[str, str, Span]
"""A dataset, a metric by its label, and the items."""

ENOUGH = 0.01
"""How much of a part should be read before the time for all of it is told."""


@dataclass(slots=True)
class Estimate:
    """The parts that are planned, those that are left, and how fast each metric was so far."""

    planned: int = 0
    waiting: dict[Part, tuple[float, float]] = field(default_factory=dict)
    """The size of each part that is left, in characters, and its seconds by an earlier run; 0 where none tells."""
    measured: dict[str, float] = field(default_factory=dict)
    """The seconds per character of the last part of each metric that has ended."""
    running: tuple[Part, float] | None = None
    """The part that this process is at, and since when."""

    @property
    def parts(self) -> tuple[int, int]:
        """How many parts have ended, of how many."""
        return self.planned - len(self.waiting), self.planned

    def plan(self, part: Part, size: float, seconds: float) -> None:
        """Count a part that is to be scored, if it is not counted yet."""
        self.planned += part not in self.waiting
        self.waiting[part] = size, seconds

    def began(self, part: Part, now: float) -> None:
        """A part is scored by this process from now on."""
        READING.restart()
        self.running = part, now

    def ended(self, part: Part, seconds: float) -> None:
        """A part has ended; 0 seconds for one that was not scored."""
        size, _ = self.waiting.pop(part, (0.0, 0.0))
        if self.running and self.running[0] == part:
            self.running = None
        if seconds and size:
            self.measured[part[1]] = seconds / size

    def left(self, now: float) -> tuple[float, bool]:
        """Seconds until all parts have ended, if they are scored one by one; and whether that counts every part."""
        running, since = self.running or (None, now)
        waiting = list(self.waiting.items())
        speeds, sizes = self.measured.copy(), dict(waiting)
        all_known, total = True, 0.0
        if running in sizes and running[1] not in speeds and READING.share >= ENOUGH:
            all_known = False  # a metric may ask for more to be read than it has so far
            speeds[running[1]] = (now - since) / READING.share / sizes[running][0]
        for part, (size, expected) in waiting:
            seconds = speeds[part[1]] * size if part[1] in speeds else expected
            all_known = all_known and seconds > 0
            total += max(0.0, seconds - (now - since)) if part == running else seconds
        return total, all_known
