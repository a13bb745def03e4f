"""Tables of `harness report`: correlations, comparisons, clusters and pooled leads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from benchmarks.errors import plural
from harness.commands._output import data_of, table
from harness.results.decision_rows import Decision
from harness.results.entries import BoardId, fitted
from harness.results.files import json_object
from harness.results.item_scores import labels
from harness.results.pooled import STATISTIC, Lead, Pool
from harness.results.rows import ColumnKey, Comparisons, Correlation, Results
from harness.results.rows import Target as Target
from harness.statistics.rank_intervals import rank
from leaderboard.blocks.cells import MISSING, interval, number, p_value
from leaderboard.model.boards import above_zero, half_width
from leaderboard.render.text import shortened, wrapped

ALPHA = 0.05
DRAWS = 400
"""Default number of draws of WMT25's rule."""
FEW_CONTEXTS = 12
"""Number of contexts below which swapping whole contexts has little power to separate several columns."""
MAX_LISTED = 20
"""Maximum number of comparisons in a table; if there are more, it shows only those of the best column."""
TEST_TITLES = {"perm-both": "PERM-BOTH on ranks, by contexts",
               "perm-both-scores": "PERM-BOTH on standardised scores, by contexts",
               "williams": "Williams", "williams-contexts": "Williams by context",
               "meng": "Meng, Rosenthal & Rubin", "bootstrap": "paired bootstrap over contexts"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected rows of results: targets, columns (none: all), statistic, test and rule of the clusters."""

    results: Results
    targets: frozenset[Target]
    columns: tuple[ColumnKey, ...] = ()
    statistic: str = "spearman"
    test: str = "perm-both"
    rule: str = "every"
    draws: int = 0

    def has(self, dataset: str, quality: str) -> bool:
        return (dataset, quality) in self.targets

    def has_row(self, row: Correlation | Decision) -> bool:
        return self.has(row.dataset, row.quality) and (not self.columns or (row.metric, row.column) in self.columns)

    def comparisons(self) -> dict[Target, Comparisons]:
        return {(rows.dataset, rows.quality): rows for rows in self.results.comparisons
                if (rows.statistic, rows.test) == (self.statistic, self.test) and self.has(rows.dataset, rows.quality)}

    def correlations(self) -> dict[Target, dict[str, Correlation]]:
        """Return the correlations of each target, the best first, by the labels that its comparisons use."""
        rows: dict[Target, dict[ColumnKey, Correlation]] = {}
        for row in self.results.correlations:
            if row.statistic == self.statistic and self.has(row.dataset, row.quality):
                rows.setdefault((row.dataset, row.quality), {})[row.metric, row.column] = row
        by_target = {target: [(label, row) for label, row in zip(labels(list(columns)), columns.values(), strict=True)
                              if math.isfinite(row.value) and self.has_row(row)] for target, columns in rows.items()}
        return {target: dict(sorted(columns, key=lambda column: (-column[1].value, column[0])))
                for target, columns in by_target.items() if columns}

    def table(self, target: Target, caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
        (data,) = (data_of(entry.split, entry.kind) for entry in self.results.datasets if entry.name == target[0])
        return table(f"{target[0]}, {target[1]}: {self.statistic.capitalize()}{caption}", heads, data, rows)


def correlation_tables(chosen: Selection) -> Iterator[str]:
    for target, rows in chosen.correlations().items():
        epsilon = ["ε"] if any(math.isfinite(row.epsilon) for row in rows.values()) else []
        yield chosen.table(target, "", ("Metric", "value", "95 % interval", "p", "n", *epsilon), [
            (label, number(row.value), interval(row.low, row.high, 3) or MISSING, _format_p(row.p), str(row.n), *(
                f"{row.epsilon:.3g}" if math.isfinite(row.epsilon) else MISSING for _ in epsilon))
            for label, row in rows.items()])
    missing = {(row.dataset, row.quality, row.note) for row in chosen.results.correlations
               if row.statistic == chosen.statistic and chosen.has(row.dataset, row.quality)
               and not math.isfinite(row.value)}
    if missing:
        yield "".join(f"{dataset}, {quality}: no value for some columns: {note}\n"
                      for dataset, quality, note in sorted(missing))


def lead_sentences(chosen: Selection) -> Iterator[tuple[str, str]]:
    """Yield the leads over a split, over each dimension and on each target, as sentences and JSON objects."""
    datasets, pool = chosen.results.datasets, Pool.of(chosen.results, chosen.draws)
    label_of = dict(zip(pool.columns, labels(list(pool.columns)), strict=True))
    dimensions = sorted({quality.dimension for entry in datasets for quality in entry.qualities})
    for split, origin in sorted({(entry.split, entry.kind) for entry in datasets}):
        parts = {tuple(target for target in pool.targets(split, origin, name) if chosen.has(*target)): name
                 for name in ("", *dimensions)}
        parts |= {(target,): name for targets, name in list(parts.items()) if name for target in targets}
        for targets, dimension in parts.items():
            board = BoardId(split, dimension=dimension)
            rule = board.rule
            for lead in _leads(pool, targets, rule, chosen.columns):
                better, worse, difference = label_of[lead.better], label_of[lead.worse], lead.difference
                reached, reached_on = pool.reached(targets, lead.better, rule)
                selection = (f"{len(targets)} qualities of {plural(len({name for name, _ in targets}), 'dataset')}"
                             if targets[1:] else ", ".join(targets[0]))
                coverage = f" on {reached_on} of {len(targets)} qualities" if reached_on < len(targets) else ""
                share = (f"; it reaches {100 * reached:.0f} % of the limit from rater noise{coverage}"
                         if math.isfinite(reached) else "")
                means = pool.means(targets, rule)
                agrees, leader_agrees = (
                    above_zero(means[column], _low(chosen.results, board, origin, targets, column))
                    for column in (lead.better, next(iter(means))))
                ahead = f"is ahead of {worse}, with {number(means[lead.better])}"
                result = (f"{better} and {worse} rank the items identically{share}" if difference.none else
                          f"{better} leads {worse} {lead.verdict}{share}" if agrees else
                          f"{better} is not shown to agree with people, but {ahead}" if leader_agrees else
                          f"no column agrees with people; {better} {ahead}")
                yield (f"{split}, {origin}, {dimension or 'all'} ({selection}): {result}",
                       json_object({
                           "split": split, "origin": origin, "dimension": dimension or "all", "targets": targets,
                           "statistic": STATISTIC, "test": "perm-both", "better": better, "worse": worse,
                           "delta": difference.value, "low": difference.low, "high": difference.high,
                           "p": difference.p, "reached": reached, "reached_on": reached_on,
                           "established": difference.established,
                       }))


def _low(results: Results, board: BoardId, origin: str, targets: Sequence[Target], column: ColumnKey) -> float:
    """Return the lower end of the interval of a column on a board or a target; NaN on other selections."""
    on_board = (row.value - half_width(row) for row in results.ranking if row.targets == len(targets) and (
        row.board, row.origin, row.rule, row.statistic, row.metric, row.column) == (
        str(board), origin, board.rule, STATISTIC, *column))
    on_target = (row.low for row in results.correlations if not targets[1:] and (
        row.dataset, row.quality, row.statistic, row.metric, row.column) == (*targets[0], STATISTIC, *column))
    return next(chain(on_board, on_target), math.nan)


def _leads(pool: Pool, targets: Sequence[Target], rule: str, columns: Sequence[ColumnKey]) -> list[Lead]:
    """Compare the leader with the next column and the next metric, or selected columns with the leader or each other.

    Columns with the same scores are not compared.
    """
    ranked = list(pool.means(targets, rule))
    selected = [column for column in ranked if column in columns]
    scores, distinct = dict(zip(ranked, pool.digests(targets, ranked), strict=True)), dict[str, ColumnKey]()
    for column in ranked:
        distinct.setdefault(scores[column], column)
    if len(distinct) < 2 or (columns and not selected):
        return []
    if len(selected) > 1:
        pairs = combinations(selected, 2)
        return pool.leads(targets, [pair for pair in pairs if scores[pair[0]] != scores[pair[1]]], rule)
    leads_itself = not selected or scores[selected[0]] == scores[ranked[0]]
    first, second, *others = distinct.values()
    next_metric = next((column for column in (second, *others) if column[0] != first[0]), second)
    compared = dict.fromkeys((second, next_metric)) if leads_itself else selected
    return pool.leads(targets, [(first, column) for column in compared], rule)


def by_wmt25(chosen: Selection) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Yield each board by WMT25's rule as a table and as records, one per column; the last two are at chance level."""
    from harness.run.item_statistics import CHANCE, by_wmt25
    from harness.statistics.wmt25 import KINDS, mean

    for split, origin, names, tasks, clusters in by_wmt25(chosen.results, chosen.has, chosen.draws or DRAWS):
        count, row_names = len(names), [*labels(names), "a constant", "random numbers"]
        values = {name: [*column[:count], column[count], np.mean(column[count + 1:])] for name, column in (
            ("value", mean(tasks)), *((kind, mean(tasks, kind)) for kind in KINDS))}
        ranked = sorted(np.flatnonzero(clusters).tolist(), key=lambda row: (clusters[row], -values["value"][row]))
        cells = [(str(clusters[row] or ""), row_names[row], *(number(column[row]) for column in values.values()))
                 for row in (*ranked, count, count + 1)]
        datasets = {entry.name for entry in chosen.results.datasets if (entry.split, entry.kind) == (split, origin)}
        datasets &= {dataset for dataset, _ in chosen.targets}
        heads = ("Cluster", "Metric", "mean", "soft pairwise accuracy", "pairwise accuracy with ties")
        left_out = f"{count - len(ranked)} columns lack a value on a task. " if len(ranked) < count else ""
        title = (f"{split}, WMT25's rule: {plural(len(tasks), 'task')} on {plural(len(datasets), 'dataset')}. "
                 f"{left_out}Clusters by PERM-BOTH over contexts ({chosen.draws or DRAWS} draws), one-sided, 5 %")
        yield table(title, heads, data_of(split, origin), cells), [{
            "split": split, "origin": origin, "rule": "wmt25", "tasks": len(tasks), "cluster": cluster or None,
            "metric": metric, "column": column, **{kind: float(series[row]) for kind, series in values.items()},
        } for row, ((metric, column), cluster) in enumerate(zip(
            [*names, *dict.fromkeys(CHANCE)], clusters[:count + 2], strict=True))]


def comparison_tables(chosen: Selection) -> Iterator[str]:
    """Yield a table per target with the comparisons of the best or selected columns, first those of the leader."""
    correlations = chosen.correlations()
    best = {target: next(iter(rows)) for target, rows in correlations.items()}
    draws = _draws(chosen) if chosen.test.startswith("perm-both") else 0
    for target, comparisons in chosen.comparisons().items():
        show_all = chosen.columns or len(comparisons) <= MAX_LISTED
        selected = set(correlations.get(target, ()) if show_all else [best[target]])
        of_selected = np.array([name in selected for name in comparisons.names])
        rows = comparisons.at(of_selected[comparisons.better] | of_selected[comparisons.worse])
        cells = [(row.better, row.worse, str(row.n), number(row.delta), number(row.value),
                  _format_p(row.p, draws), _format_p(row.holm), _format_p(row.bh), "yes" if row.bh < ALPHA else "no")
                 for row in sorted(rows, key=lambda row: (
                     row.better != best.get((row.dataset, row.quality)), row.delta, row.better, row.worse))]
        if cells:
            yield (chosen.table(target, f", {_test_title(chosen)}, two-sided", (
                "Better", "Worse", "n", "difference", "t", "p", "Holm", "BH", "established"), cells)
                   + _warning(chosen, target) + _explanation(chosen, comparisons))


def cluster_tables(chosen: Selection) -> Iterator[str]:
    """Yield a table per target with clusters, by the selected rule, and group letters."""
    all_comparisons, fitted_pairs = chosen.comparisons(), fitted(chosen.results.metrics, chosen.results.datasets)
    for target, rows in chosen.correlations().items():
        position = {label: index for index, label in enumerate(rows)}
        wins = np.zeros((len(rows), len(rows)), dtype=bool)
        if comparisons := all_comparisons.get(target):
            positions = np.array([position.get(name, -1) for name in comparisons.names])
            better, worse = positions[comparisons.better], positions[comparisons.worse]
            significant = (comparisons.p if chosen.rule == "wmt" else comparisons.bh) < ALPHA
            significant &= (better >= 0) & (worse >= 0)
            wins[better[significant], worse[significant]] = True
        fitted_here = {metric for metric, dataset in fitted_pairs if dataset == target[0]}
        ranks = rank({label: math.nan if row.metric in fitted_here else row.value for label, row in rows.items()},
                     better=wins, clusters=chosen.rule)
        cells = [(str(standing.cluster or ""), label, number(row.value), interval(row.low, row.high, 3) or MISSING,
                  str(row.n), number(row.corrected), shortened(standing.letters))
                 for (label, row), standing in zip(rows.items(), ranks.values(), strict=True)]
        adjusted = "one-sided" if chosen.rule == "wmt" else "Benjamini-Hochberg"
        caption = f", clusters by {_test_title(chosen)}, {adjusted}, 5 %. {_rater_agreement(chosen, target)}"
        heads = ("Cluster", "Metric", "value", "95 % interval", "n", "corrected", "Group")
        yield (chosen.table(target, caption, heads, cells)
               + "Columns that share a group letter are not significantly different.\n"
               + "All columns are in one cluster: none is above the others.\n" * (
                   len(rows) > 1 == max(standing.cluster for standing in ranks.values()))
               + _warning(chosen, target))


def _warning(chosen: Selection, target: Target) -> str:
    """Return a warning if a test is too optimistic or has little power because items share contexts, else ""."""
    items, contexts = Pool.of(chosen.results).rated(target)
    if contexts == items:
        return ""
    shared = f"{items} items share {contexts} contexts: "
    if chosen.test in ("williams", "steiger", "meng"):
        return wrapped(f"{shared}analytic tests and intervals treat them as independent and are too optimistic. "
                       "--test perm-both, the default, swaps whole contexts.")
    few = ("; with so few contexts, the bootstrap is too optimistic, and swapping contexts cannot give a p below "
           f"{2 / 2 ** contexts:.2g}" if contexts < FEW_CONTEXTS else "")
    return wrapped(f"{shared}analytic intervals treat them as independent{few}.")


def _explanation(chosen: Selection, comparisons: Comparisons) -> str:
    """Explain "established", and how p-values too small for the number of draws are adjusted."""
    draws = _draws(chosen)
    least = 2 / (draws + 1) * np.isfinite(comparisons.p).sum()
    if chosen.test == "bootstrap" and least > ALPHA:
        return (f"With {draws} draws no Holm-adjusted p can be below {min(1, least):.2g}; increase the number with "
                "--draws.\n")
    normal = (" Where fewer than ten draws are as extreme, Holm and BH use the tail of a normal distribution."
              if (comparisons.holm < comparisons.p).any() else "")
    return wrapped(f"Established: p adjusted over all pairs by BH (Benjamini and Hochberg) is below 5 %.{normal}")


def _rater_agreement(chosen: Selection, target: Target) -> str:
    rows = [row for row in chosen.results.reliability if (row.dataset, row.quality) == target]
    values = [f"{row.method} {number(row.value)}" for row in rows if math.isfinite(row.value)]
    notes = sorted({row.note for row in rows if row.note})
    return "Agreement of the raters: " + (", ".join(values) or "; ".join(notes) or "unknown")


def _test_title(chosen: Selection) -> str:
    draws = f" ({_draws(chosen)} draws, seed {chosen.results.run.seed})"
    title = TEST_TITLES.get(chosen.test, chosen.test.capitalize())
    return title + draws if chosen.test.startswith("perm-both") else title


def _draws(chosen: Selection) -> int:
    return chosen.draws or int(str(chosen.results.run.options.get("permutations") or 0))


def _format_p(value: float, draws: int = 0) -> str:
    """Format a p-value to three decimals, or as an upper bound if no draw is as extreme."""
    if draws and value < 1 / draws:
        return f"< {max(1, math.ceil(1000 / draws)) / 1000:.3f}"
    return p_value(value) or MISSING
