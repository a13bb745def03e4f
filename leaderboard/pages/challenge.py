"""The page of the challenge: what its papers print, what follows from it, and how this run compares."""

from __future__ import annotations

from harness.results.rows import Results
from leaderboard.blocks.exhibits import sections
from leaderboard.blocks.tables import Page


def build(results: Results) -> tuple[Page, ...]:
    """Build the page, where the results have the published rows."""
    exhibits = [exhibit for exhibit in results.exhibits if exhibit.kind == "challenge"]
    return tuple(Page(path="challenge.html", title=exhibit.title, label="Challenge", lead=exhibit.lead, order=5,
                      sections=sections(exhibit)) for exhibit in exhibits[:1])
