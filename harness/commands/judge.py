"""`harness judge ACTION`: Try a judge's prompt, audit a judge, or view its answers.

    harness judge try "judge:relevance[lm=smollm2-135m]" --dataset fed-turn
    harness judge audit relevance --lm smollm2-135m --dataset topical-usr
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from benchmarks.dataset import Item
from benchmarks.errors import nearest, plural
from benchmarks.storage.files import write_atomically
from harness import own
from harness.commands._arguments import LIMITS, add
from harness.commands.study import carry_out
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import ItemScores, Results
from harness.run.settings import command_line, settings
from harness.scoring import score
from harness.studies import StudyRequest
from leaderboard.render.templates import templates
from metrics import registry
from metrics.errors import MetricError, MissingResource, Unreadable
from metrics.external.judge import Judge, LocalJudge
from metrics.judges import prompt
from metrics.judges.prompt import Prompt, Question
from metrics.models.service import Models

NO_ANSWERS = "no answers from this server are stored on this machine; use --url for another server"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    try_parser = actions.add_parser("try", help="show the prompt for an item and the parsed answer")
    try_parser.add_argument("judge", help="judge:PROMPT[lm=NAME] or judge:PROMPT[model=NAME,...]")
    add(try_parser, "dataset NAME: dataset of the item", required=True, dest="dataset_name")
    add(try_parser, "item ID: id of the item (default: the first)", "dry: show the prompt without sending it")
    audit_parser = actions.add_parser("audit", help="check a judge for bias and for agreement with people; print and "
                                      "write a card")
    audit_parser.add_argument("prompt", help="name or file of the prompt, or judge:PROMPT[...]")
    add(audit_parser, "lm NAME: judge on this machine", "model NAME: judge behind an endpoint")
    audit_parser.add_argument("--url", help="address of the endpoint (default: the environment's)")
    add(audit_parser, "dataset", required=True)
    add(audit_parser, "quality: quality to compare with (default: the prompt's)", "data")
    add(audit_parser, "sample: at most N items, as whole contexts (default: 100)", default=100)
    add(audit_parser, "seed", "device", "offline", *LIMITS,
        "out: results folder; card in DIR/studies/judges (default: ./results)")
    view_parser = actions.add_parser("view", help="write a local page with prompt, answers and score of every item")
    view_parser.add_argument("results", type=Path, nargs="?", default=Path("results"),
                             help="results of a run (default: ./results)")
    for action in (try_parser, audit_parser, view_parser):
        action.add_argument("--home", type=Path, default=argparse.SUPPRESS, metavar="DIR", help=argparse.SUPPRESS)
    view_parser.add_argument("--url", default="", help="address of the endpoint (default: the run's)")


def run(args: argparse.Namespace) -> int:
    return {"try": _try, "audit": _audit, "view": _view}[args.action](args)


def _view(args: argparse.Namespace) -> int:
    """Write the page; it contains texts that must stay on this machine, so no other command reads it."""
    sections = list(_sections(files.read(args.results), args.home, args.url))
    if not (count := sum(len(items) for *_, items in sections)):
        problem = next((f"{name}: {problem}" for name, _, problem, _ in sections if problem), "these results have no "
                       "judge; add one with `harness run --metric judge:...`")
        raise BadConfig(f"{args.results}: {problem}")
    path = args.results / "judge-answers.html"
    write_atomically(path, templates().get_template("answers.html").render(sections=sections).encode())
    print(f"answers about {plural(count, 'item')}: {path.resolve()}")
    return 0


def _sections(results: Results, home: Path, url: str) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Yield each judge and dataset with its items, and why it cannot be loaded or has no answers."""
    urls = dict(_urls(results))
    sampled = {entry.name for entry in results.datasets if entry.origin == "sample"}
    for points in results.points:
        card = datasets.card(points.dataset)
        dataset = datasets.sample(card) if points.dataset in sampled else datasets.load(points.dataset, home)
        by_id = {item.id: item for item in dataset.items}
        for name in sorted({metric for metric, _ in points.scores if metric.startswith("judge:")}):
            try:
                judge = score.restrict(registry.choose(name, seed=results.run.seed).metric, dataset)
            except MetricError as error:
                hint = "; run this command in the folder of the prompt" * isinstance(error, MissingResource)
                yield name, points.dataset, f"{error}{hint}", []
                continue
            if isinstance(judge, Judge):
                judge = dataclasses.replace(judge, url=url or urls.get(name, ""))
            items = []
            for row, item in enumerate(points.items):
                if item in by_id and isinstance(judge, Judge | LocalJudge):
                    turns = score.turns(by_id[item]) if score.by_turn(judge, dataset) else [by_id[item]]
                    items.append((item, _scores(points, name, row),
                                  [exchange for turn in turns for exchange in _exchanges(judge, turn, home)]))
            has_answers = any(answers or answers is None for *_, exchanges in items for _, answers in exchanges)
            yield name, points.dataset, "" if has_answers else NO_ANSWERS, items


def _urls(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the address of each judge behind an endpoint that the run names."""
    options = results.run.options
    for requested in (*options.get("metrics", ()), *options.get("beside", ())):
        with contextlib.suppress(MetricError):
            chosen = registry.choose(requested)
            if isinstance(chosen.metric, Judge):
                yield chosen.label, chosen.metric.url


def _scores(points: ItemScores, name: str, row: int) -> str:
    values = {column: values[row] for (metric, column), values in points.scores.items() if metric == name}
    people = {f"people, {quality}": means[row] for quality, means in points.human.items()}
    return "; ".join(f"{column} {value:.3g}" if math.isfinite(value) else f"{column} –"
                     for column, value in (values | people).items())


def _exchanges(judge: Judge | LocalJudge, item: Item, home: Path) -> Iterator[tuple[Question, Any]]:
    """Yield the questions about an item with their stored answers; None for a local judge, which stores none."""
    for question in prompt.questions(judge.prompt, item) if judge.takes(item) else ():
        yield question, judge.sampler(Models(home)).stored_answers(question) if isinstance(judge, Judge) else None


def _audit(args: argparse.Namespace) -> int:
    judge = args.prompt if args.prompt.startswith("judge:") else f"judge:{args.prompt}"
    name, options = registry.split(judge)
    flags = (f"{option}={value}" for option in ("lm", "model", "url") if (value := getattr(args, option)))
    options = ",".join(filter(None, (options, *flags)))
    judge = f"{name}[{options}]" if options else name
    args.lm = ""  # an option of the judge, not of the run
    args.dataset = own.import_paths(args.dataset, args.home)
    requested = dataclasses.replace(settings(args), metric=(judge,))
    repeat_command = command_line("judge", "audit", registry.without_folders(judge), flags={
        "dataset": args.dataset, "quality": args.quality, "sample": args.sample, "seed": args.seed})
    return carry_out("judges", StudyRequest(requested, args.home, args.out), repeat_command)


def _try(args: argparse.Namespace) -> int:
    if not args.judge.startswith("judge:"):
        raise BadConfig(f"{args.judge}: expected judge:PROMPT[lm=NAME] or judge:PROMPT[model=NAME,...]")
    dataset = datasets.load(args.dataset_name, args.home)
    metric = score.restrict(registry.choose(args.judge).metric, dataset)
    if not isinstance(metric, Judge | LocalJudge):
        raise BadConfig(f"{args.judge} is not a judge")
    items = {item.id: item for item in score.read_items(metric, dataset)}
    if args.item and args.item not in items:
        raise BadConfig(f"no item {args.item!r} in this dataset; {nearest(args.item, items)}")
    item = items[args.item or next(iter(items))]
    questions = prompt.questions(metric.prompt, item)
    for message in (message for question in questions for message in question.messages):
        print(f"--- {message['role']}\n{message['content']}")
    if args.dry:
        return 0
    if isinstance(metric, Judge):
        return _print_answers(metric, questions, Models(args.home))
    for name, column in metric.score([item], Models(args.home)).items():
        print(f"{name}: {column[0]:g}{_scale_note(metric.prompt, name)}")
    return 0


def _print_answers(metric: Judge, questions: Sequence[Question], models: Models) -> int:
    """Print the scores of each answer; return 1 if an answer could not be read."""
    try:
        readings = metric.sampler(models).sample_scores(questions)
    except Unreadable as error:
        print(error)
        return 1
    missing = 0
    for question, samples in zip(questions, readings, strict=True):
        for name in (quality.name for quality in question.qualities):
            values = ", ".join(f"{sample[name].value:g}" for sample in samples if name in sample)
            print(f"{name}: {values}{_scale_note(metric.prompt, name) if values else 'no answer could be read'}")
            missing += not values
    return 1 if missing else 0


def _scale_note(prompt: Prompt, name: str) -> str:
    if prompt.answer == "yes":
        return "  (log p(Yes) - log p(No): above 0 if Yes is more likely)"
    scales = [f"{quality.low:g} to {quality.high:g}" for quality in prompt.qualities
              if name in {quality.name, f"{prompt.name}-{quality.name}"}]
    return f"  (from {scales[0]})" if scales else "  (mean of the qualities, scaled to 0 to 1)"
