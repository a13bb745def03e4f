"""The page that explains how to put your own metric on the boards."""

from __future__ import annotations

from harness.results.rows import Results
from leaderboard.blocks.tables import Page, Prose, Section

PATH = "adding.html"
SHORT = "A metric is a class with a card and a method that gives each item a number. One file, and it is on the boards:"
TYPED = """\
# exclaims.py, with a card that names it
def score(self, items, models):
    return {"exclaims": np.array([float("!" in item.response.text) for item in items])}"""
WHOLE = """\
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models import Models


@dataclass(frozen=True, slots=True)
class Exclaims:
    \"\"\"Whether the response exclaims.\"\"\"

    card: ClassVar[MetricCard] = MetricCard(
        name="exclaims", title="Exclaims", columns=("exclaims",), family="control",
        notes="Whether the response holds an exclamation mark.")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        \"\"\"1 for an exclamation, else 0.\"\"\"
        return {"exclaims": np.array([float("!" in item.response.text) for item in items])}"""
RUN = """\
harness new metric exclaims
harness check ./exclaims
harness run --all --with ./exclaims
harness leaderboard --with ./exclaims"""
RULES = ("The rules: it gives the columns that its card promises, one number per item, higher being better; NaN where "
         "an item cannot be scored. The score of an item depends on that item alone, unless the card says otherwise, "
         "and an empty response is no error. harness check tests all of that, line by line.")
NEEDS = ("A metric that takes references, context or facts names them in its card, needs=('references',), and is "
         "skipped with that reason where no item has them. One that takes an encoder or a language model names it "
         "there as well, and gets it from models.")
PLUGIN = """\
[project.entry-points."harness.metrics"]
exclaims = "my_package.exclaims:Exclaims\""""
LIBRARIES = """\
harness run --metric "evaluate:./my_metric.py"
harness run --metric st:sentence-transformers/all-mpnet-base-v2
harness run --metric "evaluate:bertscore:f1[lang=en]\""""
MORE = "docs/adding.md of the repository has all of this at length, and how to add a dataset, a statistic or a rule."


def build(results: Results) -> tuple[Page, ...]:  # noqa: ARG001 - every page takes it
    """Build the page; it is the same for all results."""
    return (Page(
        path=PATH, title="Add your metric", label="Add a metric", order=10, markdown=False,
        lead="What to write, and what to type, to put your metric on these boards.",
        sections=(
            Section("file", "One file", (
                Prose("The first command writes a package to start from, with a test; the second checks the rules "
                      "for metrics; the others put it on these boards, and say which rank it has."),
                Prose(RUN, code=True),
                Prose("All it needs is one file. It also works on its own, as ./exclaims.py:"),
                Prose(WHOLE, code=True), Prose(RULES), Prose(NEEDS))),
            Section("package", "Or a package of your own", (
                Prose("The same file, and in the package's pyproject.toml:"), Prose(PLUGIN, code=True))),
            Section("libraries", "Or a metric of another library", (
                Prose("A prefix and a name make a metric."),
                Prose(LIBRARIES, code=True), Prose(MORE)))),
    ),)
