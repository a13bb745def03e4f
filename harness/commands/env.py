"""`harness env`: make or remove an environment of its own for a metric with clashing requirements."""

from __future__ import annotations

import argparse
import sys

from metrics.external import isolation
from metrics.external.isolation import env


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and to which metric."""
    parser.add_argument("action", choices=("create", "remove"), help="what to do")
    parser.add_argument("target", metavar="FOLDER|NAME",
                        help="a metric's folder, or a metric installed from one by `pip install -e`")
    parser.add_argument("--python", default=sys.executable, metavar="PATH",
                        help="the interpreter of the environment, 3.11 or newer (create; default: this one)")


def run(args: argparse.Namespace) -> int:
    """Do it; 0."""
    folder = env.folder_of(args.target)
    if args.action == "create":
        python = env.create(folder, args.python)
        kind = isolation.metric_class(folder)
        adapter = isolation.adapter_of(kind)
        print(f"{kind.card.name} runs under {python}: {len(adapter.description['environment']) - 1} packages")
    else:
        existed = (folder / ".venv").exists()
        made = env.remove(folder)
        print(f"{made} removed" if existed else f"there is no {made}")
    return 0
