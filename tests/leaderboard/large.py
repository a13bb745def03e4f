"""A report of full size, made up: 19 datasets with 54 cells, 60 metrics with 100 columns, everything that pages draw.

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
from harness.statistics.williams import all_pairs_williams, correlation_matrix

Array = npt.NDArray[np.float64]
Key = tuple[str, str]

QUALITIES = ("Overall", "Interesting", "Relevant", "Fluent", "Specific", "Correct", "Engaging")
PER_DATASET = (1, 3, 7, 6, 6, 7, 7, 1, 4, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2)
FAMILIES = ("lexical", "embedding", "likelihood", "trained", "graph", "composite")
NEEDS: dict[str, tuple[str, ...]] = {"lexical": ("references",), "composite": ("context",)}
CONTROLS = ("length", "constant-guess")
STATISTICS = ("spearman", "pearson", "kendall")
WORDS = ("well", "I", "think", "that", "you", "would", "like", "music", "and", "long", "walks", "today")
CURVE = tuple(Look(step, 1.5 - step / 600, 1.6 - step / 500 + (step / 500) ** 2) for step in range(50, 501, 50))


@dataclass(frozen=True, slots=True)
class Size:
    """How large a report is made."""

    datasets: int = 19
    metrics: int = 60
    fewest: int = 300
    most: int = 1500
    comparisons: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A dataset with the ratings of each quality (qualities, items) and the scores of each column (columns, items)."""

    entry: DatasetEntry
    human: Array
    keys: tuple[Key, ...]
    scores: Array


def make(size: Size = Size(), seed: int = 5) -> Results:
    """Make the report."""
    rng = np.random.default_rng(seed)
    metrics = tuple(_metrics(size.metrics))
    scored = [_scored(entry, metrics, rng) for entry in _datasets(size, rng)]
    correlations = tuple(row for one in scored for row in _correlations(one))
    return Results(
        run=Run(version="0.0", commit=None, seed=seed, device="cpu", options={"data": "all"}, python="3.11",
                platform="Linux", packages={"numpy": "2", "scipy": "1"}),
        datasets=tuple(one.entry for one in scored), metrics=metrics, correlations=correlations,
        ranking=tuple(_ranking(scored, correlations)), skips=tuple(_skips(scored, metrics)),
        comparisons=tuple(row for one in scored if size.comparisons for row in _comparisons(one)),
        reliability=tuple(row for one in scored for row in _reliability(one)),
        trainings=tuple(_training(entry) for entry in metrics if entry.trained_on),
        examples=tuple(row for one in scored for row in _examples(one)),
        points=tuple(_points(one, rng) for one in scored), exhibits=(_challenge(), *map(_study, range(3))),
        timings=tuple(_timings(scored, metrics)))


def _metrics(count: int) -> Iterator[MetricEntry]:
    for number in range(count):
        family = "control" if number < len(CONTROLS) else FAMILIES[number % len(FAMILIES)]
        name = CONTROLS[number] if number < len(CONTROLS) else f"{family}-{number:02d}"
        more = 0 if family == "control" else (0, 0, 1, 0, 3, 0, 0, 1, 2, 0)[number % 10]
        trained = family == "trained"
        yield MetricEntry(
            name=name, title=f"{name.capitalize()} (made up)", family=family,
            columns=(name, *(f"{name}-{part}" for part in "pqr"[:more])), needs=NEEDS.get(family, ()),
            levels=("turn", "dialogue"), paper="https://example.org/paper", scope="item",
            trained_on="made-up (none)" if trained else "", signature=f"{name}|r1|made=up",
            models=() if family in ("lexical", "control") else ("tiny-encoder",))


def _datasets(size: Size, rng: np.random.Generator) -> Iterator[DatasetEntry]:
    for number, count in enumerate(PER_DATASET[:size.datasets]):
        items = int(rng.integers(size.fewest, size.most + 1))
        split = "dev" if number < 14 else "test"
        level = "dialogue" if number in (2, 6) else "turn"
        yield DatasetEntry(
            name=f"{split}-made-up-{number:02d}", title=f"Made-up {level}s {number}", split=split, level=level,
            origin="imported", fingerprint=f"{number:064x}", items=items, ratings=3 * items * count,
            qualities=tuple(QualityEntry(name, name.casefold(), 1.0, 5.0, items) for name in QUALITIES[:count]),
            licence="none", citation="Numbers made up for tests.", has=("references",) if number % 3 == 0 else (),
            contexts=items)


def _scored(entry: DatasetEntry, metrics: Iterable[MetricEntry], rng: np.random.Generator) -> Scored:
    latent = rng.normal(size=entry.items)
    qualities = len(entry.qualities)
    votes = 3 + 0.8 * (latent + rng.normal(size=(qualities, 3, entry.items)).mean(axis=1))
    keys = tuple((metric.name, column) for metric in metrics for column in metric.columns
                 if set(metric.needs) <= {"context", *entry.has})
    noise = 1 + 4 * rng.random(len(keys))
    scores = latent + noise[:, None] * rng.normal(size=(len(keys), entry.items))
    return Scored(entry, np.clip(np.rint(3 * votes) / 3, 1, 5), keys, scores)


def _correlations(one: Scored) -> Iterator[Correlation]:
    for quality, human in zip(one.entry.qualities, one.human, strict=True):
        for statistic in STATISTICS:
            kept = "pearson" if statistic == "kendall" else statistic
            values = correlation_matrix(np.vstack([human, one.scores]), kept)[0, 1:]
            values = 2 / math.pi * np.arcsin(values) if statistic == "kendall" else values
            n = len(human)
            far = 1.96 / math.sqrt(n - 3)
            low, high = np.tanh(np.arctanh(values) - far), np.tanh(np.arctanh(values) + far)
            p = 2 * stats.norm.sf(np.abs(np.arctanh(values)) * math.sqrt(n - 3))
            for key, *row in zip(one.keys, values.tolist(), p.tolist(), low.tolist(), high.tolist(), strict=True):
                yield Correlation(one.entry.name, quality.name, *key, statistic, n, *row, corrected=row[0] / 0.9)


def _ranking(scored: list[Scored], correlations: tuple[Correlation, ...]) -> Iterator[RankingRow]:
    for board, need in (("dev", ""), ("dev-references", "references"), ("test", ""), ("test-references", "references")):
        on = [one.entry for one in scored if one.entry.split == board.partition("-")[0]
              and (not need or need in one.entry.has)]
        cells = frozenset((entry.name, quality.name) for entry in on for quality in entry.qualities)
        for row in challenge.ranking(challenge.Board(board, "real", cells), correlations) if cells else ():
            yield replace(row, **_places(row)) if row.rank and row.statistic == "spearman" else row


def _places(row: RankingRow) -> dict[str, object]:
    """An interval of two places around a rank, and a letter for every four places."""
    rank = row.rank or 1
    letter = "abcdefghijklmnopqrstuvwxyz"[min((rank - 1) // 4, 25)]
    return {"low": float(max(1, rank - 2)), "high": float(rank + 2), "letters": letter}


def _comparisons(one: Scored) -> Iterator[Comparison]:
    names = labels(one.keys)
    upper = np.triu_indices(len(names), 1)
    for quality, human in zip(one.entry.qualities, one.human, strict=True):
        for statistic in ("spearman", "pearson"):
            found = all_pairs_williams(human, one.scores, statistic)
            adjusted = (over_pairs(found.p, adjust) for adjust in (holm, benjamini_hochberg))
            parts = (found.delta, found.value, found.p, *adjusted)
            for i, j, delta, *rest in zip(*(part.tolist() for part in upper),
                                          *(part[upper].tolist() for part in parts), strict=True):
                better, worse = (i, j) if delta >= 0 else (j, i)
                yield Comparison(one.entry.name, quality.name, statistic, "williams", names[better], names[worse],
                              len(human), abs(delta), *rest)


def _reliability(one: Scored) -> Iterator[Reliability]:
    for place, quality in enumerate(one.entry.qualities):
        for method, value in (("leave-one-out", 0.55), ("split-half", 0.7), ("alpha-ordinal", 0.4)):
            yield Reliability(one.entry.name, quality.name, method, value - place / 50, one.entry.items)
        yield Reliability(one.entry.name, quality.name, "alpha-interval", math.nan, 0, "made up to be missing")


def _skips(scored: list[Scored], metrics: Iterable[MetricEntry]) -> Iterator[Skip]:
    for one in scored:
        there = {metric for metric, _ in one.keys}
        for metric in metrics:
            if metric.name not in there:
                yield Skip(one.entry.name, metric.name, "needs references, and the dataset has none")


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
    for place, quality in enumerate(one.entry.qualities):
        for number in range(6):
            words = " ".join(WORDS[(place + number + step) % len(WORDS)] for step in range(8 + 5 * number))
            people = 0.95 - 0.02 * number if number % 2 else 0.05 + 0.02 * number
            yield Example(
                dataset=one.entry.name, quality=quality.name, item=f"{one.entry.name}_{number:05d}",
                system=f"system-{number % 6}", context=(words, words[::-1]), response=words, rating=1 + 4 * people,
                people=people, metrics=1 - people,
                columns=tuple((column, 1 - people) for _, column in one.keys[:5]))


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


def _timings(scored: list[Scored], metrics: tuple[MetricEntry, ...]) -> Iterator[Timing]:
    for one in scored:
        there = {metric for metric, _ in one.keys}
        for number, metric in enumerate(metrics):
            if metric.name in there:
                yield Timing(one.entry.name, metric.name, one.entry.items, 0.001 * (number + 1) * one.entry.items)
