"""The page that explains how to add a metric, a dataset or scores to the board."""

from __future__ import annotations

from harness.results.rows import Results
from leaderboard.blocks.tables import Page, Prose, Section

WAYS = (
    ("metric", "A metric",
     ("A metric is a class with a card and a method that gives each item a number. These commands create one, check "
      "it, and score it beside the others:"),
     "harness new metric exclaims\nharness check ./exclaims\nharness run --all --with ./exclaims"),
    ("scores", "Scores only",
     "A file with a score for each item id also counts as a metric, no matter how it was made:",
     "harness run --all --metric scores:mine.csv"),
    ("dataset", "A dataset",
     "A dataset is a card and a table with contexts, replies and ratings:",
     "harness new dataset mine\nharness check ./mine\nharness run --all --dataset ./mine"),
    ("send", "Submit results",
     ("A bundle holds the scores and how they were made, without texts. The maintainers of a board verify it and add "
      "it:"),
     "harness submit results/exclaims.zip --metric exclaims\nharness verify results/exclaims.zip"))
"""Anchor, title, explanation and commands of each section."""


def build(results: Results) -> tuple[Page, ...]:
    sections = tuple(Section(anchor, title, (Prose(words), Prose(commands, code=True)))
                     for anchor, title, words, commands in WAYS)
    return (Page(path="submit.html", title="Submit", label="Submit", sections=sections, order=9,
                 markdown=False),) if results.datasets else ()
