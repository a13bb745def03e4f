"""Answers and gaps in words: the best column, the evidence for its lead, its cost, and why values are missing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from harness.results import power
from harness.results.decision_rows import Firmness
from harness.results.exhibits import number
from harness.results.pooled import AT_ODDS, Pool
from harness.results.rows import RankingRow, Results, Skip
from harness.statistics.pooled import weights
from harness.statistics.power import shows
from leaderboard.model.cost import Cost, cost_of
from leaderboard.model.index import STATISTIC, Column, Index, plural
from leaderboard.model.questions import PLAIN, SIZES, Answer, Choice, Question, answered

SYSTEMS = {"as published": "the paper's own method", "same method, smaller model": "our smaller version of {}",
           "another method": "our own small substitute for {}, not the paper's method", "baseline": "a baseline",
           "control": "a control, which does not judge quality"}
TIED = 5
"""The most tied columns that a sentence names."""
NORMAL = 1.959964
"""Standard errors on each side of a 95 % interval."""


def is_control(index: Index, column: Column) -> bool:
    """Return True for a control and for a lexical metric that reads only the reply."""
    entry = index.metrics.get(column[0])
    return entry is not None and (entry.family == "control" or (entry.family == "lexical" and not entry.needs))


def verdict(index: Index, question: Question, best: Column) -> str:
    """Qualify the best column of a question: "" if its score is clearly above 0 and it judges quality."""
    if not agrees(question, best):
        return f"{no_metric(question)} agrees with people; the best is"
    return f"{no_metric(question)} beats" if is_control(index, best) else ""


def agrees(question: Question, column: Column) -> bool:
    row = question.ranked[column]
    return above_zero(row.value, row.value - reach(row))


def above_zero(value: float, low: float) -> bool:
    """Return True if the 95 % interval of a score, or the score itself where `low` is NaN, is above 0."""
    return (value if math.isnan(low) else low) > 0


def no_metric(question: Question) -> str:
    """Return "no metric"; if some columns have a value only on some targets, of those with all values."""
    lacking = len(question.columns) - len(question.ranked)
    return f"no metric with values on all {len(question.targets)} targets" if lacking else "no metric"


def question_text(question: Question, choice: Choice, verdict: str = "") -> str:
    """State the question, and how to read the name of the best column that follows."""
    ratings, size = choice
    limits = ", ".join(filter(None, ("" if ratings else "without fitting on ratings", SIZES[size][1])))
    return f"For {question.subject}, {limits or 'with no restrictions'}:{f' {verdict}' if verdict else ''}"


def recommendation(index: Index, question: Question) -> str:
    """Answer a question with the best column, its lead, the agreement of the raters and the power of the data."""
    pool = Pool.of(index.results)
    answer = answered(index, pool, question, [PLAIN]).get(PLAIN)
    if answer is None:
        return f"{question_text(question, PLAIN)} every metric has a missing value."
    asked = question_text(question, PLAIN, verdict(index, question, answer.best))
    powers = sorted((rows[0] for target in question.targets if target[0] in pool.points
                     and (rows := power.shown(index.results, target, pool))), key=lambda row: row.detectable)
    sizes = sorted((quality.rated, min(entry.contexts, quality.rated) or quality.rated) for entry in index.datasets
                   for quality in entry.qualities if (entry.name, quality.name) in question.targets)
    known = [*map(str, powers)] or [shows(*size) for size in sizes]  # a single column has no spread
    typical = f"On a typical one of its {len(known)} targets, " if known[1:] else ""
    return (f"{asked} {index.labels[answer.best]}. {led(index, question, answer)}. {people(question)}"
            f" {typical}{known[len(known) // 2]}.")


def about(index: Index, column: Column) -> str:
    """Describe the relation of a column's metric to the system of its paper, and its size."""
    entry = index.metrics.get(column[0])
    if entry is None:
        return ""
    system = "a combination of other metrics" if entry.family == "composite" else entry.system
    system = SYSTEMS.get("control" if is_control(index, column) else entry.system, system)
    no_model = "no model" if entry.family in ("lexical", "control") else ""  # elsewhere a size of 0 means unknown
    return ", ".join(filter(None, (
        system.format(entry.title or entry.name),
        f"{size(entry.parameters)} parameters" if entry.parameters else no_model,
        "fitted on ratings" if entry.fitted_on == "ratings" else "")))


def firm(index: Index, question: Question, answer: Answer, among: str = "unfitted") -> Sequence[Firmness]:
    """Return the firmness of an answer without ratings, or among all; empty if it is not known."""
    return [place for place in index.firmness[question.name, question.rule, among]
            if (place.metric, place.column) == answer.best]


def evidence(index: Index, question: Question, answer: Answer) -> str:
    """State the correlation, the test of the lead, its dependence on single datasets, and the cost."""
    first, second = (seconds(cost_of(index, column)) if column else "" for column in (answer.best, answer.following))
    compared = f" ({index.labels[answer.following]}: {second} s)" if answer.following and second else ""
    where = "on a GPU" if index.results.run.device.startswith("cuda") else "without a GPU"
    firm_lead = (f"{_without(index, answer)} {firmness(firm(index, question, answer))}".rstrip()
                 if agrees(question, answer.best) else "")
    cost = f" Cost: {first} s per 1,000 items {where}{compared}." if first else ""
    constant = len(index.warnings.keys() & set(question.targets))
    warning = (f" Nearly all votes are equal on {constant} of {plural(len(question.targets), 'quality', 'qualities')} "
               "behind this." if 2 * constant >= len(question.targets) else "")
    decided = _decided(index, question, answer.best)
    return f"{led(index, question, answer)}.{firm_lead}{warning}{decided}{cost}"


def led(index: Index, question: Question, answer: Answer) -> str:
    """State the score and the test of the lead; only the score if no metric agrees with people."""
    tested = f"; {_lead(index, answer)}" if agrees(question, answer.best) else ""
    return f"{score(question, answer.best)}{tested}"


def _decided(index: Index, question: Question, column: Column) -> str:
    """State where a column may replace a rater, and how many ratings one with it is worth; "" if neither is known."""
    rows = [row for target in question.targets if (row := index.decisions.get((*target, *column)))
            and not index.is_fitted(column, target[0])]
    text = ""
    if tested := [row for row in rows if math.isfinite(row.rho)]:
        yes = sum(row.replaces for row in tested)
        where = "the one quality" if len(tested) == 1 else f"{yes or 'any'} of {len(tested)} qualities"
        passes = "may replace" if yes else "does not pass as a replacement for"
        text = f" It {passes} a rater on {where} with several votes (ε = {tested[0].epsilon:g})."
    if known := [row for row in rows if math.isfinite(row.worth)]:
        worth = float(weights([row.dataset for row in known], question.rule) @ [row.worth for row in known])
        text += (f" A rating with it is worth {worth:.2f} ratings; to halve the ratings takes a metric of r = 0.71.")
    return text


def score(question: Question, column: Column) -> str:
    """State the score and the number of datasets behind it."""
    row = question.ranked[column]
    interval = f"{error(row)} (95 %, by contexts)" if error(row) else ""
    return f"Spearman {number(row.value)}{interval} over {plural(question.datasets, 'dataset')}"


def people(question: Question) -> str:
    """State the correlation of one rater with the others and the limit from rater noise."""
    def value(name: str, mean: float, datasets: int, remark: str = "") -> str:
        part = f" on {datasets} of {plural(question.datasets, 'dataset')}" if datasets < question.datasets else ""
        return f"{name}: {mean:.2f}{part}{remark}" if math.isfinite(mean) else ""

    known = list(filter(None, (
        value("One rater against the others", *question.one_rater, " (not an upper bound)"),
        value("limit from rater noise", *question.limit))))
    return f"{'; '.join(known)}." if known else "The agreement of the raters is unknown."


def reach(row: RankingRow) -> float:
    """Return half of the 95 % interval of a value; 0 if its standard error is unknown."""
    return NORMAL * row.error if math.isfinite(row.error) else 0.0


def error(row: RankingRow) -> str:
    """Format half of the 95 % interval of a value; "" if it is unknown, or 0 because there is one context."""
    return f" ± {reach(row):.2f}" if row.error > 1e-9 else ""


def size(parameters: float) -> str:
    """Format a number of parameters, in millions from half a million on; "" for 0 or an unknown number."""
    if not parameters or math.isinf(parameters):
        return ""
    return f"{parameters / 1e6:.0f} M" if parameters >= 500_000 else f"{parameters / 1e3:.0f} k"


def seconds(cost: Cost) -> str:
    """Format the seconds per 1,000 items with two significant digits; "" if not measured."""
    value = cost.seconds
    if not math.isfinite(value):
        return ""
    return "< 0.01" if value < 0.01 else f"{value:.{0 if value >= 9.95 else 1 if value >= 0.995 else 2}f}"


def _without(index: Index, answer: Answer) -> str:
    """State which columns lead when one dataset is left out; "" for a single dataset."""
    others: dict[Column, list[str]] = defaultdict(list)
    for name, column in answer.without.items():
        if column != answer.best:
            others[column].append(name)
    if not others:
        return " It leads whichever dataset is left out." if answer.without else ""
    first = len(answer.without) - sum(map(len, others.values()))
    parts = (f"still first without {first} of {len(answer.without)}" if first else "", *(
        f"without {' or '.join(names)}, {index.labels[column]} leads" for column, names in others.items()))
    return f" Leaving out one dataset at a time: {'; '.join(filter(None, parts))}."


def firmness(places: Sequence[Firmness]) -> str:
    """State how little must be removed before another metric leads a board, and the columns tied with the first."""
    removed = [place for place in places if place.removed]
    if not places:
        return ""
    parts = ", ".join(f"{place.removed:,} of {place.of:,} {place.unit}" for place in removed)
    listed = " or ".join(parts.rsplit(", ", 1))
    bounds = " or ".join(place.unit for place in removed if place.unit != "datasets" and place.removed != 1)
    lead = (f"Another metric would lead without {listed}{f'; fewer {bounds} may be enough' if bounds else ''}."
            if removed else "No removal tried puts another metric first.")
    tied = places[0].tied
    return f"{lead} Tied with it: {some(tied)}." if tied else f"{lead} No column is tied with it."


def some(columns: Sequence[str]) -> str:
    """Name the first columns, and count the others."""
    return ", ".join(columns[:TIED]) + (f" and {len(columns) - TIED} more" if len(columns) > TIED else "")


def _lead(index: Index, answer: Answer) -> str:
    if answer.following is None:
        return "no other metric has all values" if len(index.metrics) > 1 else "there is no other metric"
    name, lead = index.labels[answer.following], answer.lead.difference if answer.lead else None
    if lead is None or not math.isfinite(lead.p):
        return f"its lead over {name}, the next metric, {'is not' if lead is None else 'cannot be'} tested"
    if lead.none:
        return f"{name}, the next metric, orders the items alike"
    p = "adjusted p < 0.001" if lead.p < 0.001 else f"adjusted p = {lead.p:.3f}"
    interval = f"95 % interval {number(lead.low, 3)} to {number(lead.high, 3)}, " if math.isfinite(lead.low) else ""
    return (f"its lead of {lead.value:.3f} over {name} is {'' if lead.established else 'not '}established "
            f"({interval}{p}{f'; {AT_ODDS}' if lead.at_odds else ''})")


def without_value(results: Results) -> list[tuple[str, list[Skip]]]:
    """Group by reason the columns that have no value on any quality of a dataset."""
    notes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in results.correlations:
        if row.statistic == STATISTIC:
            notes[row.dataset, row.column].add("" if math.isfinite(row.value) else row.note)
    return by_reason(Skip(dataset, column, *reasons) for (dataset, column), reasons in notes.items()
                     if len(reasons) == 1 and "" not in reasons)


def by_reason(skipped: Iterable[Skip]) -> list[tuple[str, list[Skip]]]:
    """Group skips by reason, the most frequent first."""
    groups: dict[str, list[Skip]] = defaultdict(list)
    for skip in sorted(skipped, key=lambda skip: (skip.metric, skip.dataset)):
        groups[skip.reason].append(skip)
    return sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pairs(skipped: Iterable[Skip]) -> str:
    """List metrics with the datasets they were skipped on; metrics with the same datasets are named together."""
    datasets: dict[str, list[str]] = defaultdict(list)
    for skip in skipped:
        datasets[skip.metric].append(skip.dataset)
    metrics: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for metric, names in datasets.items():
        metrics[tuple(names)].append(metric)
    return "; ".join(f"{', '.join(group)} on {', '.join(names)}" for names, group in metrics.items())


def why_no_board(results: Results) -> str:
    """Explain why nothing is ranked."""
    if (results.skips or results.failures) and not results.timings:
        return ("No board: nothing could be scored on the data shown. The reasons are listed below; results on the "
                "bundled sample are not shown beside real or own data.")
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs at least three rated items with different ratings. " + "; ".join(rated) + "."
