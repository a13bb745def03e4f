"""The tables of a challenge, as rows for CSV and as an exhibit for pages.

In the CSV files numbers are plain, an empty cell is a missing value, and column names are unique (value_RULE, ...).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence

from harness.challenge.outcome import Outcome
from harness.challenge.ranking import DIGITS, readable
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import counted
from harness.published.exhibit import printed
from harness.results.exhibits import number
from harness.results.rows import Exhibit, Grid, HeatMap
from harness.statistics.estimates import full_name
from harness.statistics.rank_intervals import Rank

RULES = {"dev": "by dataset: mean over datasets of the mean over their qualities",
         "test": "by quality: mean over all qualities of all datasets",
         "borda": "Borda: competitors beaten, summed over all qualities"}
KINDS = {"sample": "the bundled sample (made by a script, simulated raters)", "real": "real human judgements",
         "own": "ratings of the organiser's own"}
DECIMALS = 4
"""Decimals of a value; targets.csv has all digits."""

MOST = 30
"""Maximum submissions in the picture of all pairs; correlation.csv has all."""

LABEL_LENGTH = 26

Row = Sequence[object]


def exhibit(outcome: Outcome) -> Exhibit:
    """Return the tables of a challenge with the picture of all pairs, the official table first."""
    rules = outcome.rules
    return Exhibit(
        name="challenge", kind="challenge", title=rules.name, lead=_lead(outcome),
        command=f"harness challenge publish {shlex.quote(rules.folder.resolve().name)}"
                f"{f' --phase {rules.phase}' if rules.phase else ''}",
        grids=(official(outcome), *_others(outcome), *(printed(rules.published) if rules.published else ())),
        maps=tuple(_maps(outcome)), remarks=tuple(_remarks(outcome)))


def for_csv(outcome: Outcome) -> dict[str, list[Row]]:
    """Return the rows of each table by its name, the headings first; empty tables have headings only."""
    tables = {"official": _official(outcome), "rules": _rules(outcome), "clusters": _clusters(outcome),
              "submissions": _submissions(outcome), "refused": _refused(outcome)}
    return {name: [tuple(map(_rounded, row)) for row in rows] for name, rows in tables.items()}


def official(outcome: Outcome) -> Grid:
    """Return the table of the challenge; letters are left out if there are too many."""
    lettered = readable(outcome.ranks[outcome.rules.rule])
    letters_head = ("letters",) if lettered else ()
    head = ("team", "rank", "submission", "value", "95 % of the rank", *letters_head, "cluster",
            *(f"{dataset}, {quality}" for dataset, quality in outcome.ground.targets))
    rows = []
    _, *numbers = _official(outcome)
    for kind, team, submission, name, place, value, low, high, letters, cluster, note, *targets in numbers:
        if kind == "baseline":
            team, submission = f"{team} (baseline)", note
        elif name:
            submission = f"{submission}: {name}"
        interval = low if low == high else f"{low} to {high}"
        cells = (team, place, submission, value, interval, *((letters,) if lettered else ()), cluster)
        rows.append((*map(_shown, cells), *(_shown(target, 3) for target in targets)))
    return Grid("official", f"Official table, {_rule(outcome.rules)}", head, tuple(rows), _data(outcome))


def test_of(rules: Rulebook) -> str:
    """Describe the test by which a submission is better, and how clusters follow from it."""
    drawn = rules.level != "items" or rules.statistic not in ("spearman", "pearson")
    wmt = rules.clusters == "wmt"
    test = "these draws" if drawn else (f"PERM-BOTH over whole contexts, {rules.draws} draws, "
                                        f"{'one-sided at 5 %' if wmt else 'adjusted by Holm'}")
    return f"{test}; " + ("a new cluster begins where any submission of the one above is better" if wmt else
                          "a cluster is parted from the next where every submission above is better than every one "
                          "below")


def part_of(rules: Rulebook) -> str:
    """Describe the part of the ratings that a phase is ranked on; "" without parts and freeze."""
    share = f"{100 * rules.public:g} % of the contexts" if rules.public else ""
    if rules.final:
        changed = f" Changed since the freeze: {', '.join(rules.changed)}." if rules.changed else ""
        return f" Final: frozen{', ranked on all ratings but those of the public ' + share if share else ''}.{changed}"
    return f" Provisional: ranked on the public ratings, those of {share}." if share else ""


def _lead(outcome: Outcome) -> str:
    rules, ground = outcome.rules, outcome.ground
    part = " on the public part" if ground.public and rules.counts == "best" else ""
    return (f"{_count(len(outcome.chosen), 'team')} with "
            f"{_count(len(outcome.entries.entries), 'submission')} on "
            f"{_count(len(ground.fields), 'dataset')} and {_count(len(ground.targets), 'target')}; "
            f"{counted(outcome.refused, outcome.at_receipt)}. Ranked {_rule(rules)}; of each team its {rules.counts} "
            f"submission{part} counts.{part_of(rules)} {_winner(outcome)}.")


def _count(size: int, noun: str) -> str:
    return f"{size} {noun}{'s' * (size != 1)}"


def _winner(outcome: Outcome) -> str:
    """Return the winner, whether its lead is significant, and its place beside the baselines."""
    ranks, teams = outcome.ranks[outcome.rules.rule], outcome.teams
    first = [team for team, standing in zip(teams, ranks, strict=True) if standing.rank == 1]
    text = f"{first[0]} is first" if len(first) == 1 else f"{' and '.join(first)} share the first place"
    if len(first) == 1 < len(teams) and ranks[0].letters:
        verdict = "does not tell" if set(ranks[0].letters) & set(ranks[1].letters) else "tells"
        text += f"; {test_of(outcome.rules).partition(';')[0]}, {verdict} it from {teams[1]}, the second"
    baselines = [baseline for baseline in outcome.baselines if math.isfinite(baseline.value)]
    if baselines:
        best = max(baselines, key=lambda baseline: baseline.value)
        text += (f"; its value is {'above' if ranks[0].value > best.value else 'not above'} that of the best baseline, "
                 f"{best.name} ({best.value:.{DECIMALS}f}), which no test compares")
    return text


def _rule(rules: Rulebook) -> str:
    weights = ", ".join(f"{name} {weight:g}" for name, weight in rules.weights.items())
    return f"by target: weighted mean over all targets ({weights}; 1 else)" if weights else RULES[rules.rule]


def _maps(outcome: Outcome) -> Iterator[HeatMap]:
    chosen, teams = list(outcome.chosen[:MOST]), outcome.teams[:MOST]
    if len(teams) > 1:
        labels = tuple(name if len(name) <= LABEL_LENGTH else name[:LABEL_LENGTH - 1] + "…" for name in teams)
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
        yield from _undecided(outcome.ranks[outcome.rules.rule])
    if outcome.alike:
        yield f"{'; '.join(outcome.alike)}."
    if outcome.ground.partial:
        yield f"The private ratings are not complete: {'; '.join(outcome.ground.partial)}."
    yield ("Equal values share a rank. Baselines stand where their value places them and have no rank. A refused "
           "submission is left out before anything is computed, so it moves nobody.")
    if outcome.ground.ratings:
        yield "The ratings are the organiser's: correlations and counts of them are shown, and no rating itself."


def _undecided(ranks: Sequence[Rank]) -> Iterator[str]:
    if len(ranks) > 1 and max(standing.cluster for standing in ranks) == 1:
        nobody = len({standing.letters for standing in ranks}) == 1
        yield (f"{'No two' if nobody else 'Not all'} of the {len(ranks)} teams can be told apart: all are in one "
               "cluster. The order within it is not established; read the intervals of the ranks.")
    if not readable(ranks):
        yield "Letters are left out here, being too many to compare; official.csv has them."


def _rounded(cell: object) -> object:
    if not isinstance(cell, float):
        return cell
    return round(cell, DECIMALS) + 0 if math.isfinite(cell) else ""


def _shown(cell: object, digits: int = DECIMALS) -> str:
    return number(cell, digits) if isinstance(cell, float) else str(cell) or "–"


def _data(outcome: Outcome) -> str:
    origins = {field.dataset.origin for field in outcome.ground.fields}
    custom = outcome.rules.custom or outcome.rules.ratings
    kind = KINDS["sample" if origins == {"sample"} else "own" if custom else "real"]
    statistic = full_name(outcome.rules.statistic, outcome.rules.level).capitalize()
    return f"{kind}; {statistic} on {', '.join(field.name for field in outcome.ground.fields)}"


def _official(outcome: Outcome) -> Iterator[Row]:
    """Yield ranks, intervals, letters, clusters and targets, with baselines at their value."""
    targets = outcome.ground.targets
    yield ("kind", "team", "submission", "name", "rank", "value", "rank_low", "rank_high", "letters", "cluster", "note",
           *(f"{dataset}|{quality}" for dataset, quality in targets))
    rows: list[tuple[float, Row]] = []
    for (entry, standing), values in zip(outcome.ranked(outcome.rules.rule), outcome.rows, strict=True):
        low, high = (f"{end:g}" if math.isfinite(standing.low) else "" for end in (standing.low, standing.high))
        rows.append((standing.value, (
            "submission", entry.team, entry.number, entry.about.name, standing.rank, standing.value, low, high,
            standing.letters, standing.cluster or "", "", *(values[target] for target in targets))))
    rows += [(baseline.value, ("baseline", baseline.name, "", "", "", baseline.value, "", "", "", "", baseline.reason,
                               *(baseline.row.get(target, math.nan) for target in targets)))
             for baseline in outcome.baselines]
    yield from (row for _, row in sorted(rows, key=lambda row: (math.isnan(row[0]), -round(row[0], DIGITS))))


def _clusters(outcome: Outcome) -> Iterator[Row]:
    clusters = outcome.clusters
    yield ("team", *(f"{dataset}|{quality}" for dataset, quality in clusters))
    if clusters:
        yield from zip(outcome.teams, *clusters.values(), strict=True)


def _rules(outcome: Outcome) -> Iterator[Row]:
    """Yield the values and ranks of the same submissions under every rule."""
    ranks = outcome.ranks
    yield ("team", *(name for rule in ranks
                     for name in (f"{'points' if rule == 'borda' else 'value'}_{rule}", f"rank_{rule}")))
    for team, *row in zip(outcome.teams, *ranks.values(), strict=True):
        yield (team, *(cell for standing in row for cell in (standing.value, standing.rank)))


def _submissions(outcome: Outcome) -> Iterator[Row]:
    yield "team", "number", "name", "date", "value", "status", "description"
    for index, (entry, total) in enumerate(zip(outcome.entries.entries, outcome.totals, strict=True)):
        yield (entry.team, entry.number, entry.about.name, entry.about.date or "", total,
               "counts" if index in outcome.chosen else "taken", entry.about.description)


def _refused(outcome: Outcome) -> Iterator[Row]:
    yield "submission", "reasons"
    for submission in sorted((*outcome.refused, *outcome.at_receipt), key=lambda submission: submission.name):
        yield submission.name, "; ".join(submission.reasons)


def _others(outcome: Outcome) -> Iterator[Grid]:
    data = _data(outcome)

    def grid(name: str, caption: str, head: Iterable[object], rows: Iterable[Row]) -> Grid:
        return Grid(name, caption, tuple(map(str, head)), tuple(tuple(map(_shown, row)) for row in rows), data)

    _, *rows = _rules(outcome)
    titles = {rule: RULES[rule].partition(":")[0] for rule in outcome.ranks}
    titles |= {outcome.rules.rule: "weighted mean"} if outcome.rules.weights else {}
    yield grid("rules", "The same submissions under every rule",
               ("team", *(name for title in titles.values() for name in (title, "rank"))),
               [(*row[:-2], f"{row[-2]:g}", row[-1]) for row in rows])
    head, *rows = _clusters(outcome)
    if rows and outcome.rules.weights:
        yield grid("clusters", "The cluster of each team on each target by itself", head, rows)
    head, *rows = _submissions(outcome)
    yield grid("submissions", "All submissions that were taken", (*head[:-1], "what the team says"), rows)
    head, *rows = _refused(outcome)
    if rows:
        yield grid("refused", "Refused submissions", head, rows)
