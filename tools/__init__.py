"""Programs for maintainers: benchmarks, simulations, the generated reference and other shipped files."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HARNESS_REAL_DATA") or ROOT.parent / "shared" / "data")


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a Markdown table with a column for each key."""
    headings = list(dict.fromkeys(heading for row in rows for heading in row))
    print("| " + " | ".join(headings) + " |\n|" + " --- |" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(row.get(heading, "")) for heading in headings) + " |")
