"""`harness judge try JUDGE`: Try the prompt of a judge on an item.

    harness judge try "judge:relevance[lm=smollm2-135m]" --dataset fed-turn
    harness judge try "judge:llm-eval[model=any]" --dataset topical-usr --dry
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks import registry as datasets
from benchmarks.dataset import Item
from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.scoring.score import about
from metrics import registry
from metrics.errors import Unreadable
from metrics.external.libraries.judge import Judge
from metrics.judges import prompt
from metrics.judges.local import LocalJudge
from metrics.judges.prompt import Prompt, Question
from metrics.models.service import Models


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    trial = actions.add_parser("try", help="show the prompt for an item and the parsed answer")
    trial.add_argument("judge", help="judge:PROMPT[lm=NAME] or judge:PROMPT[model=NAME,...]")
    trial.add_argument("--dataset", required=True, dest="of", metavar="NAME", help="dataset of the item")
    trial.add_argument("--item", metavar="ID", help="id of the item (default: the first)")
    trial.add_argument("--dry", action="store_true", help="show the prompt without sending it")


def run(args: argparse.Namespace) -> int:
    if not args.judge.startswith("judge:"):
        raise BadConfig(f"{args.judge}: expected judge:PROMPT[model=NAME]")
    dataset = datasets.load(args.of, args.home)
    metric = about(registry.choose(args.judge).metric, dataset)
    if not isinstance(metric, Judge | LocalJudge):
        raise BadConfig(f"{args.judge} is not a judge")
    item = _item(dataset.items, args.item)
    questions = prompt.questions(metric.prompt, item)
    for question in questions:
        for message in question.messages:
            print(f"--- {message['role']}\n{message['content']}")
    if args.dry:
        return 0
    if isinstance(metric, Judge):
        return _asked(metric, questions, Models(args.home))
    for name, column in metric.score([item], Models(args.home)).items():
        print(f"{name}: {column[0]:g}{_meaning(metric.prompt, name)}")
    return 0


def _asked(metric: Judge, questions: Sequence[Question], models: Models) -> int:
    """Print the scores of each answer; return 1 if one could not be read."""
    try:
        readings = metric.read(questions, models)
    except Unreadable as error:
        print(error)
        return 1
    missing = 0
    for question, samples in zip(questions, readings, strict=True):
        for name in (quality.name for quality in question.qualities):
            values = ", ".join(f"{sample[name].value:g}" for sample in samples if name in sample)
            print(f"{name}: {values}{_meaning(metric.prompt, name) if values else 'no answer could be read'}")
            missing += not values
    return 1 if missing else 0


def _meaning(prompt: Prompt, name: str) -> str:
    if prompt.answer == "yes":
        return "  (log p(Yes) - log p(No): above 0 if Yes is likelier)"
    scales = [f"{quality.low:g} to {quality.high:g}" for quality in prompt.qualities
              if name in {quality.name, f"{prompt.name}-{quality.name}"}]
    return f"  (from {scales[0]})" if scales else "  (mean of the qualities, scaled to 0 to 1)"


def _item(items: tuple[Item, ...], name: str | None) -> Item:
    if name is None:
        return items[0]
    by_id = {item.id: item for item in items}
    if name not in by_id:
        raise BadConfig(f"no item {name!r} in this dataset; {nearest(name, by_id)}")
    return by_id[name]
