"""`harness train METRIC`: Train the weights of a metric on dialogue corpora.

    harness train deb --corpus dailydialog
    harness train grade --recipe paper --device cuda
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path

from benchmarks.corpora import corpora
from benchmarks.corpora.files import CARDS
from benchmarks.errors import BenchmarkError
from harness.commands._arguments import POSITIVE_COUNT, add
from harness.errors import BadConfig, HarnessError
from harness.learning import train
from metrics.errors import MetricError, MissingResource
from metrics.training import trainables


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metric", nargs="*", metavar="METRIC",
                        help="trainable metric or shared model: NAME or NAME[option=value,...]")
    add(parser, "all: train everything that this command has not trained yet")
    add(parser, "recipe NAME: small (as shipped, the default) or paper (as in the metric's paper)")
    add(parser, "set NAME=VALUE: setting of the recipe, such as rate=2e-5 or batch=16; repeatable", dest="settings")
    add(parser, "eight-bits: store large matrices with eight bits instead of float16")
    add(parser, "encoder", "lm", "corpus NAME|FILE: corpus to use instead of the recipe's; repeatable", "device")
    add(parser, "precision: auto: bf16 on CUDA, else fp32 (default)", choices=("auto", "fp32", "bf16"))
    add(parser, "seed")
    add(parser, "steps N: number of steps, instead of the recipe's", type=POSITIVE_COUNT)
    add(parser, "minutes M: stop at the first evaluation after M minutes; repeat with a larger M to continue")
    add(parser, "out DIR: folder of the checkpoint, or parent of several (default: in the home)")
    add(parser, "fresh: start from scratch", "offline")


def run(args: argparse.Namespace) -> int:
    """Train; return 1 if one of several metrics failed, else 0."""
    if bool(args.metric) == args.all:
        raise BadConfig("give one or more METRIC, or --all")
    if args.all and args.recipe not in ("", "small"):
        raise BadConfig(f"--all trains the small recipes; for --recipe {args.recipe}, give one or more METRIC")
    if args.all and not args.corpus and not any(corpora.path(name, args.home).is_file() for name in CARDS):
        raise BadConfig(f"no corpora in {args.home}; run `harness fetch --corpora` or `harness import FOLDER`")
    load = functools.cache(lambda name: corpora.load(name, args.home))
    names = trainables.shipped() if args.all else tuple(
        trainables.with_recipe(name, args.recipe, args.encoder) for name in args.metric)
    multiple = len(names) > 1 or args.all
    untrained: dict[str, dict[str, str]] = {"failed": {}, "left out": {}}
    for name in names:
        try:
            _train(name, args, load, multiple)
        except KeyboardInterrupt:
            repeat = "without --fresh " * args.fresh + "to continue from the last evaluation"
            print(f"harness: {name} stopped; repeat the command {repeat}, or with --fresh to start again",
                  file=sys.stderr)
            return 130
        except Exception as error:
            if not multiple:
                raise
            state = "left out" if args.all and isinstance(error, MissingResource) else "failed"
            is_expected = isinstance(error, BenchmarkError | MetricError | HarnessError)
            reason = f"{'' if is_expected else type(error).__name__ + ': '}{' '.join(str(error).split())}"
            if reason not in untrained[state].values():
                print(f"{name} {state}: {reason}", file=sys.stderr)
            untrained[state][name] = reason
    if args.all or untrained["failed"]:
        summary = "".join(f"; {state}: {', '.join(reasons)}" for state, reasons in untrained.items() if reasons)
        print(f"{len(names) - sum(map(len, untrained.values()))} of {len(names)} trained{summary}")
    return 1 if untrained["failed"] else 0


def _train(name: str, args: argparse.Namespace, load: functools._lru_cache_wrapper[object], multiple: bool) -> None:
    """Train each part of a metric, unless the same command has trained it, and describe the checkpoint."""
    request = train.Request(args.encoder, args.lm, tuple(args.corpus), args.device, args.precision, args.seed,
                            args.steps, args.offline, tuple(args.settings))
    parts = trainables.parts(name)
    trained: dict[str, Path] = {}
    for part in parts:
        in_folder = args.out and (multiple or len(parts) > 1)
        out = args.out / trainables.choose(name, part).checkpoint_name if in_folder else args.out
        plan = train.plan(name, request, args.home, load, out, part, trained)  # type: ignore[arg-type]
        if args.out:
            trained[plan.learner.checkpoint_name] = plan.folder
        if saved := None if args.fresh else plan.existing(args.eight_bits):
            print(f"{plan.learner.label}: already trained by the same command ({saved.folder}); retrain with --fresh")
            continue
        saved = train.train(plan, train.say, args.fresh, args.eight_bits, args.minutes)
        card, encoder = saved.card, f", for {saved.encoder}" if saved.encoder else ""
        print(f"{plan.learner.label}: {card['steps']} steps in {card['seconds']:.0f} s, lowest validation loss "
              f"{card['held_out']:.4f} after {card['best_step']}; {saved.size / 1e6:.2f} MB{encoder}")
        for key, value in card["told"].items():
            print(f"  {key}: {value}")
        print(f"  {saved.folder}")
        if args.out is None:
            print("  runs with this encoder now use these weights instead of shipped ones; delete the folder to undo")
