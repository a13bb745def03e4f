"""`harness env`: environments of their own for metrics whose requirements clash with ours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from harness.errors import BadConfig

NAME = "env"
HELP = "make, list or remove an environment of its own for a metric with clashing requirements"


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and to which metric."""
    parser.add_argument("action", choices=tuple(ACTIONS), help="what to do")
    parser.add_argument("target", nargs="?", metavar="FOLDER|NAME",
                        help="a metric's folder, or a metric installed from one by `pip install -e`")
    parser.add_argument("--python", default=sys.executable, metavar="PATH",
                        help="the interpreter of the environment, 3.11 or newer (create; default: this one)")


def run(args: argparse.Namespace) -> int:
    """Do it; 0."""
    if args.action != "list" and not args.target:
        raise BadConfig(f"harness env {args.action} needs the folder of a metric, or the name of an installed one")
    ACTIONS[args.action](args)
    return 0


def _create(args: argparse.Namespace) -> None:
    from metrics.external import isolation
    from metrics.external.isolation import env

    folder = env.folder_of(args.target)
    python = env.create(folder, args.python)
    kind = isolation.metric_class(folder)
    adapter = isolation.adapter_of(kind)
    print(f"{kind.card.name} runs under {python}: {len(adapter.description['environment']) - 1} packages")


def _list(_args: argparse.Namespace) -> None:
    from metrics.external import isolation
    from metrics.external.isolation import env

    for name, folder in env.installed().items():
        print(f"{name:<18} {isolation.runner(folder)}  {folder}")


def _remove(args: argparse.Namespace) -> None:
    from metrics.external.isolation import env

    made = env.folder_of(args.target) / ".venv"
    existed = made.exists()
    env.remove(made.parent)
    print(f"{made} removed" if existed else f"there is no {made}")


ACTIONS: dict[str, Callable[[argparse.Namespace], None]] = {"create": _create, "list": _list, "remove": _remove}
