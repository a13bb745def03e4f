"""A report of full size, made up: 19 datasets with 54 cells, 60 metrics with 102 columns, everything that pages draw.

Ratings and scores are random numbers that follow a latent quality more or less; correlations, Williams' tests and
ranks are computed from them, so that what a page recomputes can be held against them. Kendall is 2/π asin(r), which
goes for normal variables; intervals are Fisher's. The same arguments give the same report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    Example,
    Exhibit,
    Grid,
    ItemScores,
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
from harness.run import rank as challenge
from harness.run.compare import labels
from harness.statistics.significance import benjamini_hochberg, holm, over_pairs
from harness.statistics.williams import all_pairs_by_formula, correlation_matrix

Array = npt.NDArray[np.float64]

QUALITIES = ("Overall", "Interesting", "Relevant", "Fluent", "Specific", "Correct", "Engaging")
PER_DATASET = (1, 3, 7, 6, 6, 7, 7, 1, 4, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2)
FAMILIES = ("lexical", "embedding", "likelihood", "trained", "graph", "composite")
NEEDS: dict[str, tuple[str, ...]] = {"lexical": ("references",), "composite": ("context",)}
CONTROLS = ("length", "constant-guess")
CURVE = tuple(Look(step, 1.5 - step / 600, 1.6 - step / 500 + (step / 500) ** 2) for step in range(50, 501, 50))
WORDS = " ".join(("well", "I", "think", "that", "you", "would", "like", "music", "and", "long", "walks", "today") * 4)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A dataset with the ratings of each quality (qualities, items) and the scores of each column (columns, items)."""

    entry: DatasetEntry
    human: Array
    keys: tuple[tuple[str, str], ...]
    scores: Array


def make(datasets: int = 19, metrics: int = 60, items: tuple[int, int] = (300, 1500), comparisons: bool = True
         ) -> Results:
    """Make the report, with so many items per dataset at least and at most."""
    rng = np.random.default_rng(5)
    made = tuple(map(_metric, range(metrics)))
    scored = [_scored(entry, made, rng) for entry in _datasets(datasets, items, rng)]
    correlations = tuple(row for one in scored for row in _correlations(one))
    timings = (Timing(one.entry.name, entry.name, one.entry.items, 0.001 * (number + 1) * one.entry.items)
               for one in scored for number, entry in enumerate(made) if _scores(entry, one.entry))
    return Results(
        run=Run(version="0.0", commit=None, seed=5, device="cpu", options={"data": "all"}, python="3.11",
                platform="Linux", packages={"numpy": "2", "scipy": "1"}),
        datasets=tuple(one.entry for one in scored), metrics=made, correlations=correlations,
        ranking=tuple(_ranking([one.entry for one in scored], correlations)),
        skips=tuple(Skip(one.entry.name, entry.name, "needs references, and the dataset has none")
                    for one in scored for entry in made if not _scores(entry, one.entry)),
        comparisons=tuple(row for one in scored if comparisons for row in _comparisons(one)),
        reliability=tuple(row for one in scored for row in _reliability(one.entry)),
        trainings=tuple(_training(entry) for entry in made if entry.trained_on),
        examples=tuple(row for one in scored for row in _examples(one)),
        points=tuple(_points(one, rng) for one in scored), exhibits=(_challenge(), *map(_study, range(3))),
        timings=tuple(timings))


def _metric(number: int) -> MetricEntry:
    family = "control" if number < len(CONTROLS) else FAMILIES[number % len(FAMILIES)]
    name = CONTROLS[number] if number < len(CONTROLS) else f"{family}-{number:02d}"
    more = 0 if family == "control" else (0, 0, 1, 0, 3, 0, 0, 1, 2, 0)[number % 10]
    return MetricEntry(
        name=name, title=f"{name.capitalize()} (made up)", family=family,
        columns=(name, *(f"{name}-{part}" for part in "pqr"[:more])), needs=NEEDS.get(family, ()),
        levels=("turn", "dialogue"), paper="https://example.org/paper", scope="item",
        trained_on="made-up (none)" if family == "trained" else "", signature=f"{name}|r1|made=up",
        models=() if family in ("lexical", "control") else ("tiny-encoder",))


def _datasets(count: int, items: tuple[int, int], rng: np.random.Generator) -> Iterator[DatasetEntry]:
    for number, qualities in enumerate(PER_DATASET[:count]):
        size = int(rng.integers(items[0], items[1] + 1))
        split, level = "dev" if number < 14 else "test", "dialogue" if number in (2, 6) else "turn"
        yield DatasetEntry(
            name=f"{split}-made-up-{number:02d}", title=f"Made-up {level}s {number}", split=split, level=level,
            origin="imported", fingerprint=f"{number:064x}", items=size, ratings=3 * size * qualities,
            qualities=tuple(QualityEntry(name, name.casefold(), 1.0, 5.0, size) for name in QUALITIES[:qualities]),
            licence="none", citation="Numbers made up for tests.", has=("references",) if number % 3 == 0 else (),
            contexts=size)


def _scores(metric: MetricEntry, entry: DatasetEntry) -> bool:
    return set(metric.needs) <= {"context", *entry.has}


def _scored(entry: DatasetEntry, metrics: Iterable[MetricEntry], rng: np.random.Generator) -> Scored:
    latent = rng.normal(size=entry.items)
    votes = 3 + 0.8 * (latent + rng.normal(size=(len(entry.qualities), 3, entry.items)).mean(axis=1))
    keys = tuple((metric.name, column) for metric in metrics if _scores(metric, entry) for column in metric.columns)
    noise = 1 + 4 * rng.random(len(keys))
    scores = latent + noise[:, None] * rng.normal(size=(len(keys), entry.items))
    return Scored(entry, np.clip(np.rint(3 * votes) / 3, 1, 5), keys, scores)


def _correlations(one: Scored) -> Iterator[Correlation]:
    n = one.entry.items
    for quality, human in zip(one.entry.qualities, one.human, strict=True):
        for statistic in ("spearman", "pearson", "kendall"):
            measure = "pearson" if statistic == "kendall" else statistic
            values = correlation_matrix(np.vstack([human, one.scores]), measure)[0, 1:]
            values = 2 / math.pi * np.arcsin(values) if statistic == "kendall" else values
            far = 1.96 / math.sqrt(n - 3)
            p = 2 * stats.norm.sf(np.abs(np.arctanh(values)) * math.sqrt(n - 3))
            rows = (values, p, np.tanh(np.arctanh(values) - far), np.tanh(np.arctanh(values) + far))
            for key, *row in zip(one.keys, *(part.tolist() for part in rows), strict=True):
                yield Correlation(one.entry.name, quality.name, *key, statistic, n, *row, corrected=row[0] / 0.9)


def _ranking(datasets: list[DatasetEntry], correlations: tuple[Correlation, ...]) -> Iterator[RankingRow]:
    """Rank as a run does; an interval of two places around a rank, and a letter for every four places."""
    for board, need in (("dev", ""), ("dev-references", "references"), ("test", ""), ("test-references", "references")):
        cells = frozenset((entry.name, quality.name) for entry in datasets for quality in entry.qualities
                          if entry.split == board.partition("-")[0] and (not need or need in entry.has))
        for row in challenge.ranking(challenge.Board(board, "real", cells), correlations) if cells else ():
            rank = row.rank if row.statistic == "spearman" else None
            yield row if rank is None else replace(row, low=float(max(1, rank - 2)), high=float(rank + 2),
                                                   letters="abcdefghijklmnopqrstuvwxyz"[min((rank - 1) // 4, 25)])


def _comparisons(one: Scored) -> Iterator[Comparison]:
    names = labels(one.keys)
    upper = np.triu_indices(len(names), 1)
    for quality, human in zip(one.entry.qualities, one.human, strict=True):
        for statistic in ("spearman", "pearson"):
            tests = all_pairs_by_formula(human, one.scores, statistic)
            adjusted = (over_pairs(tests.p, adjust) for adjust in (holm, benjamini_hochberg))
            parts = (part[upper].tolist() for part in (tests.delta, tests.value, tests.p, *adjusted))
            for i, j, delta, *rest in zip(*(part.tolist() for part in upper), *parts, strict=True):
                better, worse = (i, j) if delta >= 0 else (j, i)
                yield Comparison(one.entry.name, quality.name, statistic, "williams", names[better], names[worse],
                                 len(human), abs(delta), *rest)


def _reliability(entry: DatasetEntry) -> Iterator[Reliability]:
    for place, quality in enumerate(entry.qualities):
        for method, value in (("leave-one-out", 0.55), ("split-half", 0.7), ("alpha-ordinal", 0.4)):
            yield Reliability(entry.name, quality.name, method, value - place / 50, entry.items)
        yield Reliability(entry.name, quality.name, "alpha-interval", math.nan, 0, "made up to be missing")


def _training(entry: MetricEntry) -> TrainingEntry:
    return TrainingEntry(
        name=f"{entry.name}-head", metrics=(entry.name,), encoder="tiny-encoder", digest=f"{len(entry.name):064x}",
        corpora=("made-up (none)",), seed=1, steps=500, kept=250, device="cpu", seconds=60.0,
        command=f"harness train {entry.name}", commit=None, curve=CURVE)


def _points(one: Scored, rng: np.random.Generator) -> ItemScores:
    entry = one.entry
    return ItemScores(
        dataset=entry.name, items=tuple(f"{entry.name}_{number:05d}" for number in range(entry.items)),
        systems=tuple(f"system-{number % 6}" for number in range(entry.items)),
        words=rng.integers(1, 40, entry.items), contexts=np.arange(entry.items),
        human={quality.name: values.astype(np.float32)
               for quality, values in zip(entry.qualities, one.human, strict=True)},
        scores={key: values.astype(np.float32) for key, values in zip(one.keys, one.scores, strict=True)})


def _examples(one: Scored) -> Iterator[Example]:
    for quality in one.entry.qualities:
        for number in range(6):
            words = WORDS[:40 + 25 * number]
            people = 0.95 - 0.02 * number if number % 2 else 0.05 + 0.02 * number
            yield Example(
                dataset=one.entry.name, quality=quality.name, item=f"{one.entry.name}_{number:05d}",
                system=f"system-{number % 6}", context=(words, words[::-1]), response=words, rating=1 + 4 * people,
                people=people, metrics=1 - people, columns=tuple((key[1], 1 - people) for key in one.keys[:5]))


def _challenge() -> Exhibit:
    grid = Grid("board", "Made-up rows", ("Team", "Printed", "Recomputed"),
                tuple((f"Team {number}", f"0.{number}00", f"0.{number}01") for number in range(1, 9)), "made up")
    return Exhibit("made-up-challenge", "challenge", "A made-up challenge", "Who wins.", "harness reproduce", (grid,))


def _study(number: int) -> Exhibit:
    grid = Grid("values", "Made-up values", ("Setting", "Value"),
                tuple((f"Setting {row}", f"0.{row:03d}") for row in range(40)), "made up")
    picture = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10" role="img" aria-label="Line {number}">'
               '<path d="M0 0L20 10" class="line"/></svg>')
    return Exhibit(f"made-up-{number}", "study", f"Made-up study {number}", "What was seen.", f"harness study {number}",
                   (grid,), ((picture, "A line that falls."),), ("All of it is made up.",))
