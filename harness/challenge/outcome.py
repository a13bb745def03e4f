"""Rank a challenge: everything from which tables, audit log, report and pages are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.formats.scorefile import FORMS
from harness.challenge import entries, ranking, receipts, rulebook, submissions
from harness.challenge.entries import Entries
from harness.challenge.ground import Ground, prepared
from harness.challenge.ranking import Row
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import Refused, Submission
from harness.errors import BadConfig
from harness.run import correlate
from harness.run.rank import RULES, Target, borda
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.panel import Array, Vector
from harness.statistics.rank_intervals import Rank, rank
from harness.statistics.significance import cluster_numbers
from harness.statistics.williams import PairTests, all_pairs_by_formula
from metrics import registry
from metrics.errors import MetricError
from metrics.models.service import Choice, Models

BASELINES = "baselines"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A metric or a score file of the organiser, never ranked; `reason` tells why it has no value."""

    name: str
    value: float
    row: Mapping[Target, float]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A ranked challenge.

    `values` (entries, targets) and `totals`, those under the rule, are of all entries; so are `pairs`, Williams' test
    of all pairs by target, and their mean `correlation`. `counting` are the submissions that count, best first,
    `chosen` their indices among the entries, `ranks` their ranks by rule and by Borda's count. Their `clusters` and
    `tests`, PERM-BOTH of all pairs, are by target.
    """

    rules: Rulebook
    ground: Ground
    entries: Entries
    values: Array
    totals: tuple[float, ...]
    refused: tuple[Refused, ...]
    at_receipt: tuple[Refused, ...]
    counting: Entries
    chosen: tuple[int, ...]
    rows: tuple[Row, ...]
    ranks: Mapping[str, tuple[Rank, ...]]
    clusters: Mapping[Target, tuple[int, ...]]
    tests: Mapping[Target, PairTests]
    baselines: tuple[Baseline, ...]
    correlation: Array
    pairs: Mapping[Target, PairTests]
    alike: tuple[str, ...]

    @property
    def teams(self) -> list[str]:
        return [entry.team for entry in self.counting.entries]

    def ranked(self, rule: str) -> Iterator[tuple[Submission, Rank]]:
        yield from zip(self.counting.entries, self.ranks[rule], strict=True)


def validated(folder: Path, home: Path, phase: str = "") -> tuple[Rulebook, Ground, entries.Taken, Array]:
    """Read the challenge, or a phase of it, and every submission; the last are the values (entries, targets).

    An error is one of the challenge itself.
    """
    log, rules = receipts.read(folder), rulebook.read(folder, phase)
    rules = replace(rules, final=bool(log.of("frozen", rules.phase)))
    ground = prepared(rules, home)
    rules = replace(rules, changed=log.changed(rules, ground))
    taken = entries.taken(submissions.listed(rules, log.receipts(rules.phase)), ground, rules)
    values = ranking.agreement(rules, taken.whole.tables)
    complete = np.isfinite(values).all(axis=1)
    refused = tuple(Refused(entry.name, tuple(
        f"has no correlation on {quality} of {dataset}: too few scores of rated items, or all the same"
        for (dataset, quality), value in zip(ground.targets, row, strict=True) if not np.isfinite(value)), entry.sha256)
        for entry, row in zip(taken.whole.entries, values, strict=True) if not np.isfinite(row).all())
    return rules, ground, entries.Taken(taken.whole.take(np.flatnonzero(complete).tolist()),
                                       (*taken.refused, *refused), log.refused(rules.phase)), values[complete]


def outcome(folder: Path, home: Path, phase: str = "") -> Outcome:
    rules, ground, taken, values = validated(folder, home, phase)
    whole = taken.whole
    if not whole.entries:
        raise BadConfig(f"{rules.inbox}: no submission can be ranked; `harness challenge validate` says why")
    all_rows, totals, chosen = ranking.chosen_of(rules, ground, whole, values)
    counting, rows = whole.take(chosen), tuple(all_rows[index] for index in chosen)
    names = [entry.name for entry in counting.entries]
    weight = {rule: ranking.weights(rules, rule, ground) for rule in RULES}
    drawn, tests = None, dict[str | Target, PairTests]()
    if rules.draws and len(chosen) > 1:
        drawn, tests = ranking.drawn(rules, counting.tables), ranking.tests_of(rules, counting.tables, weight)
    better = {name: ranking.better_by(rules, test) for name, test in tests.items()}
    ranks = {rule: rank(dict(zip(names, ranking.totals_under(rules, rule, rows, ground), strict=True)),
                        drawn.means(weight[rule]) if drawn else None, better.get(rule), rules.clusters)
             for rule in RULES}
    ranks["borda"] = rank(borda(dict(zip(names, rows, strict=True)), ground.targets))
    clusters = {target: cluster_numbers(np.array([row[target] for row in rows]), better[target], rules.clusters)
                for target in ground.targets if target in better}
    pairs = {target.key: all_pairs_by_formula(target.judged.means, target.scores, "spearman")
             for target in whole.tables}
    correlation = np.mean([np.mean([pairs[ranked.name, judged.quality.name].r for judged in ranked.judged], axis=0)
                           for ranked in ground.fields], axis=0)
    np.fill_diagonal(correlation, 1)
    return Outcome(
        rules, ground, whole, values, totals, taken.refused, taken.at_receipt, counting, tuple(chosen), rows,
        {rule: tuple(standings.values()) for rule, standings in ranks.items()}, clusters,
        {target: tests[target] for target in clusters},
        tuple(_baselines(rules, ground, home, folder / "ranking" / "scores")), correlation, pairs, entries.alike(whole))


def _baselines(rules: Rulebook, ground: Ground, home: Path, store: Path) -> Iterator[Baseline]:
    """Score every baseline; the row of a metric says if this machine lacks something."""
    models = Models(home, Choice(download=False))
    for name in rules.baselines:
        chosen, columns = registry.choose(name, seed=rules.seed), dict[str, dict[Target, Vector]]()
        try:
            for ranked in ground.fields:
                scores = Scorer(ranked.dataset, models, ScoreStore(store)).scores(chosen.metric)
                points = correlate.item_scores(ranked.dataset, ranked.judged, {(chosen.label, chosen.suffix): scores})
                for target in correlate.targets(points, ranked.judged):
                    for (_, column), values in zip(target.names, target.scores, strict=True):
                        columns.setdefault(column, {})[target.key] = values
        except MetricError as error:
            yield Baseline(chosen.label, np.nan, {}, " ".join(str(error).split()))
        else:
            yield from (_baseline(rules, ground, column, values) for column, values in columns.items())
    paths = sorted(path for path in (rules.folder / BASELINES).glob("*") if path.suffix in FORMS)
    for path, file in zip(paths, entries.read(paths, ground.expected, [rules.column] * len(paths)), strict=True):
        yield (Baseline(path.stem, np.nan, {}, "; ".join(file.reasons)) if file.reasons else
               _baseline(rules, ground, path.stem, file.scores))


def _baseline(rules: Rulebook, ground: Ground, name: str, scores: Mapping[Target, Vector]) -> Baseline:
    (values,) = ranking.agreement(rules, ground.tables([name], [ground.aligned(scores)])).tolist()
    row = dict(zip(ground.targets, values, strict=True))
    (value,) = ranking.totals_under(rules, rules.rule, [row], ground)
    return Baseline(name, value, row, "" if np.isfinite(value) else "has no correlation in some target")
