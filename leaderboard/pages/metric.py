"""A page per metric: its card, what it reaches on every cell, and where it and people part company."""

from __future__ import annotations

import math
from collections.abc import Mapping

from harness.results.rows import MetricEntry, Results, Timing
from leaderboard.blocks import profile, scatters
from leaderboard.blocks.card import card, needs
from leaderboard.blocks.cells import number
from leaderboard.blocks.profile import Values
from leaderboard.blocks.tables import Block, Cell, Group, Heading, Page, Prose, Section, Table
from leaderboard.model import apart, reached
from leaderboard.model.apart import Judged
from leaderboard.model.boards import BOARDS, complete, names
from leaderboard.model.index import Index, Key, Origin, make_index
from leaderboard.model.reached import ORIGINS, Field

ALL: tuple[Origin, ...] = ("real", "sample")
READ = ("Grey italics: p ≥ 0.05, not told apart from no agreement. Below a value: its 95 % interval. People: how far "
        "one of them agrees with the others.")
NO_POINTS = ("This report holds no scores item by item, so nothing is plotted here; a run with this version of the "
             "harness keeps them.")


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per metric of the run."""
    index = make_index(results)
    every, ready = reached.field(index), apart.judged(index)
    given = {origin: profile.values(every, origin) for origin in ALL if index.on(origin)}
    timings: dict[str, list[Timing]] = {}
    for row in results.timings:
        timings.setdefault(row.metric, []).append(row)
    return tuple(_page(every, ready, given, timings.get(entry.name, []), entry)
                 for entry in sorted(results.metrics, key=lambda entry: entry.name))


def _page(every: Field, ready: Mapping[str, Judged], given: Mapping[Origin, Values], timings: list[Timing],
          entry: MetricEntry) -> Page:
    found = every.found
    keys = columns(found, entry)
    parts = [section for origin, values in given.items() for section in _origin(every, ready, values, keys, origin)]
    return Page(
        path=found.cards[entry.name], title=entry.title or entry.name, label=entry.name,
        lead=" ".join((f"{entry.name}, a metric of the family “{entry.family}”.", *_headline(every, keys))),
        detail=f"{entry.family}; needs {needs(entry)}",
        sections=(Section("card", "The metric", card(found, entry)), *parts, _timings(found, timings)),
        group="Metrics", order=3, markdown=False, sample="sample" in given, mixed=len(given) > 1)


def _headline(every: Field, keys: list[Key]) -> tuple[str, ...]:
    """Say in a sentence for each board where the first column stands."""
    rows = ((name, origin, every.ranking.get((name, origin, keys[0])))
            for name, origin in names(every.found.results) if keys)
    return tuple(f"Rank {row.rank} on “{BOARDS.get(name, name)}”, {ORIGINS[origin]}: mean Spearman {number(row.value)}."
                 for name, origin, row in rows if row is not None and complete(row))


def columns(index: Index, entry: MetricEntry) -> list[Key]:
    """List the columns of a metric: those it promises in its own order, then others that the run has."""
    promised = [(entry.name, column) for column in entry.columns]
    others = sorted(key for key in index.labels if key[0] == entry.name and key not in promised)
    return [*promised, *others]


def _origin(every: Field, ready: Mapping[str, Judged], values: Values, keys: list[Key],
            origin: Origin) -> tuple[Section, ...]:
    """Everything on real data, or everything on the sample."""
    if not keys:
        return ()
    found, words, first = every.found, ORIGINS[origin], keys[0]
    given = apart.findings(found, ready, first, origin)
    warnings = tuple(map(Prose, reached.behind_length(every, keys, origin)))
    blocks: tuple[tuple[str, str, tuple[Block, ...]], ...] = (
        ("standing", "RankingRow", (*reached.ranking(every, keys, origin), *warnings)),
        ("profile", "Profile over the qualities", profile.picture(every, values, first, origin)),
        ("cells", "Every dataset and quality", (Prose(READ), *reached.tables(every, keys, origin))),
        ("points", "Scores against ratings", _scatters(found, first, origin)),
        ("parts", "Where it and people part company", apart.tables(found, given, origin)),
        ("length", "Whether it follows length", apart.length(found, given, found.labels[first], origin)))
    return tuple(Section(f"{anchor}-{origin}", f"{title}, {words}", drawn) for anchor, title, drawn in blocks if drawn)


def _scatters(index: Index, key: Key, origin: Origin) -> tuple[Block, ...]:
    return scatters.gallery(index, key, origin) if index.results.points else (Prose(NO_POINTS),)


def _timings(index: Index, timings: list[Timing]) -> Section:
    rows = tuple((Cell(row.dataset, link=index.dataset_paths.get(row.dataset, "")),
                  Cell(str(row.items), value=row.items), Cell(f"{row.seconds:.2f}", value=row.seconds),
                  _cost(row.items, row.seconds))
                 for row in sorted(timings, key=lambda row: (row.dataset, row.items, row.seconds)))
    if not rows:
        return Section("timings", "Cost", (Prose("Nothing was scored with it in this run, so no time was taken."),))
    items, seconds = sum(row.items for row in timings), math.fsum(row.seconds for row in timings)
    total = (Cell("All"), Cell(str(items), value=items), Cell(f"{seconds:.2f}", value=seconds), _cost(items, seconds))
    return Section("timings", "Cost", (Table(
        "timing-table", f"Seconds of scoring, on {index.results.run.device}",
        (Heading("Dataset", "stub"), Heading("Items", "number"), Heading("Seconds", "number"),
         Heading("Seconds per 1,000 items", "number")),
        (Group(rows), Group((total,))), data="the time of this run, whatever the origin of the datasets"),))


def _cost(items: int, seconds: float) -> Cell:
    if not items:
        return Cell("")
    return Cell(f"{1000 * seconds / items:.2f}", value=1000 * seconds / items)
