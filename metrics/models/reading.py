"""How many tokens networks have read in this process, for those who wait: nothing that is computed depends on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    """`tokens` since the process began; `done` of the `asked` since the last restart."""

    tokens: int = 0
    done: int = 0
    asked: int = 0

    def restart(self) -> None:
        """Begin to count anew how much of what is asked for is done."""
        self.done = self.asked = 0

    def read(self, tokens: int) -> None:
        """Count a batch that was read."""
        self.tokens += tokens
        self.done += tokens

    @property
    def share(self) -> float:
        """How much of what was asked for is read, from 0 to 1; 0 where nothing is."""
        return self.done / self.asked if self.asked else 0.0


READING = Reading()
