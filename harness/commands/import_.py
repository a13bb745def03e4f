"""`harness import PATH`: take the organisers' files, and corpora, as they are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.corpora.folder import CorpusFolder
    from benchmarks.storage.release import Release

NAME = "import"
HELP = "take datasets from a folder or zip of the organisers' human_evaluation_data, and corpora from a folder"


def configure(parser: argparse.ArgumentParser) -> None:
    """A path."""
    parser.add_argument("path", type=Path, help="folder, zip, single *_eval.json or corpus (.jsonl, .jsonl.gz); "
                                                "a wordnet.zip and ConceptNet's assertions are taken as well")


def run(args: argparse.Namespace) -> int:
    """Read everything, then keep everything."""
    from benchmarks.corpora import folder
    from benchmarks.storage import assertions, release

    path = args.path.expanduser()
    corpora, edges = folder.look(path), assertions.look(path)
    read = release.read(path, required=not corpora.found and not edges)
    _keep_release(read, args.home)
    _keep_corpora(corpora, args.home)
    if edges:
        names = ", ".join(file.name for file in edges)
        print(f"{assertions.NAME:<22} {assertions.keep(edges, args.home):>6} edges of {names}")
    what = "; `harness run --all` evaluates it" if read.found else "; `harness train` takes it" if corpora.found else ""
    print(f"kept in {args.home}{what}")
    return 0


def _keep_release(read: Release, home: Path) -> None:
    from benchmarks.storage import store
    from benchmarks.storage.files import write_atomically
    from benchmarks.storage.resources import resource_path

    for found in read.found:
        store.save(found.dataset, home)
        remarks = f"  ({'; '.join(found.remarks)})" if found.remarks else ""
        items, ratings = len(found.dataset.items), len(found.dataset.ratings)
        print(f"{found.dataset.card.name:<18} {items:>6} items {ratings:>7} rated qualities{remarks}")
    if read.wordnet:
        target = resource_path(home, "wordnet")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, read.wordnet)
        print(f"wordnet            {len(read.wordnet):>6} bytes")
    for name in read.ignored:
        print(f"not a dataset of the collection: {name}")


def _keep_corpora(corpora: CorpusFolder, home: Path) -> None:
    from benchmarks.corpora import folder
    from benchmarks.corpora.cards import CARDS

    for found in corpora.found:
        folder.keep(found, home)
        if found.name == folder.LIST:
            print(f"{found.name:<22} {found.rows:>6} dialogues that are never trained on")
        else:
            licence = CARDS[found.name].licence if found.name in CARDS else "of your own, or not known here"
            print(f"{found.name:<22} {found.rows:>6} dialogues  (licence: {licence})")
    for reason in corpora.ignored:
        print(f"not a corpus: {reason}")
