"""`harness list datasets|metrics|models`: list the datasets, the metrics or the pretrained models."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import BenchmarkError
from benchmarks.storage import store
from metrics import registry
from metrics.errors import BrokenPlugin
from metrics.models import catalogue, weights


def configure(parser: argparse.ArgumentParser) -> None:
    """Which of the three."""
    parser.add_argument("kind", choices=("datasets", "metrics", "models"))


def run(args: argparse.Namespace) -> int:
    """Print a line each."""
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
    """The models that can be fetched, then any others that are here."""
    here = {model.name: model.origin for model in weights.here(home) if not isinstance(model, str)}
    lines = []
    for name, card in catalogue.cards().items():
        origin = here.pop(name, "") or ("home" if catalogue.folder(card, home).is_dir() else card.how)
        lines.append(f"{name:<20} {card.kind:<8} {card.parameters / 1e6:>6,.0f} M {card.size / 1e6:>6,.0f} MB  "
                     f"{card.licence:<18} {origin}")
    return lines + [f"{name:<20} {origin}" for name, origin in here.items()]
