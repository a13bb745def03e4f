"""A small report made by hand, with everything that a page must survive: gaps, ties, crashes, hostile names.

Its values are a few plain numbers, so that every average below can be checked in the head.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    Failure,
    Look,
    MetricEntry,
    QualityEntry,
    RankingRow,
    Reliability,
    Results,
    Run,
    Skip,
    Timing,
    TrainingEntry,
)
from leaderboard.blocks.tables import Cell, Page, Table
from leaderboard.site import site as draw
from tests.leaderboard import hostile

SCRIPT = "<script>alert('x')</script>"
NAN = math.nan


def dataset(name: str, split: str, origin: str, *qualities: QualityEntry, level: str = "turn") -> DatasetEntry:
    return DatasetEntry(
        name=name, title=f"The {name} ratings", split=split, level=level, origin=origin,
        fingerprint=f"{len(name):064x}", items=100, ratings=300, qualities=qualities,
        licence="CC BY 4.0", citation="Doe & Roe (2020). R&D | dialogue <em>so far</em>.")


def quality(name: str, dimension: str = "", rated: int = 100) -> QualityEntry:
    return QualityEntry(name, dimension or name.casefold(), 1.0, 5.0, rated)


def find_page(pages: Iterable[Page], label: str) -> Page:
    """The page of a label."""
    return next(page for page in pages if page.label == label)


def tables(page: Page) -> Iterator[Table]:
    """Every table of a page."""
    return (block for section in page.sections for block in section.blocks if isinstance(block, Table))


def table(page: Page, anchor: str) -> Table:
    """The table of a page under an anchor."""
    return next(entry for entry in tables(page) if entry.anchor == anchor)


def row(found: Table, *texts: str) -> dict[str, Cell]:
    """The first row with these cells, by heading, the first of equal headings winning."""
    line = next(cells for cells in found.rows if set(texts) <= {cell.text for cell in cells})
    return dict(reversed([(heading.text, cell) for heading, cell in zip(found.headings, line, strict=True)]))


DATASETS = (
    dataset("sample chat", "test", "sample", quality("Overall"), quality("Unrated", rated=0)),
    dataset("a|b", "test", "imported", quality(SCRIPT), quality("Overall")),
    dataset("fed-turn", "dev", "imported", quality("Interesting"), quality("Overall")),
    dataset("Sample Chat", "dev", "sample", quality("Overall")),
    dataset("topical-usr", "dev", "fetched", quality("Maintains Context"),
            quality("Overall quality", "overall")),
    dataset("fed-dial", "dev", "imported", quality("Overall"), level="dialogue"),
)

# One row per column: its Spearman on each cell; a text says why there is none, "" is no row at all.
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
SCALE = {"spearman": 1.0, "pearson": 0.9, "kendall": 0.7}


def correlations() -> tuple[Correlation, ...]:
    return tuple(
        agreement(*cell, *key, statistic, value)
        for statistic in ("kendall", "pearson", "spearman")
        for key, row in VALUES.items() for cell, value in zip(CELLS, row, strict=True) if value != "")


def agreement(name: str, quality: str, metric: str, column: str, statistic: str,
              value: float | str) -> Correlation:
    if isinstance(value, str):
        return Correlation(name, quality, metric, column, statistic, 0, NAN, NAN, NAN, NAN, value)
    scaled = value * SCALE[statistic]
    p = 0.2 if abs(value) < 0.15 else 0.0004
    return Correlation(name, quality, metric, column, statistic, 100, scaled, p, scaled - 0.05, scaled + 0.05)


def ranking(rows: tuple[Correlation, ...]) -> tuple[RankingRow, ...]:
    found = {(row.dataset, row.quality, row.metric, row.column, row.statistic): row.value for row in rows}
    boards = [("dev", "real", CELLS[:5]), ("dev", "sample", CELLS[5:6]), ("test", "real", CELLS[6:8]),
              ("test", "sample", CELLS[8:])]
    return tuple(
        standing for board, origin, cells in boards for statistic in SCALE for rule in ("dev", "test")
        for standing in board_of(found, board, origin, statistic, rule, cells))


def board_of(found: dict[tuple[str, str, str, str, str], float], board: str, origin: str, statistic: str,
             rule: str, cells: tuple[tuple[str, str], ...]) -> list[RankingRow]:
    rows = []
    for metric, column in [key for key in VALUES if ":" not in key[1]]:
        values = [found.get((*cell, metric, column, statistic), NAN) for cell in cells]
        covered = sum(map(math.isfinite, values))
        by_dataset: dict[str, list[float]] = {}
        for (name, _), value in zip(cells, values, strict=True):
            by_dataset.setdefault(name, []).append(value)
        means = values if rule == "test" else [sum(part) / len(part) for part in by_dataset.values()]
        rows.append(RankingRow(board, origin, rule, statistic, metric, column,
                             sum(means) / len(means), None, covered, len(cells)))
    complete = sorted((row.value for row in rows if row.covered == row.targets), reverse=True)
    return [replace(row, rank=1 + complete.index(row.value)) if row.covered == row.targets else row for row in rows]


def metric(name: str, title: str, family: str, *columns: str, needs: tuple[str, ...] = (),
           models: tuple[str, ...] = ()) -> MetricEntry:
    return MetricEntry(name=name, title=title, family=family, columns=columns, needs=needs, levels=("turn",),
                       paper="https://aclanthology.org/P02-1040/", scope="item", trained_on="",
                       signature=f"{name}|r1|references=standard", models=models)


def training(name: str, metric: str, *looks: Look) -> TrainingEntry:
    return TrainingEntry(
        name=name, metrics=(metric,), encoder="bert-base" if looks else "", digest=f"{len(name):064x}",
        corpora=("dailydialog (CC BY-NC-SA 4.0)",), seed=3, steps=300, kept=200, device="cpu, x86_64", seconds=61.4,
        command=f"harness train {name}", commit=None, curve=looks)


def make() -> Results:
    rows = correlations()
    return Results(
        run=Run(version="0.1.0", commit=None, seed=7, device="cpu", options={"metrics": ["all"], "fast": True},
                python="3.11.7", platform="Linux", packages={"scipy": "1.13.0", "numpy": "2.0.0"}),
        datasets=DATASETS,
        metrics=(metric("length", "Length", "control", "length"),
                 metric("grade", "GRADE", "graph", "grade", models=("bert-base", "w2v.txt")),
                 metric(SCRIPT, f"Hostile {SCRIPT}", "control", "x|y", models=("a|<b>",)),
                 metric("bleu", "BLEU", "lexical", "bleu1", "bleu2", needs=("references",))),
        correlations=rows, ranking=ranking(rows),
        skips=(*(Skip(name, "grade", "weights are not on this machine")
                 for name in ("topical-usr", "fed-turn", "a|b")),
               Skip("fed-dial", "grade", "scores turns | not dialogues")),
        failures=(Failure("sample chat", "grade", "ValueError: <b>odd</b>\nsecond line \x1b[31mred"),),
        comparisons=(Comparison("fed-turn", "Overall", "spearman", "williams", "length", "x|y", 90, 0.1, 2.5,
                          0.01, 0.03, 0.02),),
        reliability=(Reliability("fed-turn", "Overall", "leave-one-out", 0.512, 90),
                  Reliability("fed-turn", "Interesting", "leave-one-out", math.nan, 0,
                              "no item has more than one vote"),
                  Reliability("fed-dial", "Overall", "alpha-ordinal", 0.4, 9)),
        trainings=(training("topics", "grade", Look(100, 0.69, 0.68), Look(200, 0.5, 0.52), Look(300, 0.4, 0.55)),
                   training(f"mlm {SCRIPT}", SCRIPT)),
        timings=(Timing("fed-turn", "length", 100, 0.25), Timing("fed-turn", "bleu", 100, 1.5)),
    )


@pytest.fixture(scope="session")
def results() -> Results:
    return make()


@pytest.fixture(scope="session")
def site(results: Results) -> dict[str, bytes]:
    return draw(results)


@pytest.fixture(scope="session")
def hostile_site() -> dict[str, bytes]:
    return draw(hostile.make())
