"""`harness import PATH`: Import the organisers' human_evaluation_data, corpora, or a dataset of your own.

    harness import human_evaluation_data.zip
    harness import ./tea-talk
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks import registry, release
from benchmarks.corpora import files
from benchmarks.corpora.files import ImportedCorpus
from benchmarks.errors import BadRecord, BenchmarkError
from benchmarks.release import ImportedDataset, Release
from benchmarks.storage import resources, store
from benchmarks.storage.files import write_atomically
from benchmarks.tables import sheet
from harness import own
from harness.commands._arguments import add
from harness.contract.dataset import describe


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, help="folder, zip, *_eval.json, corpus (.jsonl, .jsonl.gz), wordnet.zip, "
                                                "ConceptNet assertions, table of ratings, or card of a dataset (.toml)")
    add(parser, "columns", "scale", "remove: remove the dataset of this name")


def run(args: argparse.Namespace) -> int:
    """Read everything before storing anything."""
    if args.remove:
        store.remove(args.home, registry.card(str(args.path)).name)
        print(f"removed from {args.home}: {args.path}")
        return 0
    path = args.path.expanduser()
    if card := own.card_of(str(path.absolute())):
        dataset, remarks = own.import_card(card, args.home)
        print("\n".join(describe(dataset, remarks)))
        print(f"stored in {args.home}; next: `harness run --dataset {dataset.card.name}`")
        return 0
    (corpora, not_corpora), edges = _corpora(path), resources.edge_files(path)
    table = None if corpora or edges else own.table_of(str(path))
    content = release.read(path, required=not (corpora or edges or table))
    if table and not (content.datasets or content.translations):
        reading = own.Reading(tuple(args.columns or ()), tuple(args.scale or ()))
        try:
            command = f"run --dataset {own.import_table(sheet.read(table), args.home, reading).card.name}"
        except BadRecord as error:
            why_not = f" ({'; '.join(not_corpora)})" if not_corpora else ""
            raise BenchmarkError(f"{path}: contains neither the organisers' release nor a corpus{why_not}, and is not "
                                 f"a table of ratings: {error}") from error
    else:
        if edges:
            names = ", ".join(file.name for file in edges)
            print(f"{resources.CONCEPTNET:<22} {resources.store_edges(edges, args.home):>6} edges of {names}")
        _keep_release(content, args.home)
        _keep_corpora(corpora, not_corpora, args.home)
        if datasets := [entry.dataset.card.name for entry in content.datasets]:
            command = "run --all" if datasets[3:] else f"run --dataset {','.join(datasets)}"
        else:
            command = "run --split more" if content.translations else "train" if corpora else ""
    print(f"stored in {args.home}{f'; next: `harness {command}`' if command else ''}")
    return 0


def _corpora(path: Path) -> tuple[list[ImportedCorpus], list[str]]:
    """Return the corpora at a path, and why other files are not corpora; such a file may be a table."""
    try:
        return files.find_corpora(path)
    except BenchmarkError as error:
        if own.table_of(str(path)) is None or files.plain_name(path) in (*files.CARDS, files.EVALUATION_IDS):
            raise
        return [], [str(error)]


def _keep_release(content: Release, home: Path) -> None:
    for entry in content.datasets:
        store.save(entry.dataset, home)
        items, ratings = len(entry.dataset.items), entry.dataset.rated
        print(f"{entry.dataset.card.name:<18} {items:>6} items {ratings:>7} rated qualities{_remarks(entry)}")
    for entry in content.translations:
        store.save_user_dataset(entry.dataset, home)
        card, items = entry.dataset.card, len(entry.dataset.items)
        print(f"{card.name:<22} {items:>6} items, {card.title}{_remarks(entry)}")
    if content.wordnet:
        write_atomically(resources.path(home, "wordnet"), content.wordnet)
        print(f"wordnet            {len(content.wordnet):>6} bytes")
    for name in content.ignored:
        print(f"ignored, not a dataset of the collection: {name}")


def _remarks(entry: ImportedDataset) -> str:
    return f"  ({'; '.join(entry.remarks)})" if entry.remarks else ""


def _keep_corpora(corpora: Sequence[ImportedCorpus], ignored: Sequence[str], home: Path) -> None:
    for corpus in corpora:
        files.store_corpus(corpus, home)
        card = files.CARDS.get(corpus.name)
        print(f"{corpus.name:<22} {corpus.rows:>6} dialogues " + (
            "excluded from training" if corpus.name == files.EVALUATION_IDS else
            f" (licence: {card.licence if card else 'unknown'})"))
    for reason in ignored:
        print(f"ignored, not a corpus: {reason}")
