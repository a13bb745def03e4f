"""A synthetic report of full size: 19 datasets with 54 targets, 60 metrics with 102 columns.

Ratings and scores are random numbers that follow a latent quality more or less; correlations, Williams' tests and
ranks are those of a run on them, so that what a page recomputes can be held against them. The same arguments give the
same report.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from harness.results import rows
from harness.run import correlate
from harness.run import rank as challenge
from harness.run.compare import compared, labels
from harness.statistics.williams import all_pairs_by_formula

QUALITIES = ("Overall", "Interesting", "Relevant", "Fluent", "Specific", "Correct", "Engaging")
PER_DATASET = (1, 3, 7, 6, 6, 7, 7, 1, 4, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2)
FAMILIES = ("lexical", "embedding", "likelihood", "trained", "graph", "composite")
NEEDS: dict[str, tuple[str, ...]] = {"lexical": ("references",), "composite": ("context",)}
CONTROLS = ("length", "constant-guess")
CURVE = tuple(rows.Look(step, 1.5 - step / 600, 1.6 - step / 500 + (step / 500) ** 2) for step in range(50, 501, 50))
WORDS = " ".join(("well", "I", "think", "that", "you", "would", "like", "music", "and", "long", "walks", "today") * 4)


def make(datasets: int = 19, metrics: int = 60, items: tuple[int, int] = (300, 1500), comparisons: bool = True,
         sample: int = 0) -> rows.Results:
    """Make the report; `items` are the fewest and most items of a dataset, `sample` counts the sample datasets."""
    rng = np.random.default_rng(5)
    made = tuple(map(_metric, range(metrics)))
    entries = tuple(_datasets(datasets, items, sample, rng))
    points = tuple(_points(entry, made, rng) for entry in entries)
    targets = [target for scored, entry in zip(points, entries, strict=True)
               for target in correlate.targets(scored, correlate.rated(scored, entry))]
    correlations = tuple(replace(row, corrected=row.value / 0.9) for target in targets
                         for row in correlate.correlations(target))
    return rows.Results(
        run=rows.Run(version="0.0", commit=None, seed=5, device="cpu", options={"data": "all"}, python="3.11",
                     platform="Linux", packages={"numpy": "2", "scipy": "1"}),
        datasets=entries, metrics=made, correlations=correlations,
        ranking=tuple(_ranking(entries, correlations)),
        skips=tuple(rows.Skip(entry.name, metric.name, "needs references, and the dataset has none")
                    for entry in entries for metric in made if not _can_score(metric, entry)),
        comparisons=tuple(row for target in targets if comparisons for row in _comparisons(target)),
        reliability=tuple(row for entry in entries for row in _reliability(entry)),
        trainings=tuple(rows.TrainingEntry(
            f"{entry.name}-head", (entry.name,), "tiny-encoder", f"{len(entry.name):064x}", ("made-up (none)",), 1, 500,
            250, "cpu", 60.0, f"harness train {entry.name}", None, CURVE) for entry in made if entry.trained_on),
        examples=tuple(row for scored in points for row in _examples(scored)), points=points,
        exhibits=tuple(map(_exhibit, range(4))),
        timings=tuple(rows.Timing(entry.name, metric.name, entry.items, 0.001 * (number + 1) * entry.items)
                      for entry in entries for number, metric in enumerate(made) if _can_score(metric, entry)))


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


def _can_score(metric: rows.MetricEntry, entry: rows.DatasetEntry) -> bool:
    return set(metric.needs) <= {"context", *entry.has}


def _points(entry: rows.DatasetEntry, metrics: Sequence[rows.MetricEntry], rng: np.random.Generator) -> rows.ItemScores:
    latent = rng.normal(size=entry.items)
    votes = 3 + 0.8 * (latent + rng.normal(size=(len(entry.qualities), 3, entry.items)).mean(axis=1))
    human = np.clip(np.rint(3 * votes) / 3, 1, 5)
    keys = [(metric.name, column) for metric in metrics if _can_score(metric, entry) for column in metric.columns]
    noise = 1 + 4 * rng.random(len(keys))
    scores = latent + noise[:, None] * rng.normal(size=(len(keys), entry.items))
    return rows.ItemScores(
        dataset=entry.name, items=tuple(f"{entry.name}_{number:05d}" for number in range(entry.items)),
        systems=tuple(f"system-{number % 6}" for number in range(entry.items)),
        words=np.arange(entry.items) * 7 % 39 + 1, contexts=np.arange(entry.items),
        human={quality.name: values for quality, values in zip(entry.qualities, human, strict=True)},
        scores=dict(zip(keys, scores, strict=True)))


def _ranking(datasets: Sequence[rows.DatasetEntry], correlations: tuple[rows.Correlation, ...]
             ) -> Iterator[rows.RankingRow]:
    """Rank as a run does, with an interval of two ranks on each side and a letter for every four ranks."""
    names = [f"{split}{part}" for split in ("dev", "test")
             for part in ("", "-references", *(f":{name.casefold()}" for name in QUALITIES))]
    for board, origin in ((name, origin) for name in names for origin in ("real", "sample")):
        board_id = rows.BoardId.parse(board)
        split, need, dimension = board_id.split, board_id.part, board_id.dimension
        cells = frozenset((entry.name, quality.name) for entry in datasets for quality in entry.qualities
                          if entry.split == split and entry.kind == origin
                          and (not need or need in entry.has) and dimension in ("", quality.dimension))
        for row in challenge.ranking(board_id, origin, cells, correlations) if cells else ():
            rank = row.rank if row.statistic == "spearman" else None
            yield row if rank is None else replace(row, low=float(max(1, rank - 2)), high=float(rank + 2), error=0.02,
                                                   letters="abcdefghijklmnopqrstuvwxyz"[min((rank - 1) // 4, 25)])


def _comparisons(target: correlate.TargetData) -> Iterator[rows.Comparisons]:
    for statistic in ("spearman", "pearson"):
        tests = all_pairs_by_formula(target.judged.means, target.scores, statistic)
        yield compared(target.dataset, target.quality, labels(target.names), statistic, "williams", tests)


def _reliability(entry: rows.DatasetEntry) -> Iterator[rows.Reliability]:
    for position, quality in enumerate(entry.qualities):
        for method, value in (("leave-one-out", 0.55), ("split-half", 0.7), ("alpha-ordinal", 0.4)):
            yield rows.Reliability(entry.name, quality.name, method, value - position / 50, entry.items)
        yield rows.Reliability(entry.name, quality.name, "alpha-interval", math.nan, 0, "made up to be missing")


def _examples(points: rows.ItemScores) -> Iterator[rows.Example]:
    for quality in points.human:
        for number in range(6):
            words = WORDS[:40 + 25 * number]
            people = 0.95 - 0.02 * number if number % 2 else 0.05 + 0.02 * number
            yield rows.Example(
                dataset=points.dataset, quality=quality, item=points.items[number],
                system=f"system-{number % 6}", context=(words, words[::-1]), response=words, rating=1 + 4 * people,
                people=people, metrics=1 - people,
                columns=tuple((key[1], 1 - people) for key in list(points.scores)[:5]),
                metric="" if quality == "Overall" else list(points.scores)[number % len(points.scores)][0])


def _exhibit(number: int) -> rows.Exhibit:
    grid = rows.Grid("values", "Made-up values", ("Setting", "Value"),
                     tuple((f"Setting {row}", f"0.{row:03d}") for row in range(40)), "made up")
    return rows.Exhibit(f"made-up-{number}", "study" if number else "challenge", f"Made-up exhibit {number}",
                        "What was seen.", f"harness study {number}", (grid,),
                        (rows.HeatMap(f"Map {number}", ("first", "second"), ((1.0, -0.3), (-0.3, 1.0)), "Two."),),
                        ("All of it is made up.",))
