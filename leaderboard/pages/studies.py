"""A page per study that was made beside the run: how much the way of comparing matters, and the like."""

from __future__ import annotations

from harness.results.rows import Exhibit, Results
from leaderboard.blocks.exhibition import mixed, sampled, sections
from leaderboard.blocks.tables import Page
from leaderboard.model.slugs import slugs


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per study; none where none was made."""
    studies = sorted((one for one in results.exhibits if one.kind == "study"), key=lambda one: one.name)
    paths = slugs(one.name for one in studies)
    return tuple(_page(one, f"study/{paths[one.name]}.html") for one in studies)


def _page(one: Exhibit, path: str) -> Page:
    return Page(path=path, title=one.title or one.name, label=one.name, lead=one.lead, detail=one.title,
                sections=sections(one), group="Studies", order=6, markdown=False,
                sample=sampled(one), mixed=mixed(one))
