"""`harness export NAME`: Export a dataset for the datasets library, or upload trained weights to the hub.

    harness export fed-turn --out fed-turn
    harness export my-weights --push my-org/my-weights
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.errors import plural
from harness.commands._arguments import add
from harness.errors import BadConfig
from metrics.models import checkpoint


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME",
                        help="dataset (the bundled sample if not imported or fetched) or folder of trained weights")
    add(parser, "out DIR: output folder (default: ./NAME)")
    add(parser, "push ORG/REPO: upload weights to this repository on the hub")


def run(args: argparse.Namespace) -> int:
    from harness.api import hub

    if (Path(args.name) / checkpoint.CARD).is_file():
        return _upload(Path(args.name), args.push)
    dataset = hub.load(args.name, args.home)
    if args.push:
        raise BadConfig(f"{args.name}: --push uploads only weights; upload a dataset with `hf upload` if its licence "
                        "allows that")
    folder = args.out or Path(dataset.card.name)
    if folder.exists() and any(folder.iterdir()) and not (folder / "items.parquet").is_file():
        raise BadConfig(f"{folder}: contains other files; choose another folder with --out")
    hub.export(dataset, folder)
    print(f"{folder}: {plural(len(dataset.items), 'item')} with votes; datasets.load_dataset({str(folder)!r}, 'items')")
    return 0


def _upload(folder: Path, repo: str | None) -> int:
    from harness.api import hub

    weights = checkpoint.read(folder.resolve().parent.name, folder)
    if not repo:
        raise BadConfig(f"{folder}: contains weights in the format of the hub; upload them with --push ORG/REPO")
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        (Path(copy) / "README.md").write_text(hub.weights_readme(weights, repo), encoding="utf-8")
        print(hub.push(Path(copy), repo))
    return 0
