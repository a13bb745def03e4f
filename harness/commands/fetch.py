"""`harness fetch NAME...|models|--all|--split SPLIT`: Download datasets, models, resources or corpora.

    harness fetch --split recent
    harness fetch fed-turn panel
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.corpora import corpora, sources
from benchmarks.corpora.files import CARDS
from benchmarks.dataset import Split
from benchmarks.errors import BadStore, BenchmarkError, nearest
from benchmarks.sources.fetch import LARGE, RESOURCES, fetch, fetch_resource, needs_registration
from benchmarks.storage import store
from benchmarks.storage.resources import path
from harness.commands._arguments import add
from harness.errors import BadConfig
from harness.scoring import pairs
from metrics import registry as metrics
from metrics.errors import MissingResource
from metrics.metric import options
from metrics.models import catalogue, checkpoint, hub


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="dataset, model, wordnet or conceptnet (see `harness list`); a metric such as panel for "
                             "its models; `models` for all models "
                             "whose terms need no acceptance; ORG/REPO for trained weights on the hub")
    add(parser, "all: all missing public datasets and resources except ConceptNet; continues after a failure")
    add(parser, "split: all missing public datasets of this split, such as recent")
    add(parser, "corpora: fetch training corpora instead: those named, else all missing corpora that have a source")
    add(parser, "accept-licence MODEL: confirm that you have read and accept the terms of this model")


def run(args: argparse.Namespace) -> int:
    """Fetch what is requested; return 0 if all of it was fetched, else 2."""
    if args.corpora:
        for name in args.names:
            corpora.card(name)
        missing = [name for name in sources.SOURCES if not corpora.path(name, args.home).is_file()]
        return _fetch_all(args.names or missing, args.home, lambda name, home: (
            f"{name:<22} {sources.fetch(name, home):>6} dialogues  (licence: {CARDS[name].licence})"))
    if [bool(args.names), args.all, bool(args.split)].count(True) != 1:
        raise BadConfig("give names, --all or --split SPLIT")
    models = catalogue.cards()
    names = (_missing(args.home, args.split) if args.all or args.split else
             [name for name, card in models.items() if not card.terms] if args.names == ["models"] else
             [part for name in args.names for part in _models_of(name)])
    known_names = (*models, *RESOURCES, *datasets.names())
    if unknown := next((name for name in names if name not in known_names and "/" not in name), None):
        raise BadConfig(f"unknown dataset, model or resource {unknown!r}; {nearest(unknown, known_names)}")
    for name in filter(models.get, names):
        print(f"{name:<18} {models[name].size / 1e6:>6.0f} MB to download, {models[name].licence}")
    restricted = [name for name in names if name in datasets.names() and needs_registration(datasets.card(name))]
    if restricted:
        url = datasets.card(restricted[0]).sources[0].url
        print(f"only available from the organisers after registration at {url}: {', '.join(restricted)}\n"
              "  then `harness import human_evaluation_data.zip`")
    status = _fetch_all([name for name in names if name not in restricted], args.home,
                        partial(_fetch, accepted=args.accept_licence))
    return 2 if restricted and args.names else status


def _fetch_all(names: Iterable[str], home: Path, fetch_one: Callable[[str, Path], str]) -> int:
    """Fetch files, and print their descriptions or the errors; return 2 if any failed, else 0."""
    failed, requested = [], list(dict.fromkeys(names))
    for name in requested:
        try:
            print(fetch_one(name, home))
        except (BenchmarkError, MissingResource, OSError) as error:
            failed.append(name)
            reason = (f"{name}: {error.filename or home}: {error.strerror or error}" if isinstance(error, OSError)
                      else str(error))
            print(f"harness: {reason}", file=sys.stderr)
    print(f"{len(requested) - len(failed)} fetched into {home}"
          + (f"; {len(failed)} failed: {', '.join(failed)}" if failed else ""))
    return 2 if failed else 0


def _models_of(name: str) -> list[str]:
    """Return the models that the options of a metric or of its inputs name; `name` itself if there are none."""
    if name not in metrics.names():
        return [name]
    inputs = [part.metric for part in pairs.without_composites([metrics.choose(name)])]
    models = (str(options(part)[kind]).partition("+")[0] for part in inputs for kind in part.card.models)
    return list(dict.fromkeys(filter(None, models))) or [name]


def _missing(home: Path, split: Split | None) -> list[str]:
    """List the datasets of a split, or all datasets and small resources, that the home lacks."""
    def is_stored(name: str) -> bool:
        try:
            return store.stored_record(home, name) is not None
        except BadStore:  # damaged, so fetch it again
            return False

    return [*(name for name in datasets.names(split) if not is_stored(name)),
            *(name for name in RESOURCES if not split and name not in LARGE and not path(home, name).is_file())]


def _fetch(name: str, home: Path, accepted: str) -> str:
    if name in catalogue.cards():
        return f"{name:<18} {catalogue.fetch(catalogue.cards()[name], home, accepted)}"
    if "/" in name:
        repo, _, revision = name.partition("@")
        weights = checkpoint.install(hub.fetch(repo, revision), home)
        return f"{name:<18} weights {weights.identity} for {weights.encoder or 'no encoder'}"
    if name in RESOURCES:
        return f"{name:<18} {fetch_resource(name, home).stat().st_size:>6} bytes"
    dataset = fetch(datasets.card(name), home)
    store.save(dataset, home)
    expected = "" if len(dataset.items) == dataset.card.size else f"  (the organisers' file has {dataset.card.size})"
    published = "".join(f"\n  published scores: --metric scores:{name}.{metric}" for metric in dataset.scores)
    return f"{name:<18} {len(dataset.items):>6} items {dataset.rated:>7} ratings{expected}{published}"
