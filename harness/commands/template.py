"""`harness template`: Write an empty score file, or the texts to score, for scoring outside the harness.

    harness template --dataset fed-turn --out scores.csv
    harness template --dataset fed-turn --texts --out texts.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.errors import UnknownDataset
from benchmarks.formats.scorefile.expected import template, template_keys, texts
from benchmarks.formats.scorefile.rows import SUFFIXES
from benchmarks.storage.files import write_atomically
from harness import own
from harness.commands._arguments import add
from harness.errors import BadConfig


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, "dataset: dataset, repeatable (default: all imported or fetched, else the bundled sample)", "split")
    add(parser, "by: a row per item or per quality of each item (default: quality on development datasets)",
        choices=("item", "quality"))
    add(parser, "texts: write ids, contexts, responses, references and facts")
    add(parser, "out FILE: .csv or .tsv, for texts .jsonl (default: standard output)")


def run(args: argparse.Namespace) -> int:
    endings = (".jsonl",) if args.texts else SUFFIXES
    if args.out and args.out.suffix.casefold() not in endings:
        raise BadConfig(f"{args.out}: expected a file name ending in {', '.join(endings)}")
    if args.out and args.out.exists():
        raise BadConfig(f"{args.out}: already exists and may contain scores; choose another name or delete it")
    real, sample = available(args.home, own.import_paths(args.dataset, args.home), args.split)
    chosen = [*real, *sample] if args.dataset else real or sample
    if not chosen:
        raise BadConfig(f"no dataset of the split {args.split} among {', '.join(args.dataset)}" if args.dataset else
                        f"no dataset of the split {args.split} is imported or fetched; run `harness import` or "
                        "`harness fetch`")
    keys = template_keys(chosen, args.by)
    content = texts(chosen) if args.texts else template(keys, args.out.suffix.casefold() if args.out else ".csv")
    if args.out is None:
        sys.stdout.write(content.decode())
    else:
        write_atomically(args.out, content)
    print(f"{sum(len(dataset.items) for dataset in chosen):,} items of {_names(chosen)}; create the score file with "
          "`harness template`" if args.texts else f"{len(keys):,} scores to fill in, for {_names(chosen)}",
          file=sys.stderr)
    if sample:
        is_used = args.dataset or not real
        print("from the bundled sample, not real data:" if is_used else "left out, only available as bundled sample:",
              _names(sample), file=sys.stderr)
    return 0


def available(home: Path, names: Sequence[str], split: str | None = None) -> tuple[list[Dataset], list[Dataset]]:
    """Load the named datasets (default: all) of a split; return the real ones and those of the bundled sample."""
    datasets = []
    for name in dict.fromkeys(registry.card(name.casefold()).name for name in names) or registry.names():
        with contextlib.nullcontext() if names else contextlib.suppress(UnknownDataset):
            datasets += [registry.load(name, home)] if split in (None, registry.card(name).split) else []
    sample = [dataset for dataset in datasets if dataset.origin == "sample"]
    return [dataset for dataset in datasets if dataset.origin != "sample"], sample


def _names(datasets: Sequence[Dataset]) -> str:
    return ", ".join(dataset.card.name for dataset in datasets)
