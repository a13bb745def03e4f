"""`harness export`: a dataset as a folder that the hub and the library datasets read, pushed where its licence lets."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import BadConfig


def configure(parser: argparse.ArgumentParser) -> None:
    """Which dataset, and where to."""
    parser.add_argument("name", metavar="NAME", help="a dataset that was imported or fetched, else the bundled sample")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder (default: ./NAME)")
    parser.add_argument("--push", metavar="ORG/REPO", help="upload it to the hub; refused where the licence forbids it")


def run(args: argparse.Namespace) -> int:
    """Write the folder, and upload it if asked to."""
    from harness.api import hub

    dataset = hub.at_hand(args.name, args.home)
    if args.push and (why := hub.forbidden(dataset)):
        raise BadConfig(why)
    folder = args.out or Path(dataset.card.name)
    if folder.exists() and any(folder.iterdir()) and not (folder / "items.parquet").is_file():
        raise BadConfig(f"{folder}: holds other files; name another folder with --out")
    hub.export(dataset, folder)
    print(f"{folder}: {len(dataset.items)} items and their votes; datasets.load_dataset({str(folder)!r}, 'items')")
    if args.push:
        print(hub.push(folder, args.push))
    return 0
