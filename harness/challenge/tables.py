"""A challenge as an exhibit: its tables, the picture of how alike submissions are, and how to read them.

Each table is there as rows of numbers and texts, for the CSV files, and as a page shows them. In the CSV files a number
is a number, an empty cell nothing, and no two columns share a name; a column that a rule has is called value_RULE,
rank_RULE.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

from harness.challenge.outcome import Outcome
from harness.challenge.ranking import DIGITS, readable
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import counted
from harness.results.exhibits import number
from harness.results.rows import Exhibit, Grid, HeatMap
from harness.statistics.estimates import full_name
from harness.statistics.rank_intervals import Rank, rank

RULES = {"dev": "by dataset: mean over datasets of the mean over their qualities",
         "test": "by quality: mean over all qualities of all datasets",
         "borda": "Borda: competitors beaten, summed over all qualities"}
KINDS = {"sample": "the bundled sample (made by a script, simulated raters)", "real": "real human judgements",
         "own": "ratings of the organiser's own"}
DECIMALS = 4
"""Of a value; targets.csv has them all."""

MOST = 30
"""So many submissions stand in the picture of all pairs; correlation.csv has the others."""

LETTERS = 5
"""The column of the letters in the official table."""
SHORT = 26
"""Characters of a label of the picture."""

Row = Sequence[object]


def exhibit(outcome: Outcome) -> Exhibit:
    """Everything that is shown of a challenge beside the boards of its report, the official table first."""
    return Exhibit(
        name="challenge", kind="challenge", title=outcome.rules.name, lead=_lead(outcome),
        command=f"harness challenge publish {shlex.quote(outcome.rules.folder.resolve().name)}"
                f"{f' --phase {outcome.rules.phase}' if outcome.rules.phase else ''}",
        grids=(official(outcome), *_others(outcome)), maps=tuple(_maps(outcome)),
        remarks=tuple(_remarks(outcome)))


def _lead(outcome: Outcome) -> str:
    teams, entries = len(outcome.ranking.chosen), len(outcome.entries.entries)
    targets = len(outcome.ground.targets)
    return (f"{teams} team{'s' * (teams != 1)} with {entries} submission{'s' * (entries != 1)} on "
            f"{len(outcome.ground.fields)} dataset{'s' * (len(outcome.ground.fields) != 1)} and "
            f"{targets} target{'s' * (targets != 1)}; {counted(outcome.refused, outcome.at_receipt)}. Ranked "
            f"{_rule(outcome.rules)}; of each team its {outcome.rules.counts} submission"
            f"{' on the public part' if outcome.ground.public and outcome.rules.counts == 'best' else ''} counts."
            f"{part_of(outcome.rules)} {_winner(outcome)}")


def _winner(outcome: Outcome) -> str:
    """Who is first, whether a test tells that from who is second, and how it stands to the baselines."""
    places = outcome.ranking.ranks[outcome.rules.rule]
    teams = [entry.submission.team for entry in outcome.ranking.counting.entries]
    first = [team for team, place in zip(teams, places, strict=True) if place.rank == 1]
    said = f"{first[0]} is first" if len(first) == 1 else f"{' and '.join(first)} share the first place"
    if len(first) == 1 < len(teams) and places[0].letters:
        same = set(places[0].letters) & set(places[1].letters)
        said += (f"; {test_of(outcome.rules).partition(';')[0]}, "
                 f"{'does not tell' if same else 'tells'} it from {teams[1]}, the second")
    known = [baseline for baseline in outcome.baselines if math.isfinite(baseline.value)]
    if known:
        best = max(known, key=lambda baseline: baseline.value)
        above = "above" if places[0].value > best.value else "not above"
        said += (f"; its value is {above} that of the best baseline, {best.name} ({best.value:.{DECIMALS}f}), which no "
                 "test compares")
    return f"{said}."


def _rule(rules: Rulebook) -> str:
    """The rule of a challenge in words."""
    said = ", ".join(f"{name} {weight:g}" for name, weight in rules.weights.items())
    return f"by target: weighted mean over all targets ({said}; 1 else)" if said else RULES[rules.rule]


def part_of(rules: Rulebook) -> str:
    """On which part of the ratings a phase is ranked; empty where there is one part and no freeze."""
    share = f"{100 * rules.public:g} % of the contexts" if rules.public else ""
    if rules.final:
        changed = f" Changed since the freeze: {', '.join(rules.changed)}." if rules.changed else ""
        return f" Final: frozen{', ranked on all ratings but those of the public ' + share if share else ''}.{changed}"
    return f" Provisional: ranked on the public ratings, those of {share}." if share else ""


def _maps(outcome: Outcome) -> Iterator[HeatMap]:
    chosen = list(outcome.ranking.chosen[:MOST])
    names = tuple(outcome.entries.entries[place].submission.team for place in chosen)
    if len(names) > 1:
        labels = tuple(name if len(name) <= SHORT else name[:SHORT - 1] + "…" for name in names)
        caption = ("Spearman between the scores of every two submissions, averaged over datasets: orange is −1, "
                   "white 0, blue 1. The numbers are in correlation.csv.")
        yield HeatMap.of("How alike the submissions are", labels, outcome.correlation[chosen][:, chosen], caption)


def _remarks(outcome: Outcome) -> Iterator[str]:
    if outcome.rules.draws:
        yield (f"The 95 % interval of a rank is over {outcome.rules.draws} draws of datasets and of their items. "
               f"Submissions that share a letter are not told apart by {test_of(outcome.rules)}. The intervals "
               "say what other datasets and items would bring, the test whether the scores of two submissions may be "
               "swapped on these: so a team can be first in every draw and not told from the second. A letter need not "
               "follow the ranks.")
        yield from _undecided(outcome.ranking.ranks[outcome.rules.rule])
    if outcome.alike:
        yield f"{'; '.join(outcome.alike)}."
    if outcome.ground.partial:
        yield f"The private ratings are not complete: {'; '.join(outcome.ground.partial)}."
    yield ("Equal values share a rank. Baselines stand where their value places them and have no rank. A refused "
           "submission is left out before anything is computed, so it moves nobody.")
    if outcome.ground.ratings:
        yield ("The ratings are the organiser's: correlations and counts of them are shown, and no rating itself.")


def test_of(rules: Rulebook) -> str:
    """What says which submission is better, and how clusters follow from that."""
    drawn = rules.level != "items" or rules.statistic not in ("spearman", "pearson")
    test = ("these draws" if drawn else f"PERM-BOTH over whole contexts, {rules.draws} draws, one-sided at 5 %"
            if rules.clusters == "wmt" else f"PERM-BOTH over whole contexts, {rules.draws} draws, adjusted by Holm")
    return test + ("; a new cluster begins where any submission of the one above is better" if rules.clusters == "wmt"
                   else "; a cluster is parted from the next where every submission above is better than every one "
                        "below")


def _undecided(places: Sequence[Rank]) -> Iterator[str]:
    """Say so where the draws part little or nothing."""
    if len(places) > 1 and max(place.cluster for place in places) == 1:
        nobody = len({place.letters for place in places}) == 1
        yield (f"{'No two' if nobody else 'Not all'} of the {len(places)} teams can be told apart: all are in one "
               "cluster. The order within it is not established; read the intervals of the ranks.")
    if not readable(places):
        yield "Letters are left out here, being too many to compare; official.csv has them."


def for_csv(outcome: Outcome) -> dict[str, list[Row]]:
    """The rows of each table by its name, the headings first; each table is there even if nothing is in it."""
    tables = {"official": _official(outcome), "rules": _rules(outcome), "clusters": _clusters(outcome),
              "submissions": _submissions(outcome), "refused": _refused(outcome)}
    return {name: [tuple(map(_rounded, row)) for row in rows] for name, rows in tables.items()}


def _rounded(cell: object) -> object:
    if not isinstance(cell, float):
        return cell
    return round(cell, DECIMALS) + 0 if math.isfinite(cell) else ""


def _data(outcome: Outcome) -> str:
    """What the tables are on, in words."""
    origins = {field.dataset.origin for field in outcome.ground.fields}
    kind = KINDS["sample" if origins == {"sample"} else "own" if outcome.rules.own or outcome.rules.ratings else "real"]
    statistic = full_name(outcome.rules.statistic, outcome.rules.level).capitalize()
    return f"{kind}; {statistic} on {', '.join(field.name for field in outcome.ground.fields)}"


def _official(outcome: Outcome) -> Iterator[Row]:
    """Ranks, intervals, letters, clusters and targets; baselines where they would stand."""
    targets, ranking = outcome.ground.targets, outcome.ranking
    yield ("kind", "team", "submission", "name", "rank", "value", "rank_low", "rank_high", "letters", "cluster", "note",
           *(f"{dataset}|{quality}" for dataset, quality in targets))
    rows: list[tuple[float, Row]] = []
    for entry, place, values in zip(ranking.counting.entries, ranking.ranks[outcome.rules.rule], ranking.rows,
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
    shown = [head, *map(_official_shown, rows)]
    if not readable(outcome.ranking.ranks[outcome.rules.rule]):
        shown = [(*row[:LETTERS], *row[LETTERS + 1:]) for row in shown]
    return Grid("official", f"Official table, {_rule(outcome.rules)}", shown[0], tuple(shown[1:]), _data(outcome))


def _official_shown(row: Row) -> tuple[str, ...]:
    kind, team, submission, name, rank, value, low, high, letters, cluster, note, *targets = row
    if kind == "baseline":
        team, submission = f"{team} (baseline)", note
    elif name:
        submission = f"{submission}: {name}"
    return (str(team), *map(_shown, (rank, submission, value, low if low == high else f"{low} to {high}", letters,
                                     cluster)), *(_shown(target, 3) for target in targets))


def _clusters(outcome: Outcome) -> Iterator[Row]:
    """The cluster of each team on each target."""
    clusters = outcome.ranking.clusters
    yield ("team", *(f"{dataset}|{quality}" for dataset, quality in clusters))
    for at, entry in enumerate(outcome.ranking.counting.entries if clusters else ()):
        yield (entry.submission.team, *(own[at] for own in clusters.values()))


def _rules(outcome: Outcome) -> Iterator[Row]:
    every, points = outcome.ranking.ranks, outcome.ranking.points
    yield ("team", *(name for rule in every for name in (f"value_{rule}", f"rank_{rule}")), "points_borda",
           "rank_borda")
    borda = rank(dict(enumerate(points)))
    for at, entry in enumerate(outcome.ranking.counting.entries):
        yield (entry.submission.team,
               *(cell for places in every.values() for cell in (places[at].value, places[at].rank)),
               points[at], borda[at].rank)


def _others(outcome: Outcome) -> Iterator[Grid]:
    """The tables after the official one, as they are shown."""
    data = _data(outcome)
    _, *rows = _rules(outcome)
    titles = {rule: RULES[rule].partition(":")[0] for rule in outcome.ranking.ranks}
    titles |= {outcome.rules.rule: "weighted mean"} if outcome.rules.weights else {}
    head = [name for title in titles.values() for name in (title, "rank")]
    yield Grid("rules", "The same submissions under every rule", ("team", *head, "Borda", "rank"),
               tuple((*map(_shown, row[:-2]), f"{row[-2]:g}", str(row[-1])) for row in rows), data)
    heads, *rows = _clusters(outcome)
    if rows and outcome.rules.weights:
        yield Grid("clusters", "The cluster of each team on each target by itself", tuple(map(str, heads)),
                   tuple(tuple(map(str, row)) for row in rows), data)
    heads, *rows = _submissions(outcome)
    yield Grid("submissions", "All submissions that were taken", (*map(str, heads[:-1]), "what the team says"),
               tuple(tuple(map(_shown, row)) for row in rows), data)
    heads, *rows = _refused(outcome)
    if rows:
        yield Grid("refused", "Refused submissions", tuple(map(str, heads)),
                   tuple(tuple(map(str, row)) for row in rows), data)


def _submissions(outcome: Outcome) -> Iterator[Row]:
    yield "team", "number", "name", "date", "value", "status", "description"
    counting = set(outcome.ranking.chosen)
    for place, (entry, total) in enumerate(zip(outcome.entries.entries, outcome.ranking.totals, strict=True)):
        about = entry.submission.about
        yield (entry.submission.team, entry.submission.number, about.name, about.date or "", total,
               "counts" if place in counting else "taken", about.description.strip())


def _refused(outcome: Outcome) -> Iterator[Row]:
    yield "submission", "reasons"
    for submission in sorted((*outcome.refused, *outcome.at_receipt), key=lambda submission: submission.name):
        yield submission.name, "; ".join(submission.reasons)


def _shown(cell: object, digits: int = DECIMALS) -> str:
    """A cell for readers: a number with its digits, and a dash where there is nothing."""
    return number(cell, digits) if isinstance(cell, float) else str(cell) or "–"
