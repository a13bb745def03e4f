"""`harness list datasets|metrics|models|studies [TEXT]`: List datasets, metrics, pretrained models or studies.

    harness list datasets
    harness list metrics lexical
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import BenchmarkError, UnknownDataset, plural
from benchmarks.storage import store
from harness.errors import BadConfig
from harness.scoring import score
from metrics import registry
from metrics.errors import BrokenPlugin, MissingResource
from metrics.models import catalogue, checkpoint, small_lm, weights


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(KINDS))
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only lines that contain this text")


def run(args: argparse.Namespace) -> int:
    lines = [line for line in KINDS[args.kind](args.home) if args.text.casefold() in line.casefold()]
    if not lines:
        raise BadConfig(f"no line of `harness list {args.kind}` contains {args.text!r}")
    print(*lines, sep="\n")
    return 0


def _datasets(home: Path) -> Iterator[str]:
    for card in datasets.cards().values():
        size = card.size
        try:
            if stored := store.stored_record(home, card.name):
                state: str = stored.origin
            else:
                state, size = "sample", len(datasets.sample(card).items)
        except UnknownDataset:
            state = "to fetch"
        except BenchmarkError:
            state = "damaged"
        yield (f"{card.name:<18} {card.split:<6} {card.level:<9} {size:>6} items "
               f"{plural(len(card.qualities), 'quality', 'qualities'):>13}  {state:<9} {card.title}")


def _metrics(_home: Path) -> Iterator[str]:
    for name in registry.names():
        try:
            metric = registry.choose(name).metric
        except BrokenPlugin as error:
            yield str(error)
            continue
        card, needs = metric.card, ", ".join(score.needs(metric)) or "nothing"
        origin = f"  ({registry.plugin_package(name)})" if registry.plugin_package(name) else ""
        yield (f"{name:<18} {card.family:<10} {'/'.join(card.levels):<14} needs {needs:<20} {card.title}{origin}")
    yield from registry.ignored_plugins()


def _models(home: Path) -> Iterator[str]:
    """List the models that can be downloaded, the shipped model, and then other models on this machine."""
    available = {model.name: model.origin for model in weights.installed(home)}
    yield f"{'name':<22} {'kind':<8} parameters   to fetch  {'licence':<18} location, or how to get it"
    for name, card in catalogue.cards().items():
        origin = available.pop(name, "") or ("home" if catalogue.folder(card, home).is_dir() else card.fetch_command)
        yield (f"{name:<22} {'lm, chat' if card.chat else card.kind:<8} {card.parameters / 1e6:>8,.0f} M "
               f"{card.size / 1e6:>7,.0f} MB  {card.licence:<18} {origin}")
    try:
        origin = small_lm.weights(checkpoint.find(small_lm.NAME, "", home)).origin
    except MissingResource as error:
        origin = str(error)
    yield f"{small_lm.DISPLAY_NAME:<22} {'lm':<8} {3:>8} M {'':>10}  {'Apache-2.0':<18} {origin}"
    yield from (f"{name:<22} {origin}" for name, origin in available.items())
    yield "kind: the option that takes the model (--encoder, --lm or --vectors); judges need the kind `lm, chat`"


def _studies(_home: Path) -> Iterator[str]:
    from harness import studies  # imports the statistics, which the other lists do not need

    yield from (f"{name:<18} {studies.load(name).TITLE}" for name in studies.names())


KINDS = {"datasets": _datasets, "metrics": _metrics, "models": _models, "studies": _studies}
