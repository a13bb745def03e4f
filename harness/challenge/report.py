"""A challenge as a report: submissions in place of metrics, so that every board and page can be drawn of it.

It holds the submissions that count. Ratings, scores of single items and texts stay out of it. Contests are listed for
submissions that stand at most NEAR places apart; their p is adjusted over all pairs of those that count. What depends
on ratings and scores has DECIMALS decimals, or FIGURES figures: all digits would help to work out ratings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from harness.challenge.ground import RankedDataset
from harness.challenge.outcome import Outcome
from harness.challenge.ranking import readable
from harness.challenge.tables import DECIMALS, RULES
from harness.results.cache import Cache
from harness.results.rows import BoardId, Comparisons, Correlation, DatasetEntry, MetricEntry, RankingRow, Results
from harness.run import compare, correlate, entries, environment
from harness.run.plan import Draws
from harness.run.rank import ranking
from harness.statistics.estimates import full_name
from harness.statistics.williams import PairTests

FIGURES = 4
"""Significant figures of a p."""

NEAR = 10
"""Places between two submissions whose contest is listed; pairs.parquet has the others."""


def report(outcome: Outcome, kept: Path) -> Results:
    """Everything that may be published of a challenge; reliability are kept in a folder for the next time."""
    teams = [entry.submission.team for entry in outcome.ranking.counting.entries]
    targets = list(outcome.ground.tables(teams, outcome.ranking.counting.scores))
    draws, cache = Draws(outcome.rules.seed), Cache(kept)
    reliability = [row for target in targets for row in compare.reliability(target, draws, cache)]
    rules = outcome.rules
    statistics = [*dict.fromkeys((*correlate.DEFAULT, (rules.statistic, rules.level)))]
    correlations = tuple(row for target in targets for row in correlate.correlations(
        target, statistics, [row for row in reliability if (row.dataset, row.quality) == target.key]))
    options = {"challenge": rules.title, "rule": RULES[rules.rule], "counts": rules.counts,
               "statistic": full_name(rules.statistic, rules.level), "draws": rules.draws}
    if rules.phase:
        options["phase"] = rules.phase
    return Results(
        run=environment.facts(rules.seed, "cpu", options, f"harness challenge rank {rules.folder.resolve().name}"),
        datasets=tuple(_dataset(field, rules.rule) for field in outcome.ground.fields),
        metrics=tuple(_metrics(outcome)),
        correlations=tuple(replace(row, p=_figures(row.p), **{
            name: round(getattr(row, name), DECIMALS) for name in ("value", "low", "high", "corrected")})
            for row in correlations),
        ranking=tuple(_ranking(outcome, correlations)),
        comparisons=tuple(_comparisons(outcome)),
        reliability=tuple(replace(row, value=round(row.value, DECIMALS)) for row in reliability))


def _dataset(field: RankedDataset, rule: str) -> DatasetEntry:
    """A dataset on the board of the rule, with what is to be known of it."""
    notes = f"Private ratings joined: {field.joined} votes." if field.joined else ""
    return replace(entries.dataset_entry(field.dataset, field.judged), split=rule, notes=notes)


def _figures(p: float) -> float:
    return float(f"{p:.{FIGURES}g}")


def _metrics(outcome: Outcome) -> Iterator[MetricEntry]:
    levels = tuple(dict.fromkeys(field.dataset.card.level for field in outcome.ground.fields))
    for entry in outcome.ranking.counting.entries:
        about, team = entry.submission.about, entry.submission.team
        yield MetricEntry(
            name=team, title=about.name or f"{team}, submission {entry.submission.number}", family="submission",
            columns=(team,), needs=(), levels=levels,
            paper="", scope="item", trained_on="", signature=f"scores|{entry.name}|sha256={entry.sha256}")


def _ranking(outcome: Outcome, correlations: tuple[Correlation, ...]) -> Iterator[RankingRow]:
    """The boards of the report, those by the statistic that ranks with the intervals and letters of the ranking."""
    origin = outcome.ground.fields[0].dataset.kind
    lettered = {rule: readable(places) for rule, places in outcome.ranking.ranks.items()}
    teams = [entry.submission.team for entry in outcome.ranking.counting.entries]
    for row in ranking(BoardId(outcome.rules.rule), origin, outcome.ground.targets, correlations):
        if row.statistic != full_name(outcome.rules.statistic, outcome.rules.level):
            yield replace(row, value=round(row.value, DECIMALS))
        else:
            place = outcome.ranking.ranks[row.rule][teams.index(row.column)]
            yield replace(row, value=round(place.value, DECIMALS), rank=place.rank, low=place.low, high=place.high,
                          letters=place.letters if lettered[row.rule] else "")


def _comparisons(outcome: Outcome) -> Iterator[Comparisons]:
    """PERM-BOTH of submissions that stand near each other; Williams' test where another rule parts them."""
    rules, chosen = outcome.rules, np.array(outcome.ranking.chosen)
    teams = [entry.submission.team for entry in outcome.ranking.counting.entries]
    for target, every in outcome.pairs.items():
        pairs = PairTests(*(getattr(every, field.name)[np.ix_(chosen, chosen)] for field in fields(PairTests)))
        if target in outcome.ranking.tests and rules.clusters == "every":
            tests = replace(outcome.ranking.tests[target], n=pairs.n)
            yield _near(compare.compared(*target, teams, rules.statistic, "perm-both", tests, rules.draws))
        else:
            yield _near(compare.compared(*target, teams, "spearman", "williams", pairs))


def _near(own: Comparisons) -> Comparisons:
    """Those of submissions at most NEAR places apart, rounded."""
    own = own.at(np.abs(own.better - own.worse) <= NEAR)
    value, p, holm, bh = (np.array([_figures(each) for each in column], dtype=np.float64)
                          for column in (own.value, own.p, own.holm, own.bh))
    return replace(own, delta=own.delta.round(DECIMALS), value=value, p=p, holm=holm, bh=bh)
