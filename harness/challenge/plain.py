"""The tables of a challenge for machines: numbers as numbers, an empty cell for nothing, no two columns of one name.

`tables.py` has the same for readers. A column that a rule or a treatment has is called value_RULE, rank_RULE.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from harness.challenge.outcome import Outcome
from harness.challenge.ranking import DIGITS, TeamRank, rank_of

DECIMALS = 4
"""Of a value, as on the pages; targets.csv has them all."""

Row = Sequence[object]


def tables(outcome: Outcome) -> Mapping[str, Iterator[Row]]:
    """The rows of each table by its name, the headings first; each table is there even if nothing is in it."""
    return {"official": _official(outcome), "rules": _rules(outcome), "treatments": _treatments(outcome),
            "submissions": _submissions(outcome), "refused": _refused(outcome)}


def _official(outcome: Outcome) -> Iterator[Row]:
    targets = outcome.ground.targets
    yield ("kind", "team", "submission", "name", "rank", "value", "rank_low", "rank_high", "letters", "cluster", "note",
           *(f"{dataset}|{quality}" for dataset, quality in targets))
    places = outcome.ranking.places[outcome.rules.rule]
    rows: list[tuple[float, Row]] = [
        (place.value, ("submission", entry.submission.team, entry.submission.number, entry.submission.about.name,
                       place.rank, _value(place.value), *_drawn(place), "",
                       *(_value(row[target]) for target in targets)))
        for entry, place, row in zip(outcome.ranking.counting.entries, places, outcome.ranking.rows, strict=True)]
    rows += [(one.value, ("baseline", one.name, "", "", "", _value(one.value), "", "", "", "", one.reason,
                          *(_value(one.row.get(target, math.nan)) for target in targets))) for one in outcome.baselines]
    yield from (row for _, row in sorted(rows, key=lambda row: (math.isnan(row[0]), -round(row[0], DIGITS))))


def _rules(outcome: Outcome) -> Iterator[Row]:
    every, points = outcome.ranking.places, outcome.ranking.points
    yield ("team", *(name for rule in every for name in (f"value_{rule}", f"rank_{rule}")), "points_borda",
           "rank_borda")
    for at, entry in enumerate(outcome.ranking.counting.entries):
        yield (entry.submission.team,
               *(one for places in every.values() for one in (_value(places[at].value), places[at].rank)),
               points[at], rank_of(points[at], points))


def _treatments(outcome: Outcome) -> Iterator[Row]:
    """A refused submission has the ranks that it would have."""
    yield ("team", "refused", "value_official", "rank_official",
           *(name for one in outcome.effects for name in (f"value_{one.name}", f"rank_{one.name}")))
    places = outcome.ranking.places[outcome.rules.rule]
    for at, (entry, place) in enumerate(zip(outcome.ranking.counting.entries, places, strict=True)):
        yield (entry.submission.team, "no", _value(place.value), place.rank,
               *(value for one in outcome.effects for value in (_value(one.values[at]), one.ranks[at])))
    would_be = [{who: (value, rank) for who, value, rank in one.would_be} for one in outcome.effects]
    for name in dict.fromkeys(name for one in would_be for name in one):
        given = [one.get(name, (math.nan, 0)) for one in would_be]
        yield (name, "yes", "", "", *(one for value, rank in given
                                      for one in (_value(value), rank if math.isfinite(value) else "")))


def _submissions(outcome: Outcome) -> Iterator[Row]:
    yield "team", "number", "name", "date", "value", "status", "description"
    counting = set(outcome.ranking.chosen)
    for place, (entry, total) in enumerate(zip(outcome.entries.entries, outcome.ranking.totals, strict=True)):
        about = entry.submission.about
        yield (entry.submission.team, entry.submission.number, about.name, about.date or "", _value(total),
               "counts" if place in counting else "taken", about.description)


def _refused(outcome: Outcome) -> Iterator[Row]:
    yield "submission", "reasons"
    for one in sorted(outcome.refused, key=lambda one: one.name):
        yield one.name, "; ".join(one.reasons)


def _drawn(place: TeamRank) -> Row:
    known = math.isfinite(place.low)
    return (f"{place.low:g}" if known else "", f"{place.high:g}" if known else "", place.letters, place.cluster or "")


def _value(value: float) -> float | str:
    return round(value, DECIMALS) + 0 if math.isfinite(value) else ""
