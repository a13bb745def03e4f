"""What was made beside the run: the page of the challenge, with what its papers print, and a page per study."""

from __future__ import annotations

from harness.results.rows import Exhibit, Results
from leaderboard.blocks.exhibits import on_sample, sections
from leaderboard.blocks.tables import Page
from leaderboard.model.slugs import slugs


def build(results: Results) -> tuple[Page, ...]:
    """Build the page of the challenge, where the results have the published rows, and those of the studies."""
    challenges = [exhibit for exhibit in results.exhibits if exhibit.kind == "challenge"]
    studies = sorted((exhibit for exhibit in results.exhibits if exhibit.kind == "study"),
                     key=lambda exhibit: exhibit.name)
    paths = slugs(exhibit.name for exhibit in studies)
    return (*(Page(path="challenge.html", title=exhibit.title, label="Challenge", lead=exhibit.lead, order=5,
                   sections=sections(exhibit)) for exhibit in challenges[:1]),
            *(_study(exhibit, f"study/{paths[exhibit.name]}.html") for exhibit in studies))


def _study(exhibit: Exhibit, path: str) -> Page:
    sampled = on_sample(exhibit)
    return Page(path=path, title=exhibit.title or exhibit.name, label=exhibit.name, lead=exhibit.lead,
                detail=exhibit.title, sections=sections(exhibit), group="Studies", order=6, markdown=False,
                sample=True in sampled, mixed=len(sampled) > 1)
