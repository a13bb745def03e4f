"""What papers print, recomputed from what they print: no data and no metric is needed.

One module a paper, with `TITLE`, `claims()` and `boards()`; a claim knows its state, `boards.winners` ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.published.reproduce import deb, dstc10, dynaeval, yeh2021
from harness.published.reproduce.check import Claim, PrintedBoard, Winner, winners


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose numbers are checked."""

    title: str
    claims: Callable[[], Iterable[Claim]]
    boards: Callable[[], Iterable[PrintedBoard]]

    def winners(self) -> tuple[Winner, ...]:
        """Who wins each board under each rule."""
        return tuple(winner for board in self.boards() for winner in winners(board))


PAPERS = {name: Paper(paper.TITLE, paper.claims, paper.boards)
          for name, paper in (("dstc10", dstc10), ("dynaeval", dynaeval), ("deb", deb), ("yeh2021", yeh2021))}
