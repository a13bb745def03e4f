"""The script that a metric's own interpreter runs: PYTHON -P worker.py FOLDER MODULE:CLASS

The interpreter sees this project's packages; everything else, including numpy, comes from its own environment.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).absolute().parents[3])


class ProjectFinder:
    """Finds this project's packages."""

    @staticmethod
    def find_spec(name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [ROOT]) if name in ("benchmarks", "metrics", "harness") else None


def kill_when_orphaned(parent: int) -> None:
    """Kill this process group once the harness has exited, even while a request is being served."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    folder, target = sys.argv[1:]
    faulthandler.enable()
    threading.Thread(target=kill_when_orphaned, args=(os.getppid(),), daemon=True).start()
    sys.meta_path.insert(0, ProjectFinder)
    sys.path[:0] = [path for path in (str(Path(folder, "src")), folder) if Path(path).is_dir()]
    from metrics.external.isolation.serving import serve_metric

    serve_metric(target)
