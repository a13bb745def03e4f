"""Progress: one line that renews itself on a terminal, a line per dataset elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from harness.run.redaction import redacted


class Progress:
    """Counts cells, and says which one is being scored."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done = total, 0
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.start = time.monotonic()

    def at(self, dataset: str, metric: str) -> None:
        """Say what is being scored; on a terminal only."""
        if self.live:
            filled = round(24 * self.done / max(self.total, 1))
            bar = "█" * filled + "·" * (24 - filled)
            self.show(f"{bar} {self.done}/{self.total} {time.monotonic() - self.start:.0f}s {dataset} {metric}")

    def show(self, text: str) -> None:
        """Renew the line; on a terminal only."""
        if self.live:
            self._renew(text)

    def advance(self) -> None:
        """Count one cell as done."""
        self.done += 1

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self.live:
            self._renew("")
        self.stream.write(redacted(text) + "\n")
        self.stream.flush()

    def _renew(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\x1b[K" + text[:width])
        self.stream.flush()
