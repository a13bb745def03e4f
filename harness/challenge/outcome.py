"""Rank a challenge: the values behind the tables, the audit log, the report and the pages.

The interval of a rank comes from a joint bootstrap over datasets and contexts (statistics/rank_intervals.py).
Submissions that share a letter are not significantly different by PERM-BOTH over whole contexts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np

from benchmarks.formats.scorefile.rows import SUFFIXES
from harness.challenge import entries, receipts, rulebook, submissions
from harness.challenge.entries import Entries, ScoreFile
from harness.challenge.ground import Ground, prepare
from harness.challenge.rulebook import FILE, Rulebook
from harness.challenge.submissions import Refused, Submission
from harness.errors import BadConfig
from harness.run import correlate
from harness.run.compare import contributions, generator
from harness.run.correlate import TargetData
from harness.run.item_statistics import ACCURACIES, Request, chance
from harness.run.rank import RULES, Target, borda
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics import pooled, rank_intervals
from harness.statistics.bootstrap import resampled_by_context
from harness.statistics.estimates import at_level
from harness.statistics.panel import Array, Vector, number_of_contexts
from harness.statistics.rank_intervals import DIGITS, Drawn, Rank, rank
from harness.statistics.ranks import INFLUENCE
from harness.statistics.significance import Better
from harness.statistics.williams import PairTests, all_pairs_by_formula
from metrics import registry
from metrics.errors import MetricError
from metrics.models.service import Choice, Models

BASELINES = "baselines"
MIN_SIMILARITY = 0.999
"""Minimum mean Spearman, over datasets, of two submissions that are reported as similar."""
SHOWN_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Baseline:
    """A metric or a score file of the organiser, never ranked; `reason` explains a missing value."""

    name: str
    value: float
    row: Mapping[Target, float]
    reason: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """The accepted and refused submissions of a challenge or phase; its ranking is computed on first use.

    `values` (entries, targets), `totals` (under the rule), `pairs` (Williams' test of each pair, by target),
    `correlation` and `similar` cover all entries. `counting`, `teams`, `rows`, `ranks`, `tests` and `clusters` cover
    the submissions that count, best first. `ranks` are keyed by rule, including Borda's; `tests` (PERM-BOTH of each
    pair) by rule and by target.
    """

    rules: Rulebook
    ground: Ground
    entries: Entries
    values: Array
    refused: tuple[Refused, ...]
    at_receipt: tuple[Refused, ...]
    home: Path

    @cached_property
    def weights(self) -> dict[str, Vector]:
        """The weights of the targets under each rule; the organiser may set those of the challenge's rule."""
        weights = {rule: pooled.weights([dataset for dataset, _ in self.ground.targets], rule) for rule in RULES}
        if self.rules.weights:
            weight = np.array([self.rules.weight(*target) for target in self.ground.targets])
            weights[self.rules.rule] = weight / weight.sum()
        return weights

    @cached_property
    def totals(self) -> list[float]:
        return self._totals(self.values)

    @cached_property
    def chosen(self) -> list[int]:
        """The indices of the submissions that count.

        If there is a public part, a team's best submission is its best on that part: choosing it on the final ratings
        would favour teams with several submissions. With `counts = "primary"`, a team's last primary submission counts,
        or its first one if none is primary.
        """
        if not (submitted := self.entries.entries):
            raise BadConfig(f"{self.rules.inbox}: no submission can be ranked; `harness challenge validate` shows why")
        totals = self.totals
        if self.ground.public:
            tables = [replace(table, judged=judged)
                      for table, judged in zip(self.entries.tables, self.ground.public, strict=True)]
            totals = self._totals(np.nan_to_num(agreement(self.rules, tables), nan=-1.0))

        def preference(index: int) -> tuple[float, ...]:
            submission = submitted[index]
            if self.rules.counts == "best":
                return totals[index], -submission.number
            use_first = self.rules.counts == "primary" and not submission.about.primary
            return (-1, -submission.number) if use_first else (1, submission.number)

        by_team = {submitted[index].team: index for index in sorted(range(len(submitted)), key=preference)}
        return sorted(by_team.values(), key=lambda index: (-self.totals[index], submitted[index].name))

    @cached_property
    def counting(self) -> Entries:
        return self.entries.take(self.chosen)

    @property
    def teams(self) -> list[str]:
        return [entry.team for entry in self.counting.entries]

    @cached_property
    def rows(self) -> tuple[dict[Target, float], ...]:
        return tuple(dict(zip(self.ground.targets, row, strict=True)) for row in self.values[self.chosen].tolist())

    @cached_property
    def too_few_contexts(self) -> bool:
        """True if there are too few rated contexts for rank intervals and letters."""
        return number_of_contexts((table.dataset, table.scored().rated)
                                  for table in self.entries.tables) < pooled.MIN_CONTEXTS

    @cached_property
    def tests(self) -> dict[str | Target, PairTests]:
        """PERM-BOTH of each pair, if available for the statistic; one-sided for the clusters of WMT."""
        rules, tables = self.rules, self.counting.tables
        if not rules.draws or len(self.chosen) < 2 or rules.level != "items" or rules.statistic not in INFLUENCE:
            return {}
        parts = [contributions(table, rules.seed, rules.draws, (), rules.statistic) for table in tables]
        test = functools.partial(pooled.all_pairs, one_sided=rules.clusters == "wmt")
        return {**{rule: test(parts, weight) for rule, weight in self.weights.items()},
                **{table.key: test([part], np.ones(1)) for table, part in zip(tables, parts, strict=True)}}

    @cached_property
    def ranks(self) -> dict[str, tuple[Rank, ...]]:
        resample = self.rules.draws and len(self.chosen) > 1 and not self.too_few_contexts
        drawn = _draw_resamples(self.rules, self.counting.tables) if resample else None
        teams, values = self.teams, self.values[self.chosen]
        ranks = {rule: rank(dict(zip(teams, (values @ weight).tolist(), strict=True)),
                            drawn.means(weight) if drawn else None,
                            self._better(rule) if drawn and rule in self.tests else None, self.rules.clusters)
                 for rule, weight in self.weights.items()}
        ranks["borda"] = rank(borda(dict(zip(teams, self.rows, strict=True)), self.ground.targets))
        return {rule: tuple(standings.values()) for rule, standings in ranks.items()}

    @cached_property
    def clusters(self) -> dict[Target, tuple[int, ...]]:
        columns = zip(self.ground.targets, self.values[self.chosen].T.tolist(), strict=True)
        return {target: tuple(standing.cluster for standing in rank(
            dict(zip(self.teams, values, strict=True)), better=self._better(target), clusters=self.rules.clusters,
        ).values()) for target, values in columns if target in self.tests}

    @cached_property
    def pairs(self) -> dict[Target, PairTests]:
        return {table.key: all_pairs_by_formula(table.judged.means, table.scores, "spearman")
                for table in self.entries.tables}

    @cached_property
    def correlation(self) -> Array:
        """Spearman of each pair of entries, averaged over datasets."""
        by_dataset = ([self.pairs[ranked.name, judged.quality.name].r for judged in ranked.judged]
                      for ranked in self.ground.datasets)
        correlation: Array = np.mean([np.mean(group, axis=0) for group in by_dataset], axis=0)
        np.fill_diagonal(correlation, 1)
        return correlation

    @cached_property
    def similar(self) -> tuple[str, ...]:
        """Pairs of submissions from different teams that rank the items almost identically."""
        submitted = self.entries.entries
        if len(submitted) < 2:
            return ()
        teams = np.array([entry.team for entry in submitted])
        pairs = np.argwhere(np.triu(self.correlation >= MIN_SIMILARITY, 1) & (teams[:, None] != teams)).tolist()
        lines = [f"{submitted[first].name} and {submitted[second].name} rank all items alike (Spearman "
                 f"{self.correlation[first][second]:.4f})" for first, second in pairs[:SHOWN_PAIRS]]
        omitted = len(pairs) - SHOWN_PAIRS
        return (*lines, *([f"and {omitted} more similar pairs"] if omitted > 0 else []))

    @cached_property
    def baseline_files(self) -> dict[str, ScoreFile]:
        paths = sorted(path for path in (self.rules.folder / BASELINES).glob("*") if path.suffix in SUFFIXES)
        return {path.name: entries.read(path, self.ground, self.rules.column) for path in paths}

    @cached_property
    def baselines(self) -> tuple[Baseline, ...]:
        return tuple(Baseline(
            name, value := float(self.weights[self.rules.rule] @ values),
            dict(zip(self.ground.targets, values.tolist(), strict=True)),
            reason or ("" if np.isfinite(value) else "has no correlation on some target"))
            for name, values, reason in _baselines(self))

    def ranked(self, rule: str) -> Iterator[tuple[Submission, Rank]]:
        yield from zip(self.counting.entries, self.ranks[rule], strict=True)

    def _totals(self, values: Array) -> list[float]:
        return [round(total, DIGITS) for total in (values @ self.weights[self.rules.rule]).tolist()]

    def _better(self, name: str | Target) -> Better:
        """Return a matrix, True where the row is significantly better; p is adjusted except for WMT's clusters."""
        tests = self.tests[name]
        p = tests.p if self.rules.clusters == "wmt" else pooled.adjusted(tests, self.rules.draws)
        return np.asarray((tests.delta > 0) & (p < pooled.ALPHA))


def read(folder: Path, home: Path, phase: str = "") -> Outcome:
    """Read the challenge, or a phase of it, and every submission.

    Invalid submissions are refused; only errors of the challenge itself are raised.
    """
    log, rules = receipts.read(folder), rulebook.read(folder, phase)
    rules = replace(rules, final=bool(log.frozen(rules.phase)))
    ground = prepare(rules, home)
    try:
        for name in rules.baselines:
            registry.choose(name, seed=rules.seed)
    except MetricError as error:
        raise BadConfig(f"{rules.folder / FILE}: baselines: {error}") from error
    rules = replace(rules, changed=log.changed(rules, ground))
    accepted, refused = entries.accept(submissions.find(rules, log.receipts(rules.phase)), ground, rules)
    values = agreement(rules, accepted.tables)
    complete = np.isfinite(values).all(axis=1)
    refused += tuple(Refused(entry.name, tuple(
        f"has no correlation on {quality} of {dataset}: too few rated items are scored, or all scores are equal"
        for (dataset, quality), value in zip(ground.targets, row, strict=True) if not np.isfinite(value)), entry.sha256)
        for entry, row in zip(accepted.entries, values, strict=True) if not np.isfinite(row).all())
    return Outcome(rules, ground, accepted.take(np.flatnonzero(complete).tolist()), values[complete], refused,
                   log.refused(rules.phase), home)


def agreement(rules: Rulebook, tables: Iterable[TargetData]) -> Array:
    """Return the statistic of every submission on every target (submissions, targets); NaN where undefined."""
    statistic, columns = at_level(rules.statistic, rules.level), list[Sequence[float] | Vector]()
    for target in tables:
        values = target.values(rules.statistic, rules.level)
        columns.append(values if values is not None else [
            statistic(target.panel(row)) for row in range(len(target.scores))])
    return np.array(columns).T


def _draw_resamples(rules: Rulebook, targets: Sequence[TargetData]) -> Drawn:
    rng, request = np.random.default_rng(rules.seed), Request(rules.statistic, rules.level)
    if (rules.statistic, rules.level) == ("spearman", "items"):
        return rank_intervals.drawn([target.scored() for target in targets], rng, rules.draws)
    resamples = list[Array]()  # of each dataset: (draws, qualities, submissions)
    for dataset, group in groupby(targets, key=lambda target: target.dataset):
        members = list(group)
        rated = np.any([np.isfinite(target.judged.means) for target in members], axis=0)
        resamples.append(np.stack([resampled_by_context(
            target.people.take(rated), target.scores[:, rated], request.resampled, generator(rules.seed, dataset, ""),
            rules.draws) for target in members], axis=1))
    return Drawn.jointly(resamples, rng)


def _baselines(outcome: Outcome) -> Iterator[tuple[str, Vector, str]]:
    """Yield the name of every baseline, its value on each target, and the reason if it could not be scored."""
    rules, ground = outcome.rules, outcome.ground
    models, store = Models(outcome.home, Choice(download=False)), ScoreStore(rules.folder / "ranking" / "scores")
    no_values = np.full(len(ground.targets), np.nan)
    for name in rules.baselines:
        chosen, tables = registry.choose(name, seed=rules.seed), list[TargetData]()
        try:
            for ranked in ground.datasets:
                scores = {(chosen.label, chosen.suffix): Scorer(ranked.dataset, models, store).scores(chosen.metric)}
                tables += correlate.targets(correlate.item_scores(ranked.dataset, ranked.judged, scores), ranked.judged)
        except MetricError as error:  # for example, a model is missing
            yield chosen.label, no_values, " ".join(str(error).split())
        else:
            for (_, column), values in zip(tables[0].names, agreement(rules, tables), strict=True):
                yield column, values, ""
    for name, file in outcome.baseline_files.items():
        values = no_values if file.reasons else agreement(rules, ground.tables([name], [file.scores]))[0]
        yield Path(name).stem, values, "; ".join(file.reasons)
    if rules.statistic in ACCURACIES:
        request = Request(rules.statistic, rules.level, seed=rules.seed)
        for rows in zip(*(list(chance(target, request)) for target in outcome.entries.tables), strict=True):
            yield rows[0].column, np.array([row.value for row in rows]), ""
