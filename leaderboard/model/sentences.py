"""The answer in words: which column, what it is, how well it agrees with people, how sure that is, what it costs."""

from __future__ import annotations

import math

from leaderboard.model.cost import Cost, costs
from leaderboard.model.index import Column, Index, plural
from leaderboard.model.questions import SIZES, Answer, Choice, Question

SYSTEMS = {"as published": "the paper's own method", "same method, smaller model": "our smaller version of {}",
           "another method": "not {}: our own small substitute",
           "baseline": "a baseline"}
"""How a metric stands to its paper's system, in a sentence."""

CONTROL, BEATEN = "a control, which does not judge quality", "no metric beats"
"""What a control is, and what is said before its name where it leads."""

MODELLESS = ("lexical", "control")
"""Families whose metrics compute without a model; of others without parameters nothing is known."""
UNTESTED = "its lead over the next is not tested"


def is_control(index: Index, column: Column) -> bool:
    """Whether a column is of a control or, like one, of a lexical metric that reads the reply alone."""
    return any(entry.family == "control" or (entry.family == "lexical" and not entry.needs)
               for entry in index.results.metrics if entry.name == column[0])


def asked(question: Question, choice: Choice, beaten: bool = False) -> str:
    """What the answer is to; `beaten` says that a control leads."""
    ratings, size = choice
    limits = ", ".join(filter(None, ("" if ratings else "without ratings", *(
        words for own, _, words in SIZES if own == size))))
    quality = question.title if not question.dimension else question.title.replace(
        question.dimension, f"{question.dimension} quality" if question.dimension == "overall" else question.dimension)
    return f"For {quality}, {limits or 'with no restrictions'}:{f' {BEATEN}' if beaten else ''}"


def about(index: Index, column: Column) -> str:
    """What a column is: how its metric stands to its paper's system, and how large it is."""
    entry = next((entry for entry in index.results.metrics if entry.name == column[0]), None)
    if entry is None:
        return ""
    system = CONTROL if is_control(index, column) else SYSTEMS.get(
        entry.system, "no paper’s system, a combination of other metrics" if entry.family == "composite" else
        entry.system).format(entry.title or entry.name)
    plain = "no model" if entry.family in MODELLESS else ""
    return ", ".join(filter(None, (system, f"{size(entry.parameters)} parameters" if entry.parameters else plain,
                                   "fitted on ratings" if entry.fitted_on == "ratings" else "")))


def evidence(index: Index, question: Question, answer: Answer) -> str:
    """How well it agrees with people, whether its lead is established and hangs on one dataset, and what it costs."""
    row, known = question.board.ranked[answer.best], costs(index.results)
    shown, second = (seconds(known[column]) if column in known else "" for column in (answer.best, answer.following))
    beside = f" ({index.labels[answer.following]}: {second} s)" if answer.following and second else ""
    where = "on a GPU" if index.results.run.device.startswith("cuda") else "without a GPU"
    return (f"Spearman {row.value:.2f}{error(row.error)} over {plural(question.datasets, 'dataset')}; "
            f"{_lead(index, answer)}.{_without(index, answer)}"
            f"{f' Cost: {shown} s per 1,000 items {where}{beside}.' if shown else ''}")


def people(question: Question) -> str:
    """What people reach, and what their noise allows."""
    on = [f" on {known} of {plural(question.datasets, 'dataset')}" if known < question.datasets else ""
          for known in (question.one_rater_on, question.limit_on)]
    parts = (f"One rater against the others: {question.one_rater:.2f}{on[0]}, not an upper bound"
             if math.isfinite(question.one_rater) else "",
             f"the raters’ noise allows at most {question.limit:.2f}{on[1]}" if math.isfinite(question.limit) else "")
    return f"{'; '.join(filter(None, parts))}." if any(parts) else "How far the raters agree is not known."


def error(value: float) -> str:
    """Half of the 95 % interval of a value with this standard error; nothing where it is not known."""
    return f" ± {1.959964 * value:.2f}" if math.isfinite(value) else ""


def size(parameters: int) -> str:
    """A number of parameters, in millions from half a million on."""
    return f"{parameters / 1e6:.0f} M" if parameters >= 500_000 else f"{parameters / 1e3:.0f} k" if parameters else ""


def seconds(cost: Cost) -> str:
    """Seconds per 1,000 items in two significant digits; nothing where they were not measured."""
    value = cost.seconds
    if not math.isfinite(value):
        return ""
    return "< 0.01" if value < 0.01 else f"{value:.{0 if value >= 9.95 else 1 if value >= 0.995 else 2}f}"


def _without(index: Index, answer: Answer) -> str:
    """Say which columns lead once each dataset is left out; nothing of a single dataset."""
    others: dict[Column, list[str]] = {}
    for name, column in answer.without.items():
        if column != answer.best:
            others.setdefault(column, []).append(name)
    if not others:
        return " It leads whichever dataset is left out." if answer.without else ""
    first = len(answer.without) - sum(map(len, others.values()))
    parts = (f"still first without {first} of {len(answer.without)}" if first else "", *(
        f"without {' or '.join(names)}, {index.labels[column]} leads" for column, names in others.items()))
    return f" Leaving out one dataset at a time: {'; '.join(filter(None, parts))}."


def _lead(index: Index, answer: Answer) -> str:
    if answer.following is None:
        return "no other metric has every value"
    name, lead = index.labels[answer.following], answer.lead
    if lead is None or not math.isfinite(lead.p):
        return f"{UNTESTED}, {name}" if lead is None else f"its lead over {name} cannot be tested"
    p = "adjusted p < 0.001" if lead.p < 0.001 else f"adjusted p = {lead.p:.3f}"
    low, high = (f"{value:.3f}".replace("-", "−") for value in (lead.low, lead.high))
    return (f"its lead of {lead.value:.3f} over {name} is {'' if lead.established else 'not '}established "
            f"(95 % interval {low} to {high}, {p})")
