"""A page per study that was made beside the run."""

from __future__ import annotations

from harness.results.rows import Exhibit, Results
from leaderboard.blocks.exhibits import on_sample, sections
from leaderboard.blocks.tables import Page
from leaderboard.model.slugs import slugs


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per study; none where none was made."""
    studies = sorted((exhibit for exhibit in results.exhibits if exhibit.kind == "study"),
                     key=lambda exhibit: exhibit.name)
    paths = slugs(exhibit.name for exhibit in studies)
    return tuple(_page(exhibit, f"study/{paths[exhibit.name]}.html") for exhibit in studies)


def _page(exhibit: Exhibit, path: str) -> Page:
    sampled = on_sample(exhibit)
    return Page(path=path, title=exhibit.title or exhibit.name, label=exhibit.name, lead=exhibit.lead,
                detail=exhibit.title, sections=sections(exhibit), group="Studies", order=6, markdown=False,
                sample=True in sampled, mixed=len(sampled) > 1)
