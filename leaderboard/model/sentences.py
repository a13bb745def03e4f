"""Sentences about results: the best column, the evidence for its lead, and its cost."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from harness.results import power
from harness.results.decision_rows import Firmness
from harness.results.exhibits import number
from harness.results.pooled import AT_ODDS, Pool
from harness.statistics.pooled import TOO_FEW, weights
from harness.statistics.power import detectable_text
from leaderboard.model.boards import above_zero, half_width, plus_minus
from leaderboard.model.cost import cost_of, size
from leaderboard.model.index import ColumnKey, Index, Target, plural
from leaderboard.model.questions import DEFAULT_CHOICE, SIZES, Answer, Choice, Question, answers, is_allowed

SYSTEMS = {"as published": "the paper's own method", "same method, smaller model": "our smaller version of {}",
           "another method": "our own small substitute for {}, not the paper's method", "baseline": "a baseline",
           "control": "a control, which does not judge quality"}
MAX_NAMED_TIES = 5
"""Maximum number of tied columns that a sentence names."""


def is_control(index: Index, column: ColumnKey) -> bool:
    """Return True for a control and for a lexical metric that uses only the reply."""
    entry = index.metrics.get(column[0])
    return entry is not None and (entry.family == "control" or (entry.family == "lexical" and not entry.needs))


def verdict(index: Index, question: Question, best: ColumnKey) -> str:
    """Return the words before the best column's name; "" if its score is clearly above 0 and it judges quality."""
    if not is_above_zero(question, best):
        return f"{no_metric(question)} agrees with people; the best is"
    return f"{no_metric(question)} beats" if is_control(index, best) else ""


def is_above_zero(question: Question, column: ColumnKey) -> bool:
    row = question.ranked[column]
    return above_zero(row.value, row.value - half_width(row))


def no_metric(question: Question, words: str = "no metric") -> str:
    """Return "no metric", restricted to metrics with values on all targets if some columns lack values."""
    incomplete = len(question.columns) - len(question.ranked)
    targets = f"all {len(question.targets)} targets" if len(question.targets) > 1 else "the only target"
    return f"{words} with values on {targets}" if incomplete else words


def why_no_answer(question: Question) -> str:
    return f"{no_metric(question)} meets these restrictions" if question.ranked else "every metric has a missing value"


def question_text(question: Question, choice: Choice, verdict: str = "") -> str:
    """State the question and the verdict; the name of the best column follows."""
    ratings, size = choice
    fitting = "" if ratings or question.published else "without fitting on ratings"
    limits = ", ".join(filter(None, (fitting, SIZES[size][1])))
    restrictions = limits or ("" if question.published else "with no restrictions")
    return f"For {', '.join(filter(None, (question.subject, restrictions)))}:{f' {verdict}' if verdict else ''}"


def recommendation(index: Index, question: Question) -> str:
    """State the best column, its lead, the agreement of the raters, and the power of the data."""
    pool, answer = Pool.of(index.results), answers(index.results)(question.name).get(DEFAULT_CHOICE)
    if answer is None:
        return f"{question_text(question, DEFAULT_CHOICE)} {why_no_answer(question)}."
    question_and_verdict = question_text(question, DEFAULT_CHOICE, verdict(index, question, answer.best))
    powers = sorted((rows[0] for target in question.targets if target[0] in pool.points
                     and (rows := power.power_or_empty(index.results, target, pool))), key=lambda row: row.detectable)
    sizes = sorted(map(pool.rated, question.targets))
    # powers is empty if there are too few columns or contexts
    power_texts = [*map(str, powers)] or [detectable_text(*size) for size in sizes]
    typical_prefix = f"On a typical target (the median of {len(power_texts)}), " if power_texts[1:] else ""
    names = filter(None, (index.labels[answer.best], _unbeaten_control(index, question, answer)))
    return (f"{question_and_verdict} {', '.join(names)}. {_score_and_lead(index, question, answer)}. "
            f"{rater_agreement(question)} {typical_prefix}{power_texts[len(power_texts) // 2]}.")


def describe_metric(index: Index, column: ColumnKey) -> str:
    """Describe a column's metric: its relation to the system of its paper, its size, and fitting on ratings."""
    entry = index.metrics.get(column[0])
    if entry is None:
        return ""
    system = "a combination of other metrics" if entry.family == "composite" else entry.system
    system = SYSTEMS.get("control" if is_control(index, column) else entry.system, system)
    no_model = "no model" if entry.family in ("lexical", "control") else ""  # in other families, 0 means unknown
    return ", ".join(filter(None, (
        system.format(entry.title or entry.name),
        f"{size(entry.parameters)} parameters" if entry.parameters else no_model,
        "fitted on ratings" if entry.fitted_on == "ratings" else "")))


def describe_answer(index: Index, question: Question, answer: Answer) -> str:
    """Describe the metric of an answer, and name the best control that it is not shown to beat."""
    return "; ".join(filter(None, (describe_metric(index, answer.best), _unbeaten_control(index, question, answer))))


def _unbeaten_control(index: Index, question: Question, answer: Answer) -> str:
    """Name the best control that the best column is not shown to beat; "" if it beats all of them."""
    if is_control(index, answer.best) or not is_above_zero(question, answer.best):
        return ""
    tied = {name for among in ("unfitted", "all") for row in index.firmness[question.name, question.rule, among]
            if (row.metric, row.column) == answer.best for name in row.tied}
    control = next((index.labels[column] for column in question.ranked
                    if is_control(index, column) and index.labels[column] in tied), "")
    return f"not shown to beat {control}" if control else ""


def firmness_of(index: Index, question: Question, answer: Answer) -> Sequence[Firmness]:
    """Return the firmness of an answer among the metrics that its choice allows; empty if unknown."""
    ratings, size = answer.choice
    if math.isfinite(size):  # the firmness is over metrics of any size
        return []
    return [row for row in index.firmness[question.name, question.rule, "all" if ratings else "unfitted"]
            if (row.metric, row.column) == answer.best]


def evidence(index: Index, question: Question, answer: Answer) -> str:
    """State the score, the lead and its firmness, warn of equal votes, and state what the column replaces and costs."""
    time, next_time = (cost_of(index, column).time if column else "" for column in (answer.best, answer.following))
    next_cost = f" ({index.labels[answer.following]}: {next_time} s)" if answer.following and next_time else ""
    machine = "on a GPU" if index.results.run.device.startswith("cuda") else "without a GPU"
    firm_lead = (f"{_leave_one_out(index, answer)} {firmness(firmness_of(index, question, answer))}".rstrip()
                 if is_above_zero(question, answer.best) else "")
    cost = f" Cost: {time} s per 1,000 items {machine}{next_cost}." if time else ""
    constant_targets = len(index.warnings.keys() & set(question.targets))
    warning = (f" On {constant_targets} of the {plural(len(question.targets), 'quality', 'qualities')} behind this "
               "answer, nearly all votes are equal." if 2 * constant_targets >= len(question.targets) else "")
    replaces = _replacement(index, question, answer)
    return f"{_score_and_lead(index, question, answer)}.{firm_lead}{warning}{replaces}{cost}"


def _score_and_lead(index: Index, question: Question, answer: Answer) -> str:
    """State the score, the number of datasets behind it, and the lead if the column agrees with people."""
    row = question.ranked[answer.best]
    interval = f"{plus_minus(row)} (95 %, by contexts)" if plus_minus(row) else ""
    lead = f"; {_lead(index, question, answer)}" if is_above_zero(question, answer.best) else ""
    return f"Spearman {number(row.value)}{interval} over {plural(question.datasets, 'dataset')}{lead}"


def _replacement(index: Index, question: Question, answer: Answer) -> str:
    """State where a column may replace a rater, and the worth of a rating with its scores; "" if neither is known."""
    rows = [row for target in question.targets if (row := index.decisions.get((*target, *answer.best)))
            and not index.is_fitted(answer.best, target[0])]
    text = ""
    if tested := [row for row in rows if math.isfinite(row.rho)]:
        passed = sum(row.replaces for row in tested)
        qualities = "the one quality" if len(tested) == 1 else f"{passed or 'any'} of {len(tested)} qualities"
        verb = "may replace" if passed else "does not pass as a replacement for"
        text = f" It {verb} a rater on {qualities} with several votes (ε = {tested[0].epsilon:g})"
        other, targets = _other_replacement(index, question, answer)
        if len(targets) > passed:
            target_names = str(len(targets)) if targets[2:] else " and ".join(
                name if question.datasets == 1 else f"{name} of {dataset}" for dataset, name in targets)
            text += f"; {index.labels[other]} {'may' if passed else 'does'}, on {target_names}"
        text += "."
    if with_worth := [row for row in rows if math.isfinite(row.worth)]:
        worth = float(weights([row.dataset for row in with_worth], question.rule) @ [row.worth for row in with_worth])
        text += (f" One rating together with its scores is worth {worth:.2f} ratings; halving the number of ratings "
                 "would take a metric with r = 0.71.")
    return text


def _other_replacement(index: Index, question: Question, answer: Answer) -> tuple[ColumnKey, list[Target]]:
    """Return the other allowed and unfitted column that replaces a rater on the most targets, with these targets."""
    passed: dict[ColumnKey, list[Target]] = {answer.best: []}
    for target in question.targets:
        for other in index.replacing[target]:
            if other != answer.best and is_allowed(index, other, answer.choice):
                passed.setdefault(other, []).append(target)
    return max(passed.items(), key=lambda entry: (len(entry[1]), entry[0]))


def rater_agreement(question: Question) -> str:
    """State the correlation of one rater with the others and the limit from rater noise."""
    count = len(question.targets)
    total = plural(count, *(("dataset",) if count == question.datasets else ("quality", "qualities")))

    def mean_text(name: str, mean: float, covered: int, remark: str = "") -> str:
        coverage = f" on {covered} of {total}" if covered < count else ""
        return f"{name}: {mean:.2f}{coverage}{remark}" if math.isfinite(mean) else ""

    sentences = list(filter(None, (
        mean_text("One rater against the others", *question.one_rater, " (not an upper bound)"),
        mean_text("limit from rater noise", *question.limit))))
    return f"{'; '.join(sentences)}." if sentences else "The agreement of the raters is unknown."


def _leave_one_out(index: Index, answer: Answer) -> str:
    """State which columns lead when one dataset is left out; "" for a single dataset."""
    leading_without: dict[ColumnKey, list[str]] = defaultdict(list)
    for name, column in answer.without.items():
        if column != answer.best:
            leading_without[column].append(name)
    if not leading_without:
        return " It leads whichever dataset is left out." if answer.without else ""
    times_first = len(answer.without) - sum(map(len, leading_without.values()))
    cases = (f"still first in {times_first} of {len(answer.without)} cases" if times_first else "", *(
        f"without {' or '.join(names)}, {index.labels[column]} leads" for column, names in leading_without.items()))
    return f" Leaving out one dataset at a time: {'; '.join(filter(None, cases))}."


def firmness(rows: Sequence[Firmness]) -> str:
    """State how little must be removed before another metric leads a board, and the columns tied with the first."""
    if not rows:
        return ""
    removed, tied = [row for row in rows if row.removed], rows[0].tied
    removals = ", ".join(f"{row.removed:,} of {row.of:,} {row.unit}" for row in removed)
    removal_text = " or ".join(removals.rsplit(", ", 1))
    bounds = " or ".join(row.unit for row in removed if row.unit != "datasets" and row.removed != 1)
    lead = (f"Another metric would lead without {removal_text}{f'; fewer {bounds} may be enough' if bounds else ''}."
            if removed else "None of the removals tried puts another metric first.")
    return f"{lead} Tied with the best: {abbreviated(tied)}." if tied else f"{lead} No column is tied with the best."


def abbreviated(columns: Sequence[str]) -> str:
    unnamed = len(columns) - MAX_NAMED_TIES
    return ", ".join(columns[:MAX_NAMED_TIES]) + (f" and {unnamed} more" if unnamed > 0 else "")


def _lead(index: Index, question: Question, answer: Answer) -> str:
    if answer.following is None:
        others = [column for column in question.ranked if column[0] != answer.best[0]]
        if not all(is_allowed(index, column, answer.choice) for column in others):
            return f"{no_metric(question, 'no other metric')} meets these restrictions"
        return "no other metric has values on all targets" if len(index.metrics) > 1 else "no other metric was run"
    name = index.labels[answer.following]
    if answer.lead is None or not math.isfinite(answer.lead.difference.p):
        return f"its lead over {name}, the next metric, {'cannot be' if answer.lead else 'is not'} tested"
    lead = answer.lead.difference
    if lead.none:
        return f"{name}, the next metric, ranks the items identically"
    p = "adjusted p < 0.001" if lead.p < 0.001 else f"adjusted p = {lead.p:.3f}"
    interval = f"95 % interval {number(lead.low, 3)} to {number(lead.high, 3)}, " if math.isfinite(lead.low) else ""
    notes = (f"; {AT_ODDS}" if answer.lead.at_odds else "") + (f"; {TOO_FEW}" if answer.lead.few else "")
    return (f"its lead of {lead.value:.3f} over {name} is {'' if lead.established else 'not '}established "
            f"({interval}{p}{notes})")
