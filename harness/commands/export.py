"""`harness export`: a dataset as a folder that the hub and the library datasets read; trained weights to the hub."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from harness.errors import BadConfig
from metrics.training import checkpoint
from metrics.training.checkpoint import CARD


def configure(parser: argparse.ArgumentParser) -> None:
    """What, and where to."""
    parser.add_argument("name", metavar="NAME",
                        help="a dataset that was imported or fetched, else the bundled sample; or a folder of weights, "
                             "as `harness train` prints it")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder (default: ./NAME)")
    parser.add_argument("--push", metavar="ORG/REPO",
                        help="of weights: upload them to the hub")


def run(args: argparse.Namespace) -> int:
    """Write the folder, and upload it if asked to."""
    from harness.api import hub

    if (Path(args.name) / CARD).is_file():
        return _weights(Path(args.name), args.push)
    dataset = hub.at_hand(args.name, args.home)
    if args.push:
        raise BadConfig(f"{args.name}: weights alone are uploaded; of a dataset, `hf upload` takes the folder, where "
                        "its licence allows that")
    folder = args.out or Path(dataset.card.name)
    if folder.exists() and any(folder.iterdir()) and not (folder / "items.parquet").is_file():
        raise BadConfig(f"{folder}: holds other files; name another folder with --out")
    hub.export(dataset, folder)
    print(f"{folder}: {len(dataset.items)} items and their votes; datasets.load_dataset({str(folder)!r}, 'items')")
    return 0


def _weights(folder: Path, repo: str | None) -> int:
    """Upload weights as a model, with a README made of their card."""
    from harness.api import hub

    weights = checkpoint.read(folder.resolve().parent.name, folder)
    if repo is None:
        raise BadConfig(f"{folder}: holds weights {weights.name}, a folder as the hub takes it; add --push ORG/REPO")
    with tempfile.TemporaryDirectory() as made:
        shutil.copytree(folder, made, dirs_exist_ok=True)
        (Path(made) / "README.md").write_text(hub.weights_readme(weights, repo), encoding="utf-8")
        print(hub.push(Path(made), repo))
    return 0
