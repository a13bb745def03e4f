"""`harness list datasets|metrics|models`: List datasets, metrics or pretrained models."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import BenchmarkError
from benchmarks.storage import store
from metrics import registry
from metrics.errors import BrokenPlugin
from metrics.models import catalogue, small_lm, weights


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("datasets", "metrics", "models"))


def run(args: argparse.Namespace) -> int:
    lines = {"datasets": _datasets, "metrics": _metrics, "models": _models}[args.kind]
    for line in lines(args.home):
        print(line)
    return 0


def _datasets(home: Path) -> list[str]:
    lines = []
    for card in datasets.cards().values():
        try:
            stored = store.note(home, card.name)
            here: str = stored.origin if stored else "sample"
        except BenchmarkError:
            here = "damaged"
        lines.append(f"{card.name:<18} {card.split:<5} {card.level:<9} {card.size:>6} rows "
                     f"{len(card.qualities):>3} qualities  {here:<9} {card.title}")
    return lines


def _metrics(_home: Path) -> list[str]:
    lines = []
    for name in registry.names():
        try:
            card = registry.card(name)
        except BrokenPlugin as error:
            lines.append(str(error))
            continue
        needs = ", ".join((*card.needs, *card.resources, *card.models)) or "nothing"
        lines.append(f"{name:<18} {card.family:<10} {'/'.join(card.levels):<14} needs {needs:<20} {card.title}"
                     + (f"  ({registry.origin(name)})" if registry.origin(name) else ""))
    return lines + list(registry.shadowing())


def _models(home: Path) -> list[str]:
    """List the models that can be downloaded, the shipped one, then any others found."""
    here = {model.name: model.origin for model in weights.here(home)}
    lines = [f"{'name':<20} {'kind':<8} parameters   to fetch  {'licence':<18} where it is, or how it comes"]
    for name, card in catalogue.cards().items():
        origin = here.pop(name, "") or ("home" if catalogue.folder(card, home).is_dir() else card.how)
        lines.append(f"{name:<20} {'lm, chat' if card.chat else card.kind:<8} {card.parameters / 1e6:>8,.0f} M "
                     f"{card.size / 1e6:>7,.0f} MB  {card.licence:<18} {origin}")
    lines.append(f"{small_lm.SHOWN:<20} {'lm':<8} {3:>8} M {'':>10}  {'Apache-2.0':<18} shipped with the package")
    return [*lines, *(f"{name:<20} {origin}" for name, origin in here.items()),
            "kind: use with --encoder, --lm or --vectors; judges need an lm with a chat template"]
