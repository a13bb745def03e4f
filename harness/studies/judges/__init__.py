"""An audit of judges: is a judge consistent, are its scores biased, and do people agree with it?

The judge is asked about the same items under other conditions: a second time; with its options in the other order (or
its scale reversed); with a reworded prompt; with a neutral sentence at the end of each reply; and about pairs of
replies to one context in both orders. A correlation with people says little about these properties. The checks and
their limits are those of harness/statistics/audit.py.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import Dataset, Item, Quality, Reference, Utterance, primary_language
from harness.errors import BadConfig
from harness.results.exhibits import Grid, number
from harness.run.correlate import judged
from harness.statistics import audit
from harness.statistics.audit import Check, Evidence
from harness.statistics.panel import Codes, Vector
from harness.studies import Findings, StudyRequest
from metrics.column import of_quality
from metrics.errors import CannotScore, MetricError
from metrics.external.judge import Judge, LocalJudge
from metrics.judges import prompt as prompts
from metrics.judges import spending
from metrics.judges.prompt import Prompt
from metrics.judges.spending import Estimate
from metrics.metric import Columns

TITLE = "Audit of judges"
FLAGS = ("metric", "dataset", "quality", "split")
PAIRS_PROMPT = prompts.read("pairs", Path(__file__).with_name("pairs.toml").read_bytes(), "pairs.toml")
NEUTRAL = " That is what I wanted to say about this."
REVERSED = "Here the scale is reversed: the lowest number is the best rating, the highest number the worst."
REPLACEMENTS = {"conversation": "dialogue", "conversations": "dialogues", "reply": "response", "replies": "responses",
         "judge": "assess", "judged": "assessed", "relevant": "related", "whole": "integer", "steps": "stages"}
"""Replacements for words of a prompt, to reword it."""

SENTENCES = {
    "retest": ("asked again", "the correlation of two answers to the same question is only {value}"),
    "options": ("options or scale reversed", "the correlation with scores in the usual order is only {value}"),
    "paraphrase": ("other words", "the correlation with scores of the original prompt is only {value}"),
    "verbosity": ("neutral sentence appended", "a neutral sentence {direction} scores by {size} standard deviations"),
    "position": ("first of two replies", "the share of pairs that the first reply wins is {size} {direction} one half"),
    "length": ("length at equal quality",
               "at equal quality, a standard deviation of length {direction} scores by {size}"),
    "family": ("its own family", "at equal quality, replies of its family score {value} standard deviations higher"),
    "unread": ("without a score", "a share of {value} of the questions was refused or got no readable answer"),
    "agreement": ("correlation with people", "a correlation with people ({value}) is not established"),
    "kappa": ("weighted kappa with votes", "agreement with votes beyond chance (kappa {value}) is not established"),
    "offset": ("mean difference from people", "scores are on average {size} of the scale {direction} than the ratings")}
"""The title of each check, and the sentence shown if it is flagged."""
DIRECTIONS = {"verbosity": ("raises", "lowers"), "position": ("above", "below"), "length": ("raises", "lowers"),
              "offset": ("higher", "lower")}
"""Words for a value above or below 0."""
FAMILIES = (r"gpt-?(?:[345]|oss)|chatgpt|davinci|(?<![a-z0-9])o[1-9](?![0-9])", "claude|opus|sonnet|haiku",
            "gemini|gemma|lamda", "llama", "mistral|mixtral|ministral", "qwen|qwq", "deepseek")
"""Patterns of model names, one for each developer."""
LIMITS = ("A check says \"look at this\" if its whole interval is beyond the limit or, for a limit with "
          "\"significantly\", if not all of its interval is above it; \"inconclusive\" if the interval crosses the "
          "limit. docs/judges.md says how often a fair judge is "
          "flagged and a biased judge caught.")
SIGNS = {"at least": "≥ {}", "at most": "≤ {}", "within": "± {}", "proved above": "significantly > {}"}


def study(request: StudyRequest) -> Findings:
    rows: list[dict[str, object]] = []
    grids, remarks, failures = [], [], []
    for chosen in request.plan.chosen:
        if not isinstance(chosen.metric, Judge | LocalJudge):
            raise BadConfig(f"{chosen.label} is not a judge; name one: --metric judge:PROMPT[lm=NAME] or [model=NAME]")
        for dataset in request.datasets():
            title = f"{chosen.label} on {dataset.card.name}"
            try:
                quality, checks, remark = audit_judge(chosen.metric, dataset, request)
            except MetricError as error:
                failures.append(f"{title}: {error}")
                continue
            rows += [{"judge": chosen.label, "dataset": dataset.card.name, "quality": quality.name,
                      **dataclasses.asdict(check), "flagged": check.flagged} for check in checks]
            grids.append(Grid(title, f"{chosen.label}: {quality.name}",
                              ("check", "value", "95 %", "limit", "verdict"), tuple(map(_line, checks)),
                              f"{dataset.card.name}, {dataset.kind} data, {len(dataset.items)} items"))
            remarks += [f"{title}: look at this: {_sentence(check)}." for check in checks if check.flagged]
            remarks.append(f"{title}: {remark}")
    if not rows and not failures:
        raise BadConfig("nothing to audit: no requested dataset is available")
    return Findings(tuple(grids), (*remarks, LIMITS), {"check": rows}, failures=tuple(failures))


def _sentence(check: Check) -> str:
    return SENTENCES[check.name][1].format(value=number(check.value), size=number(abs(check.value)),
                                           direction=DIRECTIONS.get(check.name, ("", ""))[check.value < 0])


def _line(check: Check) -> tuple[str, ...]:
    interval = f"{number(check.low)} to {number(check.high)}" if check.measured else ""
    return (SENTENCES[check.name][0], number(check.value), interval,
            SIGNS[check.rule].format(number(check.limit)),
            ": ".join(filter(None, ("look at this" * check.flagged, check.note))) or (
                "within" if check.within else "inconclusive"))


def audit_judge(metric: Judge | LocalJudge, dataset: Dataset, request: StudyRequest,
                ) -> tuple[Quality, list[Check], str]:
    """Return the quality, the checks of a judge on a dataset, and a remark about its cost and the votes."""
    models, rng = request.workspace.models, np.random.default_rng(request.settings.seed)
    quality = _quality(metric.prompt, request.plan.qualities(dataset.card))
    metric = metric.about([quality])
    (people,) = judged(dataset, [quality])
    low = quality.low if quality.low is not None else float(np.nanmin(people.means))
    high = quality.high if quality.high is not None else float(np.nanmax(people.means))
    rated = [(item, (row[np.isfinite(row)] - low) / (high - low)) for item, row in zip(
        dataset.items, people.votes, strict=True) if np.isfinite(row).any() and metric.takes(item)]
    if not rated:
        raise CannotScore("no rated item has what the prompt needs")
    items, votes = [item for item, _ in rated], [row for _, row in rated]
    contexts = np.unique([_text(item.context) or item.id for item in items], return_inverse=True)[1]
    conditions = _conditions(metric, items, _pairs(items, contexts, rng), dataset.card.language)
    if isinstance(metric, Judge):
        requests = sum((judge.estimate(asked, models) for judge, asked in conditions.values()), Estimate())
        sys.stderr.write(f"{metric.card.name}: {requests.line(models.choice)}\n")
    start, spent_before = time.monotonic(), spending.of_run(models).totals
    columns = {name: judge.score(asked, models) for name, (judge, asked) in conditions.items()}
    seconds = time.monotonic() - start
    answers = {name: _column_about(quality, scored) for name, scored in columns.items()}
    family = related_names(metric.model if isinstance(metric, Judge) else metric.lm)
    related = np.array([bool(re.search(family, (item.system or "").casefold())) for item in items])
    words = [len((item.response.text if item.response else _text(item.context)).split()) for item in items]
    evidence = Evidence(
        ratings=np.array([row.mean() for row in votes]), mean_squares=np.array([(row**2).mean() for row in votes]),
        vote_counts=np.array(list(map(len, votes)), dtype=float), words=np.array(words, dtype=float), contexts=contexts,
        unread=_unread(metric.prompt, columns["scores"], answers), family=related if related.any() else None,
        **_evidence(metric.prompt, answers))
    count = (metric.samples if isinstance(metric, Judge) else 1) * sum(
        len({question for item in asked for question in prompts.questions(judge.prompt, item)})
        for judge, asked in conditions.values())
    cost = spending.of_run(models).line(spent_before) if isinstance(metric, Judge) else "no retest of a local judge"
    return quality, audit.checks_of(evidence, rng, request.draws), (
        f"{count:,} questions in {seconds:.0f} s; {cost}. Weighted kappa of people's single votes with each other: "
        f"{number(audit.kappa_of_votes(votes))}.")


def _quality(prompt: Prompt, qualities: Sequence[Quality]) -> Quality:
    """Return the first quality that the prompt asks about, else overall quality, else the dataset's first."""
    for names in ({quality.name for quality in prompt.qualities}, {"overall"}):
        for quality in qualities:
            if names & {quality.dimension, quality.name.casefold()}:
                return quality
    return qualities[0]


def _conditions(metric: Any, items: Sequence[Item], pairs: Sequence[tuple[Item, Item]], language: str,
                ) -> dict[str, tuple[Any, list[Item]]]:
    """Return the judge and the items of each condition."""
    prompt = metric.prompt
    conditions = {"scores": (metric, list(items))}
    for name, changed in (("options", _swapped(prompt)), ("paraphrase", _reworded(prompt))):
        if changed != prompt:
            conditions[name] = metric.variant(prompt=changed), list(items)
    if isinstance(metric, Judge):
        conditions["retest"] = metric.variant(first_sample=metric.samples), list(items)
    if primary_language(language) == "en" and all(item.response for item in items):
        conditions["lengthened"] = metric, [dataclasses.replace(item, response=dataclasses.replace(
            item.response, text=item.response.text.rstrip() + NEUTRAL)) for item in items if item.response]
    if pairs:
        last_quality, is_partial = prompt.qualities[-1], len(prompt.qualities) > 1 and not prompt.rates
        criterion = "all things considered" if is_partial else last_quality.description.strip() or last_quality.name
        chooser = metric.variant(prompt=dataclasses.replace(PAIRS_PROMPT, qualities=(
            dataclasses.replace(PAIRS_PROMPT.qualities[0], description=criterion),)))
        conditions |= {name: (chooser, [_with_both_replies(*pair[::step]) for pair in pairs])
                       for name, step in (("first", 1), ("second", -1))}
    return conditions


def _with_texts(prompt: Prompt, change: Callable[[str], str]) -> Prompt:
    qualities = tuple(dataclasses.replace(quality, description=change(quality.description), steps=change(quality.steps))
                      for quality in prompt.qualities)
    return dataclasses.replace(prompt, qualities=qualities, system=change(prompt.system), turn=change(prompt.turn),
                               dialogue=change(prompt.dialogue))


def _swapped(prompt: Prompt) -> Prompt:
    if prompt.answer == "yes":
        return _with_texts(prompt, lambda text: text.replace("Yes or No", "No or Yes"))
    turn, dialogue = (text and f"{REVERSED}\n\n{text}" for text in (prompt.turn, prompt.dialogue))
    return dataclasses.replace(prompt, turn=turn, dialogue=dialogue)


def _reworded(prompt: Prompt) -> Prompt:
    return _with_texts(prompt, lambda text: re.sub(
        r"\{[a-z_]+\}|[A-Za-z]+", lambda word: REPLACEMENTS.get(word[0], word[0]), text))


def _pairs(items: Sequence[Item], contexts: Codes, rng: np.random.Generator) -> list[tuple[Item, Item]]:
    """Return two different replies, in random order, to each context with at least two."""
    pairs = []
    for context in np.unique(contexts):
        replies = {item.response.text.strip(): item for item, item_context in zip(items, contexts, strict=True)
                   if item_context == context and item.response and item.response.text.strip()}
        if len(replies) > 1:
            first, second = rng.choice(len(replies), 2, replace=False)
            pairs.append((list(replies.values())[first], list(replies.values())[second]))
    return pairs


def _with_both_replies(first: Item, second: Item) -> Item:
    """Return an item with two replies, for the question of which is better."""
    replies = tuple(Reference(item.response.text) for item in (first, second) if item.response)
    return dataclasses.replace(first, references=replies)


def _column_about(quality: Quality, columns: Columns) -> Vector:
    """Return the judge's column for a quality, on the judge's scale."""
    name = next(iter(columns))
    return columns.get(of_quality(name, quality.dimension), columns[name])


def _unread(prompt: Prompt, columns: Columns, answers: Mapping[str, Vector]) -> Vector:
    has_part_columns = len(prompt.columns) > 1 and prompt.answer != "json"
    parts = list(columns.values())[1:] if has_part_columns else [answers["scores"]]
    return np.asarray(np.isnan(parts).mean(axis=0), dtype=float)


def _evidence(prompt: Prompt, answers: Mapping[str, Vector]) -> dict[str, Any]:
    """Return answers as fields of `Evidence`, on a scale of 0 to 1."""
    low, high = prompt.qualities[-1].low, prompt.qualities[-1].high

    def scaled(values: Vector) -> Vector:
        if prompt.answer == "yes":
            return 1 / (1 + np.exp(-values))
        return values if len(prompt.qualities) > 1 and not prompt.rates else (values - low) / (high - low)

    evidence = {name: scaled(values) for name, values in answers.items() if name not in {"first", "second"}}
    if prompt.answer != "yes" and "options" in evidence:
        evidence["options"] = 1 - evidence["options"]
    if "first" in answers:  # from 1 (the first reply is better) to 2
        orders = np.array([answers["first"], answers["second"]])
        choices = np.where(np.isfinite(orders), (orders < 1.5) + 0.5 * (orders == 1.5), np.nan)
        evidence |= {"first_preferred": choices.mean(axis=0), "pair_contexts": np.arange(float(orders.shape[1]))}
    return evidence


def related_names(model: str) -> str:
    """Return a pattern of the names of related models: of the same developer, or else with the same first word."""
    name = model.rpartition("/")[2].casefold()
    word = (re.findall("[a-z]{3,}", name) or [name])[0]
    return "|".join(names for names in FAMILIES if re.search(names, name)) or f"(?<![a-z]){re.escape(word)}(?![a-z])"


def _text(turns: Sequence[Utterance]) -> str:
    return " ".join(turn.text for turn in turns)
