"""`harness train METRIC`: train the weights of a metric from corpora of dialogues."""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path

from benchmarks.corpora import corpora
from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError
from harness.learning import train
from harness.learning.train import Training
from metrics.errors import MetricError, MissingResource
from metrics.training import trainables
from metrics.training.checkpoint import Checkpoint


def configure(parser: argparse.ArgumentParser) -> None:
    """What to train, on what, where."""
    parser.add_argument("metric", nargs="*", metavar="METRIC",
                        help="a trainable metric or shared model, NAME or NAME[option=value,...]")
    parser.add_argument("--all", action="store_true",
                        help="everything that can be trained and was not yet by the same command")
    parser.add_argument("--recipe", metavar="NAME", default="",
                        help="small (what is shipped, the default) or paper (what the metric's paper says)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="a setting of the recipe, such as rate=2e-5 or batch=16; may be repeated")
    parser.add_argument("--eight-bits", action="store_true",
                        help="keep large matrices in eight bits, a quarter of the size (default: float16)")
    parser.add_argument("--encoder", metavar="MODEL", default="", help="for which encoder (default: the embedded one)")
    parser.add_argument("--lm", metavar="MODEL", default="", help="the causal language model, where one is taken")
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME|FILE",
                        help="in place of the recipe's corpora; may be repeated")
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="as for `harness run`")
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16"),
                        help="auto: bf16 on CUDA, else fp32 (default)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for everything random (default: 0)")
    parser.add_argument("--steps", type=int, metavar="N", help="in place of the recipe's number")
    parser.add_argument("--minutes", type=float, metavar="M",
                        help="end at the first evaluation after so many minutes; the same command with more continues")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="the checkpoint's folder (default: in the home); of several each has one below it")
    parser.add_argument("--fresh", action="store_true", help="begin anew, whatever is there from before")
    parser.add_argument("--offline", action="store_true", help="never ask the hub for a model")


def run(args: argparse.Namespace) -> int:
    """Train what was asked for. 0: all is there; 1: of several, one failed."""
    if bool(args.metric) == args.all:
        raise BadConfig("say what to train: a METRIC or several, or --all")
    if args.steps is not None and args.steps < 1:
        raise BadConfig(f"--steps should be 1 or more, not {args.steps}")
    if args.seed < 0:
        raise BadConfig(f"--seed should be 0 or more, not {args.seed}")
    load = functools.cache(lambda name: corpora.load(name, args.home))
    names = trainables.shipped() if args.all else tuple(trainables.by_recipe(name, args.recipe, args.encoder)
                                                        for name in args.metric)
    lacking: dict[str, dict[str, str]] = {"failed": {}, "left out": {}}
    for name in names:
        try:
            _train(name, args, load, several=len(names) > 1 or args.all)
        except KeyboardInterrupt:
            print(f"harness: {name} stopped; the same command continues from its last evaluation, if it had one; "
                  "--fresh starts again", file=sys.stderr)
            return 130
        except Exception as error:
            if len(names) == 1 and not args.all:
                raise
            word = "left out" if args.all and isinstance(error, MissingResource) else "failed"
            if (reason := _reason(error)) not in lacking[word].values():
                print(f"{name} {word}: {reason}", file=sys.stderr)
            lacking[word][name] = reason
    if args.all or lacking["failed"]:
        rest = "".join(f"; {word}: {', '.join(some)}" for word, some in lacking.items() if some)
        print(f"{len(names) - sum(map(len, lacking.values()))} of {len(names)} are there{rest}")
    return 1 if lacking["failed"] else 0


def _reason(error: Exception) -> str:
    known = isinstance(error, BenchmarkError | MetricError | HarnessError)
    return f"{'' if known else type(error).__name__ + ': '}{' '.join(str(error).split())}"


def _train(name: str, args: argparse.Namespace, load: functools._lru_cache_wrapper[object], several: bool) -> None:
    request = train.Request(args.encoder, args.lm, tuple(args.corpus), args.device, args.precision, args.seed,
                            args.steps, args.offline, tuple(args.settings))
    parts = trainables.parts(name)
    for part in parts:
        out = args.out and args.out / trainables.choose(name, part).weights if several or len(parts) > 1 else args.out
        _train_part(train.plan(name, request, args.home, load, out, part), args)  # type: ignore[arg-type]


def _train_part(plan: Training, args: argparse.Namespace) -> None:
    saved = None if args.fresh else plan.there()
    if saved is not None:
        print(f"{plan.learner.label}: is there, trained by the same command ({saved.folder}); --fresh trains it anew")
        return
    saved = train.train(plan, train.say, args.fresh, args.eight_bits, args.minutes)
    print(_summary(plan, saved))
    if args.out is None:
        print("  runs with this encoder take these weights from now on, before any that are shipped; remove the folder "
              "to go back")


def _summary(plan: Training, saved: Checkpoint) -> str:
    card = saved.card
    encoder = f", for {saved.encoder}" if saved.encoder else ""
    facts = "".join(f"\n  {key}: {value}" for key, value in card["told"].items())
    return (f"{plan.learner.label}: {card['steps']} steps in {card['seconds']:.0f} s, the least held-out loss "
            f"{card['held_out']:.4f} after {card['best_step']}; {saved.size / 1e6:.2f} MB{encoder}{facts}\n"
            f"  {saved.folder}")
