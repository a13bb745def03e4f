"""`harness list datasets|metrics`: list the datasets or the metrics."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import BenchmarkError
from benchmarks.storage import store
from metrics import registry
from metrics.errors import BrokenPlugin


def configure(parser: argparse.ArgumentParser) -> None:
    """Which of the two."""
    parser.add_argument("kind", choices=("datasets", "metrics"))


def run(args: argparse.Namespace) -> int:
    """Print a line each."""
    for line in _datasets(args.home) if args.kind == "datasets" else _metrics():
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


def _metrics() -> list[str]:
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
