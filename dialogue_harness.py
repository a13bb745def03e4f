"""The console command, and the safe form of `python -m harness`: `python -m dialogue_harness`.

The four packages have everyday names: a folder called `metrics` in the working directory, with an empty entry on
PYTHONPATH, would be imported in their place. So they are imported first from the folder of this file.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

PACKAGES = ("benchmarks", "metrics", "harness", "leaderboard")


def main() -> int:
    """Import the four packages from this installation, then run the command line."""
    if sys.version_info < (3, 11) or sys.maxsize < 1 << 32:  # in a checkout; pip would have refused
        bits = 64 if sys.maxsize > 1 << 32 else 32
        sys.exit(f"harness: a 64-bit Python 3.11 or newer is needed; this is {sys.version.split()[0]} of {bits} bits")
    here = str(Path(__file__).resolve().parent)
    sys.path.insert(0, here)
    try:
        for package in PACKAGES:
            importlib.import_module(package)
    finally:
        sys.path.remove(here)
    return int(importlib.import_module("harness.cli").main())


if __name__ == "__main__":
    sys.exit(main())
