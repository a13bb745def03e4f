"""`harness import PATH`: take the organisers' human_evaluation_data, corpora, or a dataset of your own.

A dataset of your own has a card, `CARD.toml` (docs/data.md), which names its file.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpora import files
from benchmarks.corpora.files import ImportedCorpus
from benchmarks.storage import release, resources, store
from benchmarks.storage.files import write_atomically
from benchmarks.storage.release import Release
from harness import own
from harness.contract.dataset import about


def configure(parser: argparse.ArgumentParser) -> None:
    """A path."""
    parser.add_argument("path", type=Path, help="folder, zip, single *_eval.json or corpus (.jsonl, .jsonl.gz); "
                                                "a wordnet.zip and ConceptNet's assertions are taken as well; "
                                                "or a card (.toml)")


def run(args: argparse.Namespace) -> int:
    """Read everything, then keep everything."""
    path = args.path.expanduser()
    if card := own.card_of(str(path.absolute())):
        dataset, remarks = own.keep(card, args.home)
        print("\n".join(about(dataset, remarks)))
        print(f"kept in {args.home}; `harness run --dataset {dataset.card.name}` evaluates metrics on it")
        return 0
    (corpora, others), edges = files.look(path), resources.edge_files(path)
    read = release.read(path, required=not corpora and not edges)
    _keep_release(read, args.home)
    _keep_corpora(corpora, others, args.home)
    if edges:
        names = ", ".join(file.name for file in edges)
        print(f"{resources.CONCEPTNET:<22} {resources.keep_edges(edges, args.home):>6} edges of {names}")
    what = ("; `harness run --all` evaluates it" if read.datasets else "; `harness run --split more` evaluates it" if
            read.more
            else "; `harness train` takes it" if corpora else "")
    print(f"kept in {args.home}{what}")
    return 0


def _keep_release(read: Release, home: Path) -> None:
    for entry in read.datasets:
        store.save(entry.dataset, home)
        remarks = f"  ({'; '.join(entry.remarks)})" if entry.remarks else ""
        items, ratings = len(entry.dataset.items), entry.dataset.rated
        print(f"{entry.dataset.card.name:<18} {items:>6} items {ratings:>7} rated qualities{remarks}")
    for dataset in read.more:
        store.save_own(dataset, home)
        print(f"{dataset.card.name:<22} {len(dataset.items):>6} items, {dataset.card.title}")
    if read.wordnet:
        target = resources.path(home, "wordnet")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, read.wordnet)
        print(f"wordnet            {len(read.wordnet):>6} bytes")
    for name in read.ignored:
        print(f"not a dataset of the collection: {name}")


def _keep_corpora(corpora: Sequence[ImportedCorpus], ignored: Sequence[str], home: Path) -> None:
    for corpus in corpora:
        files.keep(corpus, home)
        if corpus.name == files.LIST:
            print(f"{corpus.name:<22} {corpus.rows:>6} dialogues that are never trained on")
        else:
            card = files.CARDS.get(corpus.name)
            print(f"{corpus.name:<22} {corpus.rows:>6} dialogues  "
                  f"(licence: {card.licence if card else 'of your own, or not known here'})")
    for reason in ignored:
        print(f"not a corpus: {reason}")
