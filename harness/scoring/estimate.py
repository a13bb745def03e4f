"""The estimated time left for scoring, over the whole run.

A metric's seconds per character are those of its last part, since the first also loads models. Before its first part
has ended, the share of the part that was read counts, and before that the time of an earlier run. A metric without any
of these is left out, and the estimate says "at least".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.scoring.store import Span
from metrics.models.reading import READING

Part = tuple[str, str, Span]
"""A dataset, a metric by its label, and the items."""

ENOUGH = 0.01
"""Share of a part that must be read before its time is estimated."""


@dataclass(slots=True)
class Estimate:
    """Planned parts, waiting parts, and the speed of each metric."""

    planned: int = 0
    waiting: dict[Part, tuple[float, float]] = field(default_factory=dict)
    """Characters of each waiting part, and its seconds in an earlier run; 0 if unknown."""
    measured: dict[str, float] = field(default_factory=dict)
    """Seconds per character of the last finished part of each metric."""
    running: tuple[Part, float] | None = None
    """The part that this process is scoring, and its start."""

    @property
    def parts(self) -> tuple[int, int]:
        """Finished and planned parts."""
        return self.planned - len(self.waiting), self.planned

    def plan(self, part: Part, size: float, seconds: float) -> None:
        """Add a part unless it was added before."""
        self.planned += part not in self.waiting
        self.waiting[part] = size, seconds

    def began(self, part: Part, now: float) -> None:
        """Note the start of a part in this process."""
        READING.restart()
        self.running = part, now

    def ended(self, part: Part, seconds: float) -> None:
        """Note the end of a part; 0 seconds if it was not scored."""
        size, _ = self.waiting.pop(part, (0.0, 0.0))
        if self.running and self.running[0] == part:
            self.running = None
        if seconds and size:
            self.measured[part[1]] = seconds / size

    def left(self, now: float) -> tuple[float, bool]:
        """Return the seconds until all parts have ended one after the other, and whether every part is counted."""
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
