"""A challenge as a report, with the counting submissions in place of metrics.

It contains no ratings, texts or item scores. Comparisons are listed for submissions at most NEAR ranks apart; their p
is adjusted over all pairs. Numbers are rounded here, to FIGURES significant digits or to the decimals that pages show,
because full precision would help to reconstruct ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from harness.challenge.outcome import Outcome
from harness.challenge.tables import TARGET_DECIMALS, command, readable, rule_of
from harness.results.cache import Cache
from harness.results.entries import BoardId, MetricEntry
from harness.results.rows import Comparisons, Correlation, RankingRow, Results
from harness.run import compare, correlate, entries, environment
from harness.run.rank import ranking
from harness.statistics.estimates import full_name
from harness.statistics.williams import PairTests

FIGURES = 4
NEAR = 10
"""Maximum difference in rank of a listed comparison; pairs.parquet has all comparisons."""


def report(outcome: Outcome, cache: Path) -> Results:
    rules, targets = outcome.rules, outcome.counting.tables
    reliability = [row for target in targets for row in compare.reliability(target, rules.seed, Cache(cache))]
    statistics = [*dict.fromkeys((*correlate.DEFAULT, (rules.statistic, rules.level)))]
    correlations = tuple(row for target in targets for row in correlate.correlations(
        target, statistics, [row for row in reliability if (row.dataset, row.quality) == target.key]))
    options = {"challenge": rules.title, "rule": rule_of(rules), "counts": rules.counts,
               "statistic": full_name(rules.statistic, rules.level), "draws": rules.draws,
               **({"phase": rules.phase} if rules.phase else {})}
    return Results(
        run=environment.facts(rules.seed, "cpu", options, command(rules)),
        datasets=tuple(replace(entries.dataset_entry(field.dataset, field.judged), split=rules.rule,
                               notes="The ratings are private." if rules.ratings else "")
                       for field in outcome.ground.fields),
        metrics=tuple(_metrics(outcome)),
        correlations=tuple(replace(row, p=float(f"{row.p:.{FIGURES}g}"), **{
            name: round(getattr(row, name), TARGET_DECIMALS) for name in ("value", "low", "high", "corrected")})
            for row in correlations),
        ranking=tuple(_ranking(outcome, correlations)),
        comparisons=tuple(_comparisons(outcome)),
        reliability=tuple(replace(row, value=round(row.value, TARGET_DECIMALS)) for row in reliability))


def _metrics(outcome: Outcome) -> Iterator[MetricEntry]:
    levels = tuple(dict.fromkeys(field.dataset.card.level for field in outcome.ground.fields))
    for entry in outcome.counting.entries:
        yield MetricEntry(
            name=entry.team, title=entry.about.name or f"{entry.team}, submission {entry.number}", family="submission",
            columns=(entry.team,), levels=levels,
            signature={"metric": "scores", "asked": entry.name, "sha256": entry.sha256})


def _ranking(outcome: Outcome, correlations: Sequence[Correlation]) -> Iterator[RankingRow]:
    """Yield the boards; those of the challenge's statistic have the intervals and letters of its ranking."""
    rules, origin = outcome.rules, outcome.ground.fields[0].dataset.kind
    ranks = {rule: dict(zip(outcome.teams, standings, strict=True)) for rule, standings in outcome.ranks.items()}
    lettered = {rule: readable(standings) for rule, standings in outcome.ranks.items()}
    for row in ranking(BoardId(rules.rule), origin, outcome.ground.targets, correlations):
        if row.statistic == full_name(rules.statistic, rules.level):
            standing = ranks[row.rule][row.column]
            row = replace(row, value=standing.value, rank=standing.rank, low=standing.low, high=standing.high,
                          letters=standing.letters if lettered[row.rule] else "")
        yield replace(row, value=round(row.value, TARGET_DECIMALS))


def _comparisons(outcome: Outcome) -> Iterator[Comparisons]:
    """Yield two-sided PERM-BOTH tests of submissions at most NEAR ranks apart, or Williams' tests without PERM-BOTH."""
    rules, chosen = outcome.rules, np.array(outcome.chosen)
    for target, tests in outcome.pairs.items():
        pairs = PairTests(*(getattr(tests, field.name)[np.ix_(chosen, chosen)] for field in fields(PairTests)))
        if target in outcome.clusters:
            tests = replace(outcome.tests[target], n=pairs.n)
            if rules.clusters == "wmt":
                tests = replace(tests, p=np.minimum(1, 2 * np.minimum(tests.p, tests.p.T)))
            rows = compare.compared(*target, outcome.teams, rules.statistic, "perm-both", tests, rules.draws)
        else:
            rows = compare.compared(*target, outcome.teams, "spearman", "williams", pairs)
        rows = rows.at(np.abs(rows.better - rows.worse) <= NEAR)
        value, p, holm, bh = (np.array([f"{number:.{FIGURES}g}" for number in column], dtype=np.float64)
                              for column in (rows.value, rows.p, rows.holm, rows.bh))
        yield replace(rows, delta=rows.delta.round(TARGET_DECIMALS), value=value, p=p, holm=holm, bh=bh)
