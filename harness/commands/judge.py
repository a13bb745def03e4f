"""`harness judge try`: try a judge's prompt on one item."""

from __future__ import annotations

import argparse

from benchmarks import registry as datasets
from benchmarks.dataset import Item
from benchmarks.errors import nearest
from harness.errors import BadConfig
from metrics import registry
from metrics.external.libraries.judge import Judge
from metrics.judges import prompt
from metrics.judges.local import LocalJudge
from metrics.judges.prompt import Prompt
from metrics.models.service import Models


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do."""
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    one = what.add_parser("try", help="ask about one item, and show what was asked and what was read")
    one.add_argument("judge", help="judge:PROMPT[lm=NAME] or judge:PROMPT[model=NAME,...], as for harness run --metric")
    one.add_argument("--dataset", required=True, dest="of", metavar="NAME", help="a dataset")
    one.add_argument("--item", metavar="ID", help="an item of it (default: the first)")
    one.add_argument("--dry", action="store_true", help="show what would be sent, and send nothing")


def run(args: argparse.Namespace) -> int:
    """Ask, and print what was asked and read."""
    for line in _try(args):
        print(line)
    return 0


def _try(args: argparse.Namespace) -> list[str]:
    if not args.judge.startswith("judge:"):
        raise BadConfig(f"{args.judge}: a judge is asked for as judge:PROMPT[model=NAME]")
    metric = registry.choose(args.judge).metric
    if not isinstance(metric, Judge | LocalJudge):
        raise BadConfig(f"{args.judge} is no judge")
    item = _item(datasets.load(args.of, args.home).items, args.item)
    questions = prompt.questions(metric.prompt, item)
    lines = [f"--- {message['role']}\n{message['content']}" for one in questions for message in one.messages]
    if isinstance(metric, LocalJudge):
        columns = {} if args.dry else metric.score([item], Models(args.home))
        lines += [f"{name}: {column[0]:g}{_meaning(metric.prompt, name)}" for name, column in columns.items()]
    elif not args.dry:
        read = metric.read(questions, Models(args.home))
        for question, samples in zip(questions, read, strict=True):
            for quality in question.qualities:
                values = [f"{sample[quality.name].value:g}" for sample in samples if quality.name in sample]
                lines.append(f"{quality.name}: {', '.join(values) or 'nothing that could be read'}"
                             f"{_meaning(metric.prompt, quality.name) if values else ''}")
    return lines


def _meaning(asked: Prompt, name: str) -> str:
    """What the number of a column is."""
    if asked.answer == "yes":
        return "  (log p(Yes) - log p(No): above 0 where Yes is likelier)"
    scales = [f"{one.low:g} to {one.high:g}" for one in asked.qualities
              if name in {one.name, f"{asked.name}-{one.name}"}]
    return f"  (from {scales[0]})" if scales else "  (mean of the qualities, each scaled to 0 to 1)"


def _item(items: tuple[Item, ...], name: str | None) -> Item:
    if name is None:
        return items[0]
    by_id = {item.id: item for item in items}
    if name not in by_id:
        raise BadConfig(f"no item {name!r} in this dataset; {nearest(name, by_id)}")
    return by_id[name]
