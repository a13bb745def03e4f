"""What papers print, recomputed from what they print: no data and no metric is needed.

One module a paper, with `TITLE`, `checks()` and `contests()`; `check.judge` compares, `winners.winners` ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.published.reproduce import deb, dstc10, dynaeval, yeh2021
from harness.published.reproduce.boards import PrintedBoard, Winner, winners
from harness.published.reproduce.check import CheckedClaim, Claim, judge


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose numbers are checked."""

    title: str
    checks: Callable[[], Iterable[Claim]]
    contests: Callable[[], Iterable[PrintedBoard]]

    def findings(self) -> tuple[CheckedClaim, ...]:
        """Every check with its outcome."""
        return tuple(judge(self.checks()))

    def winners(self) -> tuple[Winner, ...]:
        """Who wins each board under each rule."""
        return tuple(winner for contest in self.contests() for winner in winners(contest))


PAPERS = {
    "dstc10": Paper(dstc10.TITLE, dstc10.checks, dstc10.contests),
    "dynaeval": Paper(dynaeval.TITLE, dynaeval.checks, dynaeval.contests),
    "deb": Paper(deb.TITLE, deb.checks, deb.contests),
    "yeh2021": Paper(yeh2021.TITLE, yeh2021.checks, yeh2021.contests),
}
