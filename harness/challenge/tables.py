"""The tables of a challenge, each once as rows of numbers and texts: for the CSV files, and as a page shows them.

In the CSV files a number is a number, an empty cell nothing, and no two columns share a name; a column that a rule or a
treatment has is called value_RULE, rank_RULE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.challenge.outcome import Outcome
from harness.challenge.ranking import DIGITS, rank_of
from harness.results.rows import Grid
from harness.statistics.panel import Array

RULES = {"dev": "dev rule: mean over datasets of the mean over their qualities",
         "test": "test rule: mean over all qualities of all datasets",
         "borda": "Borda: competitors beaten, summed over all qualities"}
KINDS = {"sample": "the bundled sample (made by a script, simulated raters)", "real": "real human judgements"}
NONE = "–"
DECIMALS = 4
"""Of a value; targets.csv has them all."""

MOST = 30
"""So many submissions stand in a table of all pairs on a page; correlation.csv has the others."""

Row = Sequence[object]


def for_csv(outcome: Outcome) -> Mapping[str, Iterator[Row]]:
    """The rows of each table by its name, the headings first; each table is there even if nothing is in it."""
    makers: dict[str, Callable[[Outcome], Iterator[Row]]] = {
        "official": _official, "rules": _rules, "treatments": _treatments, "submissions": _submissions,
        "refused": _refused}
    return {name: (tuple(map(_rounded, row)) for row in rows(outcome)) for name, rows in makers.items()}


def grids(outcome: Outcome) -> tuple[Grid, ...]:
    """Every table as it is shown, the official one first."""
    return (official(outcome), rules(outcome), treatments(outcome), *correlations(outcome), submissions(outcome),
            *refused(outcome))


def _rounded(cell: object) -> object:
    if not isinstance(cell, float):
        return cell
    return round(cell, DECIMALS) + 0 if math.isfinite(cell) else ""


def _data(outcome: Outcome) -> str:
    """What the tables are on, in words."""
    origins = {field.dataset.origin for field in outcome.ground.fields}
    kind = KINDS["sample" if origins == {"sample"} else "real"]
    return f"{kind}; Spearman on {', '.join(field.name for field in outcome.ground.fields)}"


def _official(outcome: Outcome) -> Iterator[Row]:
    """Ranks, intervals, letters, clusters and targets; baselines where they would stand."""
    targets, ranking = outcome.ground.targets, outcome.ranking
    yield ("kind", "team", "submission", "name", "rank", "value", "rank_low", "rank_high", "letters", "cluster", "note",
           *(f"{dataset}|{quality}" for dataset, quality in targets))
    rows: list[tuple[float, Row]] = []
    for entry, place, values in zip(ranking.counting.entries, ranking.places[outcome.rules.rule], ranking.rows,
                                    strict=True):
        low, high = (f"{end:g}" if math.isfinite(place.low) else "" for end in (place.low, place.high))
        rows.append((place.value, (
            "submission", entry.submission.team, entry.submission.number, entry.submission.about.name, place.rank,
            place.value, low, high, place.letters, place.cluster or "", "", *(values[target] for target in targets))))
    rows += [(baseline.value, ("baseline", baseline.name, "", "", "", baseline.value, "", "", "", "", baseline.reason,
                               *(baseline.row.get(target, math.nan) for target in targets)))
             for baseline in outcome.baselines]
    yield from (row for _, row in sorted(rows, key=lambda row: (math.isnan(row[0]), -round(row[0], DIGITS))))


def official(outcome: Outcome) -> Grid:
    """The table of the challenge."""
    _, *rows = _official(outcome)
    head = ("team", "rank", "submission", "value", "95 % of the rank", "letters", "cluster",
            *(f"{dataset}, {quality}" for dataset, quality in outcome.ground.targets))
    return Grid("official", f"Official table, {RULES[outcome.rules.rule]}", head, tuple(map(_official_shown, rows)),
                _data(outcome))


def _official_shown(row: Row) -> tuple[str, ...]:
    kind, team, submission, name, rank, value, low, high, letters, cluster, note, *targets = row
    if kind == "baseline":
        team, submission = f"{team} (baseline)", note
    elif name:
        submission = f"{submission}: {name}"
    return (str(team), *map(_shown, (rank, submission, value, low if low == high else f"{low} to {high}", letters,
                                     cluster)), *(_shown(target, 3) for target in targets))


def _rules(outcome: Outcome) -> Iterator[Row]:
    every, points = outcome.ranking.places, outcome.ranking.points
    yield ("team", *(name for rule in every for name in (f"value_{rule}", f"rank_{rule}")), "points_borda",
           "rank_borda")
    for at, entry in enumerate(outcome.ranking.counting.entries):
        yield (entry.submission.team,
               *(cell for places in every.values() for cell in (places[at].value, places[at].rank)),
               points[at], rank_of(points[at], points))


def rules(outcome: Outcome) -> Grid:
    """The counting submissions under every rule."""
    _, *rows = _rules(outcome)
    head = ("team", *(name for rule in outcome.ranking.places for name in (RULES[rule].partition(":")[0], "rank")),
            "Borda", "rank")
    shown = tuple((*map(_shown, row[:-2]), f"{row[-2]:g}", str(row[-1])) for row in rows)
    return Grid("rules", "The same submissions under every rule", head, shown, _data(outcome))


def _treatments(outcome: Outcome) -> Iterator[Row]:
    """What each historic treatment does to value and rank; a refused submission has the ranks that it would have."""
    yield ("team", "refused", "value_official", "rank_official",
           *(name for effect in outcome.effects for name in (f"value_{effect.name}", f"rank_{effect.name}")))
    places = outcome.ranking.places[outcome.rules.rule]
    for at, (entry, place) in enumerate(zip(outcome.ranking.counting.entries, places, strict=True)):
        yield (entry.submission.team, "no", place.value, place.rank,
               *(cell for effect in outcome.effects for cell in (effect.values[at], effect.ranks[at])))
    would_be = [{name: (value, rank) for name, value, rank in effect.would_be} for effect in outcome.effects]
    for name in dict.fromkeys(name for ranks in would_be for name in ranks):
        pairs = [ranks.get(name, (math.nan, 0)) for ranks in would_be]
        yield (name, "yes", "", "", *(cell for value, rank in pairs
                                      for cell in (value, rank if math.isfinite(value) else "")))


def treatments(outcome: Outcome) -> Grid:
    """The historic treatments."""
    _, *rows = _treatments(outcome)
    head = ["team", "official", "rank"]
    for effect in outcome.effects:
        head += [f"{effect.title}{' (official)' if effect.official else ''}", "rank"]
    return Grid("treatments", "Under each historic treatment, the others being as the challenge has them",
                tuple(head), tuple(map(_treated_shown, rows)), _data(outcome))


def _treated_shown(row: Row) -> tuple[str, ...]:
    team, refused_, *cells = row
    if refused_ == "no":
        return (str(team), *map(_shown, cells))
    return (f"{team} (refused)", *(f"would be {cell}" if isinstance(cell, int) else _shown(cell) for cell in cells))


def correlations(outcome: Outcome) -> Iterator[Grid]:
    """How alike the counting submissions are: Spearman between their scores."""
    names, values = matrix(outcome)
    if len(names) > 1:
        rows = tuple((name, *(_shown(float(value), 2) for value in row))
                     for name, row in zip(names, values, strict=True))
        first = f" (the first {MOST} of the table)" if len(outcome.ranking.chosen) > MOST else ""
        yield Grid("correlation", f"Spearman between submissions{first}, averaged over datasets", ("team", *names),
                   rows, f"{_data(outcome)}; rated items")


def matrix(outcome: Outcome) -> tuple[tuple[str, ...], Array]:
    """The counting submissions' names and correlations, as many as a picture holds."""
    chosen = list(outcome.ranking.chosen[:MOST])
    return (tuple(outcome.entries.entries[place].submission.team for place in chosen),
            outcome.correlation[chosen][:, chosen])


def _submissions(outcome: Outcome) -> Iterator[Row]:
    yield "team", "number", "name", "date", "value", "status", "description"
    counting = set(outcome.ranking.chosen)
    for place, (entry, total) in enumerate(zip(outcome.entries.entries, outcome.ranking.totals, strict=True)):
        about = entry.submission.about
        yield (entry.submission.team, entry.submission.number, about.name, about.date or "", total,
               "counts" if place in counting else "taken", about.description)


def submissions(outcome: Outcome) -> Grid:
    """Every submission that was taken, and whether it counts."""
    head, *rows = _submissions(outcome)
    return Grid("submissions", "All submissions that were taken", (*map(str, head[:-1]), "what the team says"),
                tuple(tuple(map(_shown, row)) for row in rows), _data(outcome))


def _refused(outcome: Outcome) -> Iterator[Row]:
    yield "submission", "reasons"
    for submission in sorted(outcome.refused, key=lambda submission: submission.name):
        yield submission.name, "; ".join(submission.reasons)


def refused(outcome: Outcome) -> Iterator[Grid]:
    """Who was refused, and why; left out of everything else."""
    head, *rows = (tuple(map(str, row)) for row in _refused(outcome))
    if rows:
        yield Grid("refused", "Refused submissions", head, tuple(rows), _data(outcome))


def _shown(cell: object, digits: int = DECIMALS) -> str:
    """A cell for readers: a number with its digits, and a dash where there is nothing."""
    if isinstance(cell, float):
        return f"{round(cell, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(cell) else NONE
    return str(cell) or NONE
