"""The tables of a challenge, as rows for CSV and as an exhibit for pages.

In the CSV files numbers are plain, an empty cell is a missing value, and column names are unique (value_RULE, ...).
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.errors import plural
from harness.challenge import receipts
from harness.challenge.outcome import BASELINES, Outcome
from harness.challenge.rulebook import FILE, FOLDER, SEED_FILE, Rulebook
from harness.challenge.submissions import refused_count
from harness.published.exhibit import printed
from harness.results.exhibits import Exhibit, Grid, matrix, number
from harness.statistics import statistic_title
from harness.statistics.estimates import full_name
from harness.statistics.pooled import MIN_CONTEXTS, TOO_FEW
from harness.statistics.rank_intervals import DIGITS, Rank

RULES = {"dev": "by dataset: mean over datasets of the mean over their qualities",
         "test": "by quality: mean over all qualities of all datasets",
         "borda": "Borda: competitors beaten, summed over all qualities"}
KINDS = {"sample": "the bundled sample (made by a script, simulated raters)", "real": "real human ratings",
         "own": "ratings supplied with the challenge"}
DECIMALS, TARGET_DECIMALS = 4, 3
"""Decimals of a value, and of a correlation on a target; targets.csv has all digits."""
MAX_SHOWN = 30
"""Maximum number of submissions in the table of similarities; correlation.csv has all submissions."""
MAX_LETTERS = 12
"""Maximum number of letters per row that a reader can compare."""

Row = Sequence[object]


def exhibit(outcome: Outcome) -> Exhibit:
    rules = outcome.rules
    return Exhibit(
        name="challenge", kind="challenge", title=rules.name, lead=_lead(outcome), command=command(rules),
        grids=(official(outcome), *_other_tables(outcome), *(printed(rules.published) if rules.published else ())),
        remarks=tuple(_remarks(outcome)))


def command(rules: Rulebook) -> str:
    phase = f" --phase {rules.phase}" if rules.phase else ""
    return f"harness challenge publish {shlex.quote(rules.folder.resolve().name)}{phase}"


def required(rules: Rulebook) -> str:
    """List the files that `command` reads, private ones last."""
    files = [FILE, "its data", f"{FOLDER}/", *(
        label for name, label in ((BASELINES, f"{BASELINES}/"), (receipts.FILE, receipts.FILE))
        if (rules.folder / name).exists())]
    private = [Path(os.path.relpath(rules.ratings, rules.folder)).as_posix()] if rules.ratings else []
    if rules.secret and (rules.public or rules.final):
        private.append(SEED_FILE)
    return f"To reproduce these results, you need {', '.join(files)}" + (
        f" and, from the organisers, {' and '.join(private)}." if private else ".")


def for_csv(outcome: Outcome) -> dict[str, list[Row]]:
    """Return the rows of each table by its name, headings first; an empty table has only headings."""
    return {name: [tuple(map(_round_cell, row)) for row in rows] for name, rows in _tables(outcome).items()}


def _tables(outcome: Outcome) -> dict[str, list[Row]]:
    ranks, teams, clusters, refused = outcome.ranks, outcome.teams, outcome.clusters, refused_table(outcome)
    rules = [(team, *(cell for standing in row for cell in (standing.value, standing.rank)))
             for team, *row in zip(teams, *ranks.values(), strict=True)]
    submissions = [(entry.team, entry.number, entry.about.name, entry.about.date or "", total,
                    "counts" if index in outcome.chosen else "accepted", entry.about.description)
                   for index, (entry, total) in enumerate(zip(outcome.entries.entries, outcome.totals, strict=True))]
    return {
        "official": [("kind", "team", "submission", "name", "rank", "value", "rank_low", "rank_high", "letters",
                      "cluster", "note", *("|".join(target) for target in outcome.ground.targets)),
                     *_official(outcome)],
        "rules": [("team", *(name for rule in ranks for name in (
            f"{'points' if rule == 'borda' else 'value'}_{rule}", f"rank_{rule}"))), *rules],
        "clusters": [("team", *map("|".join, clusters)),
                     *(zip(teams, *clusters.values(), strict=True) if clusters else ())],
        "submissions": [("team", "number", "name", "date", "value", "status", "description"), *submissions],
        "refused": [refused.head, *refused.rows]}


def official(outcome: Outcome) -> Grid:
    """Return the table of the challenge; letters are left out if there are too many."""
    lettered = readable(outcome.ranks[outcome.rules.rule])
    head = ("team", "rank", "submission", "value", "95 % of the rank", *(["letters"] if lettered else []), "cluster",
            *(f"{dataset}, {quality}" for dataset, quality in outcome.ground.targets))
    rows = []
    for kind, team, submission, name, rank, value, low, high, letters, cluster, note, *targets in _official(outcome):
        if kind == "baseline":
            team, submission = f"{team} (baseline)", note
        elif name:
            submission = f"{submission}: {name}"
        interval = low if low == high else f"{low} to {high}"
        cells = (team, rank, submission, value, interval, *([letters] if lettered else []), cluster)
        rows.append((*map(_format_cell, cells), *(_format_cell(target, TARGET_DECIMALS) for target in targets)))
    return Grid("official", f"Official table, {rule_of(outcome.rules)}", head, tuple(rows), _data(outcome))


def readable(ranks: Sequence[Rank]) -> bool:
    return all(len(standing.letters) <= MAX_LETTERS for standing in ranks)


def describe_test(rules: Rulebook) -> str:
    """Describe the test of whether a submission is better, and how clusters follow from it."""
    resampled = rules.level != "items" or rules.statistic not in ("spearman", "pearson")
    wmt = rules.clusters == "wmt"
    adjusted = "one-sided at 5 %" if wmt else "adjusted by Benjamini and Hochberg"
    test = (f"{rules.draws} resamples of datasets and their contexts" if resampled else
            f"PERM-BOTH over whole contexts with {rules.draws} draws, {adjusted}")
    return f"{test}; a new cluster begins where " + (
        "a submission is significantly worse than at least one in the cluster above" if wmt else
        "every submission above is significantly better than every one below")


def describe_ratings_part(rules: Rulebook) -> str:
    """Describe the part of the ratings by which a phase is ranked; "" if it has no public part and is not frozen."""
    share = f"{100 * rules.public:g} % of the conversations" if rules.public else ""
    if rules.final:
        changed = f" Changed since the freeze: {', '.join(rules.changed)}." if rules.changed else ""
        other_part = f", ranked on all ratings except those of the public {share}" if share else ""
        return f" Final: the phase is frozen{other_part}.{changed}"
    return f" Provisional: ranked on the public ratings, those of {share}." if share else ""


def _lead(outcome: Outcome) -> str:
    rules, ground = outcome.rules, outcome.ground
    part = " on the public part" if ground.public and rules.counts == "best" else ""
    return (f"{plural(len(outcome.chosen), 'team')} with {plural(len(outcome.entries.entries), 'submission')} on "
            f"{plural(len(ground.datasets), 'dataset')} and {plural(len(ground.targets), 'target')}; "
            f"{refused_count(outcome.refused, outcome.at_receipt)}. Ranked {rule_of(rules)}; each team's "
            f"{rules.counts} submission{part} counts.{describe_ratings_part(rules)} {winner(outcome)}.")


def winner(outcome: Outcome) -> str:
    """State the winner, the test of its lead, and the value of the best baseline."""
    ranks, teams = outcome.ranks[outcome.rules.rule], outcome.teams
    leaders = [team for team, standing in zip(teams, ranks, strict=True) if standing.rank == 1]
    predicate = "is first" if len(leaders) == 1 else "share first place"
    text = f"{' and '.join(leaders)} {predicate} with {number(ranks[0].value, DECIMALS)}"
    if len(leaders) == 1 < len(teams) and outcome.rules.draws:
        undecided = outcome.too_few_contexts or set(ranks[0].letters) & set(ranks[1].letters)
        established = "not established" if undecided else "established"
        too_few = f"; {TOO_FEW}" if outcome.too_few_contexts else ""
        text += (f"; its lead over {teams[1]}, in second place, is {established} "
                 f"({describe_test(outcome.rules).partition(';')[0]}{too_few})")
    baselines = [baseline for baseline in outcome.baselines if math.isfinite(baseline.value)]
    if baselines:
        best = max(baselines, key=lambda baseline: baseline.value)
        above = ", above the winner" * (round(best.value, DECIMALS) > round(ranks[0].value, DECIMALS))
        text += f". The best baseline, which is not tested, is {best.name} with {number(best.value, DECIMALS)}{above}"
    return text


def rule_of(rules: Rulebook) -> str:
    weights = ", ".join(f"{name} {weight:g}" for name, weight in rules.weights.items())
    if weights:
        return f"by target: weighted mean over all targets ({weights}; others 1)"
    return RULES.get(rules.rule, rules.rule)


def _remarks(outcome: Outcome) -> Iterator[str]:
    if outcome.rules.draws and outcome.too_few_contexts:
        yield f"Ranks have no intervals, letters or clusters: these need ratings in {MIN_CONTEXTS} contexts or more."
    elif outcome.rules.draws:
        yield (f"The 95 % interval of a rank comes from {outcome.rules.draws} resamples of datasets and their "
               "contexts. Submissions that share a letter do not differ significantly by "
               f"{describe_test(outcome.rules)}." + (
                   " The intervals show how ranks would vary with other datasets and contexts; the test generalises to "
                   "other contexts of these datasets. A team can therefore be first in every resample without a "
                   "significant lead." if outcome.tests else ""))
        ranks = outcome.ranks[outcome.rules.rule]
        if len(ranks) > 1 and max(standing.cluster for standing in ranks) == 1:
            none_differ = len({standing.letters for standing in ranks}) == 1
            yield (f"{'No two' if none_differ else 'Not all'} of the {len(ranks)} teams differ significantly, so all "
                   "are in one cluster and their order is not established. See the rank intervals.")
        if not readable(ranks):
            yield "There are too many letters to show here; official.csv has them."
    if outcome.similar:
        yield f"{'; '.join(outcome.similar)}."
    if outcome.ground.partial:
        yield f"The private ratings are incomplete: {'; '.join(outcome.ground.partial)}."
    yield ("Equal values share a rank. Baselines are listed by their value, without a rank. Refused submissions are "
           "left out before anything is computed, so they do not affect other ranks.")
    if outcome.ground.ratings:
        yield "The ratings are private: only correlations and counts are shown."
    yield required(outcome.rules)


def _round_cell(cell: object) -> object:
    if not isinstance(cell, float):
        return cell
    return round(cell, DECIMALS) + 0 if math.isfinite(cell) else ""


def _format_cell(cell: object, digits: int = DECIMALS) -> str:
    return number(cell, digits) if isinstance(cell, float) else str(cell) or "–"


def _data(outcome: Outcome) -> str:
    rules, origins = outcome.rules, {ranked.dataset.origin for ranked in outcome.ground.datasets}
    kind = KINDS["sample" if origins == {"sample"} else "own" if rules.custom or rules.ratings else "real"]
    statistic = statistic_title(full_name(rules.statistic, rules.level))
    return f"{kind}; {statistic} on {', '.join(ranked.name for ranked in outcome.ground.datasets)}"


def _official(outcome: Outcome) -> list[Row]:
    targets = outcome.ground.targets
    rows: list[tuple[float, Row]] = []
    for (entry, standing), values in zip(outcome.ranked(outcome.rules.rule), outcome.rows, strict=True):
        low, high = (f"{end:g}" if math.isfinite(standing.low) else "" for end in (standing.low, standing.high))
        rows.append((standing.value, (
            "submission", entry.team, entry.number, entry.about.name, standing.rank, standing.value, low, high,
            standing.letters, standing.cluster or "", "", *(values[target] for target in targets))))
    rows += [(baseline.value, ("baseline", baseline.name, "", "", "", baseline.value, "", "", "", "", baseline.reason,
                               *(baseline.row.get(target, math.nan) for target in targets)))
             for baseline in outcome.baselines]
    return [row for _, row in sorted(rows, key=lambda row: (math.isnan(row[0]), -round(row[0], DIGITS)))]


def refused_table(outcome: Outcome) -> Grid:
    return Grid("refused", "Refused submissions", ("submission", "reasons"), tuple(sorted(
        (refused.public or refused.name, "; ".join(refused.reasons))
        for refused in (*outcome.refused, *outcome.at_receipt))))


def _other_tables(outcome: Outcome) -> Iterator[Grid]:
    rules, tables = outcome.rules, _tables(outcome)
    chosen, teams = list(outcome.chosen[:MAX_SHOWN]), outcome.teams[:MAX_SHOWN]
    if len(teams) > 1:
        first = f" (the first {MAX_SHOWN}; correlation.csv has all)" * (len(outcome.teams) > MAX_SHOWN)
        caption = f"Similarity of the submissions{first}: Spearman correlation, averaged over datasets"
        yield matrix("similarity", caption, teams, outcome.correlation[chosen][:, chosen], _data(outcome))
    titles = {rule: RULES[rule].partition(":")[0] for rule in outcome.ranks}
    titles |= {rules.rule: "weighted mean"} if rules.weights else {}
    _, *by_rule = tables["rules"]
    tables["rules"] = [("team", *(text for title in titles.values() for text in (title, "rank"))),
                       *((*row[:-2], f"{row[-2]:g}", row[-1]) for row in by_rule)]
    for name, caption in (
            ("rules", "The same submissions under every rule"), ("clusters", "The cluster of each team on each target"),
            ("submissions", "All accepted submissions")):
        columns, *rows = tables[name]
        if rows and (name != "clusters" or rules.weights):
            headings = ("the team's description" if cell == "description" else str(cell) for cell in columns)
            cells = tuple(tuple(map(_format_cell, row)) for row in rows)
            yield Grid(name, caption, tuple(headings), cells, _data(outcome))
    if (refused := refused_table(outcome)).rows:
        yield refused
