"""A report in which everything that comes from outside is hostile: every name, text, note and reason.

`make(NAMES)` has all of the names below among its texts, and the first of them as datasets, qualities, metrics and
columns; `make(plain(NAMES))` is the same report with names that nobody could object to, for what is different between
the two sites is what the names did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    Example,
    Exhibit,
    Failure,
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

LONG = 10_000
CORE = 11
NAMES = (
    "<script>alert('x')</script>", "</script></title></style></svg><script>alert(2)</script>",
    "\"><img src=x onerror='alert(3)'>", "right\u202eto left\x07\x1b[31m\x00", "half\ud800", "__proto__", "A B", "a b",
    "a_b", "x" * LONG, "`code` **bold** | [x](javascript:alert(7))",
    # these are texts, not names of pages
    "' onmouseover='alert(4)", "<!--<script>", "]]>", "<svg/onload=alert(5)>", "&lt;b&gt;", "{{ 7 * 7 }}", "${7 * 7}",
    "constructor", "toString", "javascript:alert(6)", "data:text/html,x", "//example.org/x", "../../etc/passwd", "..",
    "con", "index", "a-b", "\u2067isolated", "zero\u200bwidth", "\u05d0\u05d1\u05d2", "nel\x85",
    "line\nbreak\r\nand\ttab", "\u2028separated", "tag\U000e0041\U000e007f", "cafe\u0301", "caf\u00e9", "=1+1",
    "#main", "?q=1&r=2", "100%", "a\\b")
ITEMS = 12
STATISTICS = ("spearman", "pearson")


def plain(names: Sequence[str]) -> tuple[str, ...]:
    """As many harmless names."""
    return tuple(f"name-{number:02d}" for number in range(len(names)))


def make(names: Sequence[str] = NAMES) -> Results:
    """Make the report: a dataset, a quality, a metric and a column of each of the first names."""
    texts, names = names, names[:CORE]
    count = len(names)
    datasets = tuple(_dataset(names, place) for place in range(count))
    columns = [(names[place], names[(place + 2) % count]) for place in range(count)]
    return Results(
        run=Run(version=names[0], commit=names[1], seed=1, device=names[2], options={name: name for name in texts},
                python=names[3], platform=names[4], packages={name: name for name in texts}, command=names[5]),
        datasets=datasets, metrics=tuple(_metric(names, place) for place in range(count)),
        correlations=tuple(_correlations(datasets, columns)), ranking=tuple(_ranking(columns)),
        skips=tuple(Skip(names[place % count], names[place * 3 % count], text) for place, text in enumerate(texts)),
        failures=tuple(Failure(names[place % 4], names[place % count], text) for place, text in enumerate(texts)),
        comparisons=tuple(_comparisons(datasets, columns)),
        reliability=tuple(Reliability(entry.name, entry.qualities[0].name, "leave-one-out", 0.5, ITEMS)
                          for entry in datasets),
        trainings=tuple(_training(names, place) for place in range(count)),
        examples=tuple(_example(names, place, text) for place, text in enumerate(texts)),
        points=tuple(_points(names, entry, columns) for entry in datasets),
        exhibits=tuple(_exhibit(names, place) for place in range(count)),
        timings=tuple(Timing(names[place], names[place], ITEMS, 0.5) for place in range(count)))


def _around(names: Sequence[str], place: int, how_many: int) -> tuple[str, ...]:
    return tuple(names[(place + step) % len(names)] for step in range(how_many))


def _dataset(names: Sequence[str], place: int) -> DatasetEntry:
    one, two, three, four, five = _around(names, place, 5)
    return DatasetEntry(
        name=one, title=two, split="dev" if place % 2 else "test", level="turn",
        origin="imported" if place % 3 else "sample", fingerprint=three, items=ITEMS, ratings=3 * ITEMS,
        qualities=(QualityEntry(two, three, 1.0, 5.0, ITEMS),), licence=four, citation=five, notes=one,
        has=("references",), contexts=ITEMS)


def _metric(names: Sequence[str], place: int) -> MetricEntry:
    one, two, three, four, five = _around(names, place, 5)
    return MetricEntry(
        name=one, title=two, family=four, columns=(three,), needs=(two,), levels=(five,),
        paper=(one, f"https://example.org/{one}")[place % 2], scope=two, trained_on=three, signature=four,
        models=(five, one), learned_on=(names[(place + 7) % len(names)],))


def _correlations(datasets: Sequence[DatasetEntry], columns: Sequence[tuple[str, str]]) -> Iterator[Correlation]:
    for number, entry in enumerate(datasets):
        for statistic in STATISTICS:
            for place, key in enumerate(columns):
                if (place + number) % 5 == 0:
                    yield Correlation(entry.name, entry.qualities[0].name, *key, statistic, 0, *[float("nan")] * 4,
                                    note=entry.name)
                else:
                    value = ((7 * place + 3 * number) % 100 - 30) / 100
                    yield Correlation(entry.name, entry.qualities[0].name, *key, statistic, ITEMS, value, 0.04,
                                    value - 0.1, value + 0.1, corrected=value)


def _ranking(columns: Sequence[tuple[str, str]]) -> Iterator[RankingRow]:
    for board in ("dev", "test"):
        for origin in ("real", "sample"):
            for rule in ("dev", "test"):
                for place, key in enumerate(columns):
                    rank = place + 1
                    yield RankingRow(board, origin, rule, "spearman", *key, 0.9 - place / 100, rank, 3, 3,
                                   float(max(1, rank - 1)), float(rank + 1), "ab")


def _comparisons(datasets: Sequence[DatasetEntry], columns: Sequence[tuple[str, str]]) -> Iterator[Comparison]:
    for entry in datasets:
        for place, (_, better) in enumerate(columns):
            for _, worse in columns[place + 1:]:
                yield Comparison(entry.name, entry.qualities[0].name, "spearman", "williams", better, worse, ITEMS, 0.1,
                              2.0, 0.01, 0.04, 0.03)


def _training(names: Sequence[str], place: int) -> TrainingEntry:
    one, two, three, four, five = _around(names, place, 5)
    return TrainingEntry(
        name=two, metrics=(one,), encoder=three, digest=f"{place:064x}", corpora=(four,), seed=1, steps=20, kept=10,
        device=five, seconds=1.0, command=one, commit=two, curve=(Look(10, 1.0, 1.0), Look(20, 0.5, 1.5)))


def _example(names: Sequence[str], place: int, text: str) -> Example:
    one, two, three, four, five = _around(names, place, 5)
    return Example(
        dataset=one, quality=two, item=three, system=four, context=(five, text), response=text, rating=4.5, people=0.9,
        metrics=0.1, columns=((names[(place + 2) % len(names)], 0.1), (four, 0.2)))


def _points(names: Sequence[str], entry: DatasetEntry, columns: Sequence[tuple[str, str]]) -> ItemScores:
    rng = np.random.default_rng(len(entry.name))
    return ItemScores(
        dataset=entry.name, items=tuple(f"{entry.name}_{number}" for number in range(ITEMS)),
        systems=tuple(names[number % len(names)] for number in range(ITEMS)), words=np.arange(ITEMS, dtype=np.int64),
        contexts=np.arange(ITEMS, dtype=np.int64),
        human={entry.qualities[0].name: rng.normal(size=ITEMS).astype(np.float32)},
        scores={key: rng.normal(size=ITEMS).astype(np.float32) for key in columns})


def _exhibit(names: Sequence[str], place: int) -> Exhibit:
    one, two, three, four, five = _around(names, place, 5)
    grid = Grid(one, two, (three, four), ((five, one), (two, three)), four)
    return Exhibit(one, ("study", "challenge")[place % 2], two, three, four, (grid,), (), (five,))
