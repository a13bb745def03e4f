"""The tables of a challenge, as texts: the official one, every rule, treatments, submissions, who is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.challenge.outcome import Outcome
from harness.challenge.ranking import DIGITS, Standing, rank_of
from harness.challenge.treatments import Effect
from harness.results.rows import Grid
from harness.statistics.panel import Array

RULES = {"dev": "dev rule: mean over datasets of the mean over their qualities",
         "test": "test rule: mean over all qualities of all datasets",
         "borda": "Borda: competitors beaten, summed over all qualities"}
KINDS = {"sample": "the bundled sample (made by a script, simulated raters)", "real": "real human judgements"}
NONE = "–"
MOST = 30
"""So many submissions stand in a table of all pairs on a page; correlation.csv has the others."""


def grids(found: Outcome) -> tuple[Grid, ...]:
    """Every table, the official one first."""
    return (official(found), rules(found), treatments(found), *correlations(found), submissions(found),
            *refused(found))


def data(found: Outcome) -> str:
    """What the tables are on, in words."""
    origins = {one.dataset.origin for one in found.ground.fields}
    kind = KINDS["sample" if origins == {"sample"} else "real"]
    return f"{kind}; Spearman on {', '.join(one.name for one in found.ground.fields)}"


def official(found: Outcome) -> Grid:
    """The table of the challenge: ranks, intervals, letters, clusters and targets, baselines where they would stand."""
    targets = found.ground.targets
    places = found.ranking.places[found.rules.rule]
    head = ("team", "rank", "submission", "value", "95 % of the rank", "letters", "cluster",
            *(f"{dataset}, {quality}" for dataset, quality in targets))
    rows = [(place.value, (entry.submission.team, str(place.rank), _entry_name(entry.submission.number,
             entry.submission.about.name), number(place.value), interval(place), place.letters or NONE,
             str(place.cluster or NONE), *(number(row[target], 3) for target in targets)))
            for entry, place, row in zip(found.ranking.counting.entries, places, found.ranking.rows, strict=True)]
    rows += [(one.value, (f"{one.name} (baseline)", NONE, one.reason or NONE, number(one.value), NONE, NONE, NONE,
              *(number(one.row.get(target, math.nan), 3) for target in targets))) for one in found.baselines]
    ordered = sorted(rows, key=lambda row: (math.isnan(row[0]), -round(row[0], DIGITS)))
    return Grid("official", f"Official table, {RULES[found.rules.rule]}", head, tuple(row for _, row in ordered),
                data(found))


def rules(found: Outcome) -> Grid:
    """The counting submissions under every rule."""
    head = ["team"]
    columns: list[list[str]] = [[entry.submission.team for entry in found.ranking.counting.entries]]
    for name, places in found.ranking.places.items():
        head += [RULES[name].partition(":")[0], "rank"]
        columns += [[number(place.value) for place in places], [str(place.rank) for place in places]]
    points = found.ranking.points
    head += ["Borda", "rank"]
    columns += [[f"{one:g}" for one in points], [str(rank_of(one, points)) for one in points]]
    return Grid("rules", "The same submissions under every rule", tuple(head),
                tuple(zip(*columns, strict=True)), data(found))


def treatments(found: Outcome) -> Grid:
    """What each historic treatment does to value and rank."""
    places = found.ranking.places[found.rules.rule]
    head = ["team", "official", "rank"]
    for one in found.effects:
        head += [f"{one.title}{' (official)' if one.official else ''}", "rank"]
    rows = [(entry.submission.team, number(place.value), str(place.rank),
             *(text for one in found.effects for text in (number(one.values[at]), str(one.ranks[at]))))
            for at, (entry, place) in enumerate(zip(found.ranking.counting.entries, places, strict=True))]
    rows += [(f"{name} (refused)", NONE, NONE, *_would_be(found.effects, name)) for name in _would_be_names(found)]
    return Grid("treatments", "Under each historic treatment, the others being as the challenge has them",
                tuple(head), tuple(rows), data(found))


def _would_be_names(found: Outcome) -> list[str]:
    return [name for one in found.effects for name, _, _ in one.would_be]


def _would_be(effects: Sequence[Effect], name: str) -> Iterator[str]:
    for one in effects:
        given = {who: (value, rank) for who, value, rank in one.would_be}
        value, rank = given.get(name, (math.nan, 0))
        yield from (number(value), f"would be {rank}" if math.isfinite(value) else NONE)


def correlations(found: Outcome) -> Iterator[Grid]:
    """How alike the counting submissions are: Spearman between their scores."""
    chosen = found.ranking.chosen[:MOST]
    if len(chosen) < 2:
        return
    names = tuple(found.entries.entries[place].submission.team for place in chosen)
    rows = tuple((name, *(number(float(found.correlation[place, other]), 2) for other in chosen))
                 for name, place in zip(names, chosen, strict=True))
    first = f" (the first {MOST} of the table)" if len(found.ranking.chosen) > MOST else ""
    yield Grid("correlation", f"Spearman between submissions{first}, averaged over datasets", ("team", *names), rows,
               f"{data(found)}; rated items")


def submissions(found: Outcome) -> Grid:
    """Every submission that was taken, and whether it counts."""
    counting = set(found.ranking.chosen)
    rows = tuple((entry.submission.team, str(entry.submission.number), entry.submission.about.name or NONE,
                  str(entry.submission.about.date or NONE), number(total), "counts" if place in counting else "taken",
                  entry.submission.about.description or NONE)
                 for place, (entry, total) in enumerate(zip(found.entries.entries, found.ranking.totals, strict=True)))
    return Grid("submissions", "All submissions that were taken",
                ("team", "number", "name", "date", "value", "status", "what the team says"), rows, data(found))


def refused(found: Outcome) -> Iterator[Grid]:
    """Who was refused, and why; left out of everything else."""
    if found.refused:
        yield Grid("refused", "Refused submissions", ("submission", "reasons"),
                   tuple((one.name, "; ".join(one.reasons))
                         for one in sorted(found.refused, key=lambda one: one.name)), data(found))


def matrix(found: Outcome) -> tuple[tuple[str, ...], Array]:
    """The counting submissions' names and correlations, as many as a picture holds."""
    chosen = list(found.ranking.chosen[:MOST])
    return (tuple(found.entries.entries[place].submission.team for place in chosen),
            found.correlation[chosen][:, chosen])


def interval(place: Standing) -> str:
    """The interval of a rank: 1, or 1 to 3."""
    if math.isnan(place.low):
        return NONE
    return f"{place.low:g}" if place.low == place.high else f"{place.low:g} to {place.high:g}"


def number(value: float, digits: int = 4) -> str:
    """A number as it is shown, or a dash."""
    return f"{round(value, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(value) else NONE


def _entry_name(number_: int, name: str) -> str:
    return f"{number_}: {name}" if name else str(number_)
