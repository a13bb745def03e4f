"""`harness template`: write the score file to fill in, or the texts to score, for those who cannot share code."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import SPLITS, Dataset
from benchmarks.errors import UnknownDataset
from benchmarks.formats.scorefile import FORMS, template
from benchmarks.formats.scorefile.expected import template_keys, texts
from benchmarks.storage.files import write_atomically
from harness import own
from harness.errors import BadConfig


def configure(parser: argparse.ArgumentParser) -> None:
    """For which datasets, in which form, and where to."""
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME",
                        help="may be repeated (default: all that were imported or fetched, else the bundled sample)")
    parser.add_argument("--split", choices=SPLITS, help="only the datasets of one split")
    parser.add_argument("--by", choices=("item", "quality"),
                        help="a row for each item, or each of its qualities (default: by quality on development sets)")
    parser.add_argument("--texts", action="store_true",
                        help="write ids, contexts, responses, references and facts, for who scores elsewhere")
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help=".csv or .tsv, of texts .jsonl (default: printed)")


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what it is for."""
    forms = (".jsonl",) if args.texts else FORMS
    if args.out and args.out.suffix.casefold() not in forms:
        raise BadConfig(f"{args.out}: {'texts' if args.texts else 'score files'} end in {', '.join(forms)}")
    if args.out and args.out.exists():
        raise BadConfig(f"{args.out}: is there already, and may hold scores; choose another name or remove it")
    real, sample = at_hand(args.home, own.named(args.dataset, args.home), args.split)
    chosen = [*real, *sample] if args.dataset else real or sample
    if not chosen:
        raise BadConfig(f"no dataset of the split {args.split} among {', '.join(args.dataset)}")
    keys = template_keys(chosen, args.by)
    content = texts(chosen) if args.texts else template(keys, args.out.suffix.casefold() if args.out else ".csv")
    if args.out is None:
        sys.stdout.write(content.decode())
    else:
        write_atomically(args.out, content)
    items = sum(len(one.items) for one in chosen)
    print(f"{items:,} items of {listed(chosen)}; `harness template` is the file for their scores" if args.texts else
          f"{len(keys):,} scores to fill in, for {listed(chosen)}", file=sys.stderr)
    if made_up := [one for one in chosen if one.origin == "sample"]:
        print(f"of the bundled sample, which is no real data: {listed(made_up)}", file=sys.stderr)
    elif sample:
        print(f"left out, as only the bundled sample is here: {listed(sample)}", file=sys.stderr)
    return 0


def at_hand(home: Path, names: Sequence[str], split: str | None = None) -> tuple[list[Dataset], list[Dataset]]:
    """The real datasets and those of the bundled sample, of the named ones or of all, of one split or of both."""
    datasets = []
    for name in dict.fromkeys(registry.card(name.casefold()).name for name in names) or registry.names():
        with contextlib.nullcontext() if names else contextlib.suppress(UnknownDataset):  # of the user's own, not here
            datasets += [registry.load(name, home)] if split in (None, registry.card(name).split) else []
    sample = [dataset for dataset in datasets if dataset.origin == "sample"]
    return [dataset for dataset in datasets if dataset.origin != "sample"], sample


def listed(datasets: Sequence[Dataset]) -> str:
    """Their names, for a message."""
    return ", ".join(one.card.name for one in datasets)
