"""The script that a metric's own Python runs: it loads metrics/external/isolation/serving.py.

    PYTHON -P worker.py FOLDER NAME MODULE:CLASS

Of this project the interpreter sees three packages, benchmarks, metrics and harness, and of the packages installed
beside it none: whatever else the metric imports is of its own environment, in its own version.

The pipes are taken away from the standard streams first. Whatever prints, in C too, prints to the standard error.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from importlib.machinery import ModuleSpec, PathFinder
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

OURS = ("benchmarks", "metrics", "harness")
ROOT = str(Path(__file__).absolute().parent.parent.parent.parent)


class Ours:
    """Finds the packages of this project, and nothing that lies beside them."""

    @staticmethod
    def find_spec(name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """The package of that name, if it is one of ours."""
        return PathFinder.find_spec(name, [ROOT]) if name in OURS else None


def main() -> None:
    """Answer until the input is closed."""
    folder, name, place = sys.argv[1:]
    source, sink = pipes()
    faulthandler.enable()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    sys.meta_path.insert(0, Ours)
    sys.path[:0] = [path for path in (str(Path(folder, "src")), folder) if Path(path).is_dir()]
    from metrics.external.isolation.serving import serve_metric

    serve_metric(name, place, source, sink)


def pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the input and output; whatever prints from now on prints to the standard error."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return source, sink


def _end_with(parent: int) -> None:
    """Leave nothing behind where the harness was killed in the middle of a question."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
