"""The tables of a challenge, as texts: the official one, every rule, treatments, submissions, who is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.challenge.outcome import Outcome
from harness.challenge.ranking import DIGITS, TeamRank, rank_of
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


def grids(outcome: Outcome) -> tuple[Grid, ...]:
    """Every table, the official one first."""
    return (official(outcome), rules(outcome), treatments(outcome), *correlations(outcome), submissions(outcome),
            *refused(outcome))


def data(outcome: Outcome) -> str:
    """What the tables are on, in words."""
    origins = {one.dataset.origin for one in outcome.ground.fields}
    kind = KINDS["sample" if origins == {"sample"} else "real"]
    return f"{kind}; Spearman on {', '.join(one.name for one in outcome.ground.fields)}"


def official(outcome: Outcome) -> Grid:
    """The table of the challenge: ranks, intervals, letters, clusters and targets, baselines where they would stand."""
    targets = outcome.ground.targets
    places = outcome.ranking.places[outcome.rules.rule]
    head = ("team", "rank", "submission", "value", "95 % of the rank", "letters", "cluster",
            *(f"{dataset}, {quality}" for dataset, quality in targets))
    rows = [(place.value, (entry.submission.team, str(place.rank), _entry_name(entry.submission.number,
             entry.submission.about.name), number(place.value), interval(place), place.letters or NONE,
             str(place.cluster or NONE), *(number(row[target], 3) for target in targets)))
            for entry, place, row in zip(outcome.ranking.counting.entries, places, outcome.ranking.rows, strict=True)]
    rows += [(one.value, (f"{one.name} (baseline)", NONE, one.reason or NONE, number(one.value), NONE, NONE, NONE,
              *(number(one.row.get(target, math.nan), 3) for target in targets))) for one in outcome.baselines]
    ordered = sorted(rows, key=lambda row: (math.isnan(row[0]), -round(row[0], DIGITS)))
    return Grid("official", f"Official table, {RULES[outcome.rules.rule]}", head, tuple(row for _, row in ordered),
                data(outcome))


def rules(outcome: Outcome) -> Grid:
    """The counting submissions under every rule."""
    head = ["team"]
    columns: list[list[str]] = [[entry.submission.team for entry in outcome.ranking.counting.entries]]
    for name, places in outcome.ranking.places.items():
        head += [RULES[name].partition(":")[0], "rank"]
        columns += [[number(place.value) for place in places], [str(place.rank) for place in places]]
    points = outcome.ranking.points
    head += ["Borda", "rank"]
    columns += [[f"{one:g}" for one in points], [str(rank_of(one, points)) for one in points]]
    return Grid("rules", "The same submissions under every rule", tuple(head),
                tuple(zip(*columns, strict=True)), data(outcome))


def treatments(outcome: Outcome) -> Grid:
    """What each historic treatment does to value and rank."""
    places = outcome.ranking.places[outcome.rules.rule]
    head = ["team", "official", "rank"]
    for one in outcome.effects:
        head += [f"{one.title}{' (official)' if one.official else ''}", "rank"]
    rows = [(entry.submission.team, number(place.value), str(place.rank),
             *(text for one in outcome.effects for text in (number(one.values[at]), str(one.ranks[at]))))
            for at, (entry, place) in enumerate(zip(outcome.ranking.counting.entries, places, strict=True))]
    rows += [(f"{name} (refused)", NONE, NONE, *_would_be(outcome.effects, name)) for name in _would_be_names(outcome)]
    return Grid("treatments", "Under each historic treatment, the others being as the challenge has them",
                tuple(head), tuple(rows), data(outcome))


def _would_be_names(outcome: Outcome) -> list[str]:
    return [name for one in outcome.effects for name, _, _ in one.would_be]


def _would_be(effects: Sequence[Effect], name: str) -> Iterator[str]:
    for one in effects:
        given = {who: (value, rank) for who, value, rank in one.would_be}
        value, rank = given.get(name, (math.nan, 0))
        yield from (number(value), f"would be {rank}" if math.isfinite(value) else NONE)


def correlations(outcome: Outcome) -> Iterator[Grid]:
    """How alike the counting submissions are: Spearman between their scores."""
    chosen = outcome.ranking.chosen[:MOST]
    if len(chosen) < 2:
        return
    names = tuple(outcome.entries.entries[place].submission.team for place in chosen)
    rows = tuple((name, *(number(float(outcome.correlation[place, other]), 2) for other in chosen))
                 for name, place in zip(names, chosen, strict=True))
    first = f" (the first {MOST} of the table)" if len(outcome.ranking.chosen) > MOST else ""
    yield Grid("correlation", f"Spearman between submissions{first}, averaged over datasets", ("team", *names), rows,
               f"{data(outcome)}; rated items")


def submissions(outcome: Outcome) -> Grid:
    """Every submission that was taken, and whether it counts."""
    counting = set(outcome.ranking.chosen)
    rows = tuple((entry.submission.team, str(entry.submission.number), entry.submission.about.name or NONE,
                  str(entry.submission.about.date or NONE), number(total), "counts" if place in counting else "taken",
                  entry.submission.about.description or NONE)
                 for place, (entry, total) in enumerate(
                     zip(outcome.entries.entries, outcome.ranking.totals, strict=True)))
    return Grid("submissions", "All submissions that were taken",
                ("team", "number", "name", "date", "value", "status", "what the team says"), rows, data(outcome))


def refused(outcome: Outcome) -> Iterator[Grid]:
    """Who was refused, and why; left out of everything else."""
    if outcome.refused:
        yield Grid("refused", "Refused submissions", ("submission", "reasons"),
                   tuple((one.name, "; ".join(one.reasons))
                         for one in sorted(outcome.refused, key=lambda one: one.name)), data(outcome))


def matrix(outcome: Outcome) -> tuple[tuple[str, ...], Array]:
    """The counting submissions' names and correlations, as many as a picture holds."""
    chosen = list(outcome.ranking.chosen[:MOST])
    return (tuple(outcome.entries.entries[place].submission.team for place in chosen),
            outcome.correlation[chosen][:, chosen])


def interval(place: TeamRank) -> str:
    """The interval of a rank: 1, or 1 to 3."""
    if math.isnan(place.low):
        return NONE
    return f"{place.low:g}" if place.low == place.high else f"{place.low:g} to {place.high:g}"


def number(value: float, digits: int = 4) -> str:
    """A number as it is shown, or a dash."""
    return f"{round(value, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(value) else NONE


def _entry_name(number_: int, name: str) -> str:
    return f"{number_}: {name}" if name else str(number_)
