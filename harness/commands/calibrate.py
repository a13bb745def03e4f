"""`harness calibrate METRIC`: Fit the weights of a composite on development datasets.

    harness calibrate weighted
    harness calibrate mme-crs --out evidence.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import plural
from benchmarks.storage.files import write_atomically
from harness.commands._arguments import add
from harness.errors import BadConfig
from harness.learning import calibrate
from harness.learning.calibrate import LeftOut
from harness.run.plan import load
from harness.run.prepare import model_choice
from harness.run.settings import Settings, command_line, settings
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from metrics import evidence, registry
from metrics.composition import Composite, ranked_weights
from metrics.models.service import Models

MAX_WEIGHTS = 4  # weights printed per quality


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("composite", metavar="METRIC", help="composite: NAME or NAME[option=value,...]")
    add(parser, "dataset: dataset, repeatable (default: all imported or fetched development datasets)")
    add(parser, "draw N: number of items to draw from each dataset, 0 for all (default: set by the composite)")
    add(parser, "seed", "encoder", "lm", "device", "offline")
    add(parser, "scores DIR: results whose scores are reused and extended (default: ./results)",
        default=Path("results"))
    add(parser, "out FILE: file for the weights (default: in the home)")


def run(args: argparse.Namespace) -> int:
    metric = registry.choose(args.composite).metric
    if not isinstance(metric, Composite) or not metric.learns:
        raise BadConfig(f"{args.composite} has no weights to fit; calibrate a composite such as mme-crs or "
                        "regression[inputs=deb+cosine]")
    models, left_out = Models(args.home, model_choice(settings(args))), LeftOut()
    sample_size = metric.sample_size if args.draw is None else args.draw
    flags = {"dataset": args.dataset, "draw": [] if args.draw is None else args.draw}
    flags |= {flag: value for flag in ("seed", "encoder", "lm") if (value := getattr(args, flag))}
    command = command_line("calibrate", args.composite, flags=flags)
    learned = calibrate.calibrate(metric, _scorers(args, models), models, sample_size, args.seed, left_out, command)
    path = args.out or evidence.user_path(metric.card.name, learned, args.home)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, evidence.text(metric.card.name, learned))
    print(f"{metric.card.name}: weights from {plural(len(learned.parts), 'dataset')}: {', '.join(learned.datasets)}")
    for name, reason in left_out:
        print(f"left out: {name}: {reason}")
    for dimension, weights in ranked_weights(metric, learned):
        shown = ", ".join(f"{name} {weight:.2f}" for name, weight in weights[:MAX_WEIGHTS])
        print(f"  {dimension:<26} {shown}{', ...' if len(weights) > MAX_WEIGHTS else ''}")
    print(path)
    if args.out is None:
        encoders = dict.fromkeys(value.partition("@")[0] for signature in learned.signatures.values()
                                 for part, value in signature.items() if part.endswith("encoder"))
        runs = f"runs with {' and '.join(encoders)}" if encoders else "runs"
        print(f"{runs} now use these weights instead of the shipped ones; delete the file to undo")
    return 0


def _scorers(args: argparse.Namespace, models: Models) -> Iterator[Scorer]:
    """Yield a scorer per dataset, so that only one is in memory."""
    store = ScoreStore(args.scores / "scores")
    cards = [datasets.card(name) for name in dict.fromkeys(args.dataset)] or [
        card for card in datasets.cards().values() if card.split == "dev"]
    for card in cards:
        if dataset := load(card, args.home, Settings(data="real")):
            yield Scorer(dataset, models, store)
        elif args.dataset:
            raise BadConfig(f"{card.name}: only the bundled sample is available, whose raters are simulated; "
                            f"`harness fetch {card.name}` or import it first")
