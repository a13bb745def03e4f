"""The page of the challenge: what its papers print, what follows from it, and where this run stands beside it."""

from __future__ import annotations

from harness.results.rows import Results
from leaderboard.blocks.exhibition import sections
from leaderboard.blocks.tables import Page


def build(results: Results) -> tuple[Page, ...]:
    """Build the page, where the published rows were brought along."""
    found = [one for one in results.exhibits if one.kind == "challenge"]
    return tuple(Page(path="challenge.html", title=one.title, label="Challenge", lead=one.lead, order=5,
                      sections=sections(one)) for one in found[:1])
