"""A report of full size, made up: 19 datasets with 54 cells, 60 metrics with 102 columns, everything that pages draw.

Ratings and scores are random numbers that follow a latent quality more or less; correlations, Williams' tests and
ranks are computed from them, so that what a page recomputes can be held against them. Kendall is 2/π asin(r), which
goes for normal variables; intervals are Fisher's. The same arguments give the same report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.results import rows
from harness.run import rank as challenge
from harness.run.compare import compared, labels
from harness.statistics.williams import all_pairs_by_formula, correlation_matrix

Array = npt.NDArray[np.float64]

QUALITIES = ("Overall", "Interesting", "Relevant", "Fluent", "Specific", "Correct", "Engaging")
PER_DATASET = (1, 3, 7, 6, 6, 7, 7, 1, 4, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2)
FAMILIES = ("lexical", "embedding", "likelihood", "trained", "graph", "composite")
NEEDS: dict[str, tuple[str, ...]] = {"lexical": ("references",), "composite": ("context",)}
CONTROLS = ("length", "constant-guess")
CURVE = tuple(rows.Look(step, 1.5 - step / 600, 1.6 - step / 500 + (step / 500) ** 2) for step in range(50, 501, 50))
WORDS = " ".join(("well", "I", "think", "that", "you", "would", "like", "music", "and", "long", "walks", "today") * 4)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A dataset with the ratings of each quality (qualities, items) and the scores of each column (columns, items)."""

    entry: rows.DatasetEntry
    human: Array
    scores: dict[tuple[str, str], Array]


def make(datasets: int = 19, metrics: int = 60, items: tuple[int, int] = (300, 1500), comparisons: bool = True,
         sample: int = 0) -> rows.Results:
    """Make the report, with so many items per dataset at least and at most; so many datasets are the sample."""
    rng = np.random.default_rng(5)
    made = tuple(map(_metric, range(metrics)))
    scored = [_scored(entry, made, rng) for entry in _datasets(datasets, items, sample, rng)]
    correlations = tuple(row for one in scored for row in _correlations(one))
    pairs = [(one.entry, entry, number) for one in scored for number, entry in enumerate(made)]
    return rows.Results(
        run=rows.Run(version="0.0", commit=None, seed=5, device="cpu", options={"data": "all"}, python="3.11",
                     platform="Linux", packages={"numpy": "2", "scipy": "1"}),
        datasets=tuple(one.entry for one in scored), metrics=made, correlations=correlations,
        ranking=tuple(_ranking([one.entry for one in scored], correlations)),
        skips=tuple(rows.Skip(dataset.name, entry.name, "needs references, and the dataset has none")
                    for dataset, entry, _ in pairs if not _scores(entry, dataset)),
        comparisons=tuple(row for one in scored if comparisons for row in _comparisons(one)),
        reliability=tuple(row for one in scored for row in _reliability(one.entry)),
        trainings=tuple(rows.TrainingEntry(
            f"{entry.name}-head", (entry.name,), "tiny-encoder", f"{len(entry.name):064x}", ("made-up (none)",), 1, 500,
            250, "cpu", 60.0, f"harness train {entry.name}", None, CURVE) for entry in made if entry.trained_on),
        examples=tuple(row for one in scored for row in _examples(one)),
        points=tuple(_points(one, rng) for one in scored), exhibits=tuple(map(_exhibit, range(4))),
        timings=tuple(rows.Timing(dataset.name, entry.name, dataset.items, 0.001 * (number + 1) * dataset.items)
                      for dataset, entry, number in pairs if _scores(entry, dataset)))


def _metric(number: int) -> rows.MetricEntry:
    family = "control" if number < len(CONTROLS) else FAMILIES[number % len(FAMILIES)]
    name = CONTROLS[number] if number < len(CONTROLS) else f"{family}-{number:02d}"
    more = 0 if family == "control" else (0, 0, 1, 0, 3, 0, 0, 1, 2, 0)[number % 10]
    return rows.MetricEntry(
        name=name, title=f"{name.capitalize()} (made up)", family=family,
        columns=(name, *(f"{name}-{part}" for part in "pqr"[:more])), needs=NEEDS.get(family, ()),
        levels=("turn", "dialogue"), paper="https://example.org/paper", scope="item",
        trained_on="made-up (none)" if family == "trained" else "", signature=f"{name}|r1|made=up",
        models=() if family in ("lexical", "control") else ("tiny-encoder",),
        parameters=0 if family in ("lexical", "control") else 22_000_000,
        system="baseline" if family == "control" else ("as published", "another method")[number % 2],
        fitted_on="ratings" if family == "composite" else "")


def _datasets(count: int, items: tuple[int, int], sample: int, rng: np.random.Generator
              ) -> Iterator[rows.DatasetEntry]:
    for number, qualities in enumerate(PER_DATASET[:count]):
        size = int(rng.integers(items[0], items[1] + 1))
        split, level = "dev" if number < 14 else "test", "dialogue" if number in (2, 6) else "turn"
        yield rows.DatasetEntry(
            name=f"{split}-made-up-{number:02d}", title=f"Made-up {level}s {number}", split=split, level=level,
            origin="imported" if number < count - sample else "sample", fingerprint=f"{number:064x}", items=size,
            ratings=3 * size * qualities, contexts=size, licence="none", citation="Numbers made up for tests.",
            qualities=tuple(rows.QualityEntry(name, name.casefold(), 1.0, 5.0, size) for name in QUALITIES[:qualities]),
            has=("references",) if number % 3 == 0 else ())


def _scores(metric: rows.MetricEntry, entry: rows.DatasetEntry) -> bool:
    return set(metric.needs) <= {"context", *entry.has}


def _scored(entry: rows.DatasetEntry, metrics: Sequence[rows.MetricEntry], rng: np.random.Generator) -> Scored:
    latent = rng.normal(size=entry.items)
    votes = 3 + 0.8 * (latent + rng.normal(size=(len(entry.qualities), 3, entry.items)).mean(axis=1))
    keys = [(metric.name, column) for metric in metrics if _scores(metric, entry) for column in metric.columns]
    noise = 1 + 4 * rng.random(len(keys))
    scores = latent + noise[:, None] * rng.normal(size=(len(keys), entry.items))
    return Scored(entry, np.clip(np.rint(3 * votes) / 3, 1, 5), dict(zip(keys, scores, strict=True)))


def _correlations(one: Scored) -> Iterator[rows.Correlation]:
    n = one.entry.items
    for quality, human in zip(one.entry.qualities, one.human, strict=True):
        for statistic in ("spearman", "pearson", "kendall"):
            measure = "pearson" if statistic == "kendall" else statistic
            values = correlation_matrix(np.vstack([human, *one.scores.values()]), measure)[0, 1:]
            values = 2 / math.pi * np.arcsin(values) if statistic == "kendall" else values
            far = 1.96 / math.sqrt(n - 3)
            p = 2 * stats.norm.sf(np.abs(np.arctanh(values)) * math.sqrt(n - 3))
            parts = (values, p, np.tanh(np.arctanh(values) - far), np.tanh(np.arctanh(values) + far))
            for key, *row in zip(one.scores, *(part.tolist() for part in parts), strict=True):
                yield rows.Correlation(one.entry.name, quality.name, *key, statistic, n, *row, corrected=row[0] / 0.9)


def _ranking(datasets: list[rows.DatasetEntry], correlations: tuple[rows.Correlation, ...]
             ) -> Iterator[rows.RankingRow]:
    """Rank as a run does; an interval of two places around a rank, and a letter for every four places."""
    names = [f"{split}{part}" for split in ("dev", "test")
             for part in ("", "-references", *(f":{name.casefold()}" for name in QUALITIES))]
    for board, origin in ((name, origin) for name in names for origin in ("real", "sample")):
        whole, _, dimension = board.partition(":")
        split, _, need = whole.partition("-")
        cells = frozenset((entry.name, quality.name) for entry in datasets for quality in entry.qualities
                          if entry.split == split and (entry.origin == "sample") == (origin == "sample")
                          and (not need or need in entry.has) and dimension in ("", quality.dimension))
        for row in challenge.ranking(challenge.Board(board, origin, cells), correlations) if cells else ():
            if dimension and row.rule != "dev":
                continue
            rank = row.rank if row.statistic == "spearman" else None
            yield row if rank is None else replace(row, low=float(max(1, rank - 2)), high=float(rank + 2), error=0.02,
                                                   letters="abcdefghijklmnopqrstuvwxyz"[min((rank - 1) // 4, 25)])


def _comparisons(one: Scored) -> Iterator[rows.Comparisons]:
    names, scores = labels(tuple(one.scores)), np.array(list(one.scores.values()))
    for quality, human in zip(one.entry.qualities, one.human, strict=True):
        for statistic in ("spearman", "pearson"):
            yield compared(one.entry.name, quality.name, names, statistic, "williams",
                           all_pairs_by_formula(human, scores, statistic))


def _reliability(entry: rows.DatasetEntry) -> Iterator[rows.Reliability]:
    for place, quality in enumerate(entry.qualities):
        for method, value in (("leave-one-out", 0.55), ("split-half", 0.7), ("alpha-ordinal", 0.4)):
            yield rows.Reliability(entry.name, quality.name, method, value - place / 50, entry.items)
        yield rows.Reliability(entry.name, quality.name, "alpha-interval", math.nan, 0, "made up to be missing")


def _points(one: Scored, rng: np.random.Generator) -> rows.ItemScores:
    entry = one.entry
    return rows.ItemScores(
        dataset=entry.name, items=tuple(f"{entry.name}_{number:05d}" for number in range(entry.items)),
        systems=tuple(f"system-{number % 6}" for number in range(entry.items)),
        words=rng.integers(1, 40, entry.items), contexts=np.arange(entry.items),
        human={quality.name: values for quality, values in zip(entry.qualities, one.human, strict=True)},
        scores=one.scores)


def _examples(one: Scored) -> Iterator[rows.Example]:
    for quality in one.entry.qualities:
        for number in range(6):
            words = WORDS[:40 + 25 * number]
            people = 0.95 - 0.02 * number if number % 2 else 0.05 + 0.02 * number
            yield rows.Example(
                dataset=one.entry.name, quality=quality.name, item=f"{one.entry.name}_{number:05d}",
                system=f"system-{number % 6}", context=(words, words[::-1]), response=words, rating=1 + 4 * people,
                people=people, metrics=1 - people, columns=tuple((key[1], 1 - people) for key in list(one.scores)[:5]),
                metric="" if quality.name == "Overall" else list(one.scores)[number % len(one.scores)][0])


def _exhibit(number: int) -> rows.Exhibit:
    grid = rows.Grid("values", "Made-up values", ("Setting", "Value"),
                     tuple((f"Setting {row}", f"0.{row:03d}") for row in range(40)), "made up")
    picture = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10" role="img" aria-label="Line {number}">'
               '<path d="M0 0L20 10" class="line"/></svg>')
    return rows.Exhibit(f"made-up-{number}", "study" if number else "challenge", f"Made-up exhibit {number}",
                        "What was seen.", f"harness study {number}", (grid,), ((picture, "A line that falls."),),
                        ("All of it is made up.",))
