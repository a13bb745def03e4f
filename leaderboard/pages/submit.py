"""The page that explains how to add a metric, scores, a dataset or results to a board."""

from __future__ import annotations

from harness.results.rows import Results
from leaderboard.blocks.tables import Page, Prose, Section
from leaderboard.texts import TEXTS


def build(results: Results) -> tuple[Page, ...]:
    sections = tuple(Section(way["anchor"], way["title"], (Prose(way["text"]), Prose(way["commands"], code=True)))
                     for way in TEXTS["submit"])
    return (Page(path="submit.html", title="Submit", label="Submit", sections=sections, order=9,
                 markdown=False),) if results.datasets else ()
