"""`harness template`: the empty file of scores, to be filled in."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.errors import BadConfig

NAME = "template"
HELP = "write the empty score file to fill in, for those who cannot share code"


def configure(parser: argparse.ArgumentParser) -> None:
    """For which datasets, in which form, and where to."""
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME",
                        help="may be repeated (default: all that were imported or fetched, else the bundled sample)")
    parser.add_argument("--split", choices=("dev", "test"), help="only the datasets of one split")
    parser.add_argument("--by", choices=("item", "quality"),
                        help="a row for each item, or for each of its qualities (default: as the organisers asked, by "
                             "quality on development sets, by item on test sets)")
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help=".csv, .tsv, .jsonl or .json (default: CSV, printed)")


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what it is for."""
    from benchmarks.formats.scorefile import FORMS, template
    from benchmarks.formats.scorefile.expected import template_keys
    from benchmarks.storage.files import write_atomically
    from harness.commands._score_files import at_hand, listed

    if args.out and args.out.suffix.casefold() not in FORMS:
        raise BadConfig(f"{args.out}: score files end in {', '.join(FORMS)}")
    if args.out and args.out.exists():
        raise BadConfig(f"{args.out}: is there already, and may hold scores; choose another name or remove it")
    real, sample = at_hand(args.home, args.dataset, args.split)
    chosen = [*real, *sample] if args.dataset else real or sample
    if not chosen:
        raise BadConfig(f"no dataset of the split {args.split} among {', '.join(args.dataset)}")
    keys = template_keys(chosen, args.by)
    content = template(keys, args.out.suffix.casefold() if args.out else ".csv")
    if args.out is None:
        sys.stdout.write(content.decode())
    else:
        try:
            write_atomically(args.out, content)
        except OSError as error:
            raise BadConfig(f"{args.out}: cannot be written: {error.strerror}") from error
    print(f"{len(keys):,} scores to fill in, for {listed(chosen)}", file=sys.stderr)
    if made_up := [one for one in chosen if one.origin == "sample"]:
        print(f"of the bundled sample, which is no real data: {listed(made_up)}", file=sys.stderr)
    elif sample:
        print(f"left out, as only the bundled sample is here: {listed(sample)}", file=sys.stderr)
    return 0
