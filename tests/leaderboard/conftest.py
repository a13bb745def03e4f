"""Small hand-made results with gaps, ties, crashes and hostile names; their averages are easy to check by hand."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from harness.results import entries, rows
from harness.results.rows import Correlation, Results
from harness.run import rank
from leaderboard.blocks.tables import Block, Cell, Page, Table
from leaderboard.model import sentences
from leaderboard.model.index import drop_sample, make_index
from leaderboard.model.numbers import numbers
from leaderboard.model.questions import DEFAULT_CHOICE, Choice, Question, answers, questions
from leaderboard.site import site as draw
from tests.leaderboard import hostile
from tests.leaderboard.large import TRAINING, enlarged
from tests.suite_run import SuiteRun

Kind = TypeVar("Kind", bound=Block)
SCRIPT = "<script>alert('x')</script>"
NAN = math.nan
EMPTY = Results(rows.Run("0", None, 0, "cpu", {}, "3.11", "Linux", {}), (), (), (), ())


def find_page(pages: Iterable[Page], label: str) -> Page:
    return next(page for page in pages if page.label == label)


def find_block(page: Page, kind: type[Kind], text: str = "") -> Kind:
    """Return the only block of a kind that contains a text."""
    (found,) = (block for section in page.sections for block in section.blocks
                if isinstance(block, kind) and text in str(block))
    return found


def table(page: Page, anchor: str) -> Table:
    return next(block for section in page.sections for block in section.blocks
                if isinstance(block, Table) and block.anchor == anchor)


def find_question(results: Results, title: str = "overall") -> Question:
    return next(question for question in questions(results) if question.title == title)


def evidence(results: Results, question: Question, choice: Choice = DEFAULT_CHOICE) -> str:
    return sentences.evidence(make_index(results), question, answers(results)(question.name)[choice])


def row(drawn: Table, *texts: str) -> dict[str, Cell]:
    """Return the first row that contains these cells, as a mapping by heading."""
    line = next(cells for cells in drawn.rows if set(texts) <= {cell.text for cell in cells})
    return dict(reversed([(heading.text, cell) for heading, cell in zip(drawn.headings, line, strict=True)]))


def altered(results: Results, name: str, /, **fields: Any) -> Results:
    """Change fields of the metrics and datasets with a name."""
    tables = {table: tuple(replace(entry, **fields) if entry.name == name else entry
                           for entry in getattr(results, table)) for table in ("metrics", "datasets")}
    return replace(results, **tables)


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def script_data(results: Results) -> Any:
    return json.loads(numbers(results).decode().removeprefix("const Numbers = ").removesuffix(";\n"))


def quality(name: str, dimension: str = "", rated: int = 100) -> entries.QualityEntry:
    return entries.QualityEntry(name, dimension or name.casefold(), 1.0, 5.0, rated)


def dataset(name: str, split: str, origin: str, *qualities: entries.QualityEntry, level: str = "turn"
            ) -> entries.DatasetEntry:
    return entries.DatasetEntry(
        name, f"The {name} ratings", split, level, origin, f"{len(name):064x}", 100, 300, qualities,
        "CC BY 4.0", "Doe & Roe (2020). R&D | dialogue <em>so far</em>.")


DATASETS = (
    dataset("sample chat", "test", "sample", quality("Overall"), quality("Unrated", rated=0)),
    dataset("a|b", "test", "imported", quality(SCRIPT), quality("Overall")),
    dataset("fed-turn", "dev", "imported", quality("Interesting"), quality("Overall")),
    dataset("Sample Chat", "dev", "sample", quality("Overall")),
    dataset("topical-usr", "dev", "fetched", quality("Maintains Context"),
            quality("Overall quality", "overall")),
    dataset("fed-dial", "dev", "imported", quality("Overall"), level="dialogue"),
)

# One row per column: its Spearman on each cell; a string is the reason for a missing value, "" means no row.
CELLS = (("fed-turn", "Interesting"), ("fed-turn", "Overall"), ("topical-usr", "Maintains Context"),
         ("topical-usr", "Overall quality"), ("fed-dial", "Overall"), ("Sample Chat", "Overall"),
         ("a|b", SCRIPT), ("a|b", "Overall"), ("sample chat", "Overall"))
VALUES: dict[tuple[str, str], tuple[float | str, ...]] = {
    ("bleu", "bleu1"): (0.1, 0.3, 0.2, 0.4, 0.5, 0.9, 0.15, 0.25, 0.8),
    ("bleu", "bleu2"): (0.2, "all scores are equal", 0.3, 0.5, 0.1, 0.7, -0.1, -0.3, 0.6),
    ("length", "length"): (-0.2, 0.0, 0.02, 0.06, -0.1, 0.1, 0.7, 0.1, "all scores are equal"),
    ("grade", "grade"): ("", "", "", "", "", 0.95, "", "", ""),
    (SCRIPT, "x|y"): (0.1, 0.1, 0.1, 0.1, 0.1, "", 0.3, 0.3, ""),
    ("bleu", "bleu1:max"): ("", "", "", "", 0.6, "", "", "", ""),
}


def correlations() -> Iterator[Correlation]:
    for statistic, scale in (("kendall", 0.7), ("pearson", 0.9), ("spearman", 1.0)):
        for key, values in VALUES.items():
            for cell, value in zip(CELLS, values, strict=True):
                if isinstance(value, float):
                    scaled, p = value * scale, 0.2 if abs(value) < 0.15 else 0.0004
                    yield Correlation(*cell, *key, statistic, 100, scaled, p, scaled - 0.05, scaled + 0.05)
                elif value:
                    yield Correlation(*cell, *key, statistic, 0, NAN, NAN, NAN, NAN, value)


def ranking(correlations: Iterable[Correlation]) -> Iterator[rows.RankingRow]:
    ranked = tuple(row for row in correlations if ":" not in row.column)
    for board, origin, cells in (("dev", "real", CELLS[:5]), ("dev", "sample", CELLS[5:6]),
                                 ("test", "real", CELLS[6:8]), ("test", "sample", CELLS[8:])):
        yield from rank.ranking(entries.BoardId(board), origin, cells, ranked)
    for board, cells in (("dev:overall", {CELLS[1], CELLS[3], CELLS[4]}), ("dev:interesting", {CELLS[0]})):
        for row in rank.ranking(entries.BoardId.parse(board), "real", cells, ranked):
            known = row.rank is not None and row.statistic == "spearman"
            yield replace(row, low=1.0, high=2.0, error=0.025) if known else row


def metric(name: str, title: str, family: str, *columns: str, needs: tuple[str, ...] = (),
           models: tuple[str, ...] = (), **system: Any) -> entries.MetricEntry:
    return entries.MetricEntry(name, title, family, columns, ("turn",), {
        "metric": name, "revision": "1", "references": "standard"}, needs, "https://aclanthology.org/P02-1040/",
        models=models, **system)


@pytest.fixture(scope="session")
def mixed() -> Results:
    values = tuple(correlations())
    return Results(
        run=rows.Run(version="0.1.0", commit=None, seed=7, device="cpu", options={"metrics": ["all"], "fast": True},
                     python="3.11.7", platform="Linux", packages={"scipy": "1.13.0", "numpy": "2.0.0"}),
        datasets=DATASETS,
        metrics=(metric("length", "Length", "control", "length"),
                 metric("grade", "GRADE", "graph", "grade", models=("bert-base", "w2v.txt"), system="another method",
                        departures=("A <head> on a frozen encoder.", "No graph."), fitted_on="ratings",
                        notes="Reads <both>."),
                 metric(SCRIPT, f"Hostile {SCRIPT}", "control", "x|y", models=("a|<b>",)),
                 metric("bleu", "BLEU", "lexical", "bleu1", "bleu2", needs=("references",))),
        correlations=values, ranking=tuple(ranking(values)),
        skips=(*(rows.Skip(name, "grade", "weights are not on this machine")
                 for name in ("topical-usr", "fed-turn", "a|b")),
               rows.Skip("fed-dial", "grade", "scores turns | not dialogues")),
        failures=(rows.Failure("sample chat", "grade", "ValueError: <b>odd</b>\nsecond line \x1b[31mred"),),
        comparisons=(rows.Comparisons("fed-turn", "Overall", "spearman", "perm-both", ("length", "x|y"), *(
            np.array([value]) for value in (0, 1, 90, 0.1, 2.5, 0.01, 0.03, 0.02))),),
        reliability=(rows.Reliability("fed-turn", "Overall", "leave-one-out", 0.512, 90),
                     rows.Reliability("fed-turn", "Interesting", "leave-one-out", math.nan, 0,
                                      "no item has more than one vote"),
                     rows.Reliability("fed-dial", "Overall", "alpha-ordinal", 0.4, 9)),
        trainings=(TRAINING,),
        timings=(rows.Timing("fed-turn", "length", 100, 0.25), rows.Timing("fed-turn", "bleu", 100, 1.5)))


@pytest.fixture(scope="session")
def results(mixed: Results) -> Results:
    """The results without the sample, as pages show them."""
    return drop_sample(mixed)


@pytest.fixture(scope="session")
def site(results: Results) -> dict[str, bytes]:
    return draw(results)


@pytest.fixture(scope="session")
def full(suite_run: SuiteRun) -> Results:
    """The results of the suite-wide run, presented as real data."""
    return enlarged(suite_run.results)


@pytest.fixture(scope="session")
def renamed(full: Results) -> Results:
    return hostile.make(full)


@pytest.fixture(scope="session")
def hostile_site(renamed: Results) -> dict[str, bytes]:
    return draw(renamed)
